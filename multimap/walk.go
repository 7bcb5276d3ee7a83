package multimap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Len returns how many values all keys have together. It walks the keys: one that is added
// or removed meanwhile may count or not, and while many are some may count twice. Cost:
// HSCAN and a script call for each 500 keys. Errors: as Count.
// Source: RMultimap.size.
func (m *multi[K, V]) Len(ctx context.Context) (n int64, err error) {
	for p, err := range m.pages(ctx, nil) {
		if err != nil {
			return 0, m.failed("count", err)
		}
		for _, values := range p.counts {
			n += max(values, 0)
		}
	}
	return n, nil
}

// Keys walks the keys, in no order. A key that is there throughout comes at least once, perhaps twice. If the multimap moves
// to another server meanwhile, the walk begins anew there. Cost: HSCAN and a script call for each 500 keys.
// Errors: as Get. Source: RMultimap.keySet.
func (m *multi[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		for p, err := range m.pages(ctx, opts) {
			if err != nil {
				var none K
				yield(none, m.failed("walk", err))
				return
			}
			for i, field := range p.fields {
				if p.counts[i] <= 0 {
					continue
				}
				k, err := m.codecs.DecodeKey(field)
				if !yield(k, core.Notice(m.failed("walk", err))) {
					return
				}
			}
		}
	}
}

// All walks the entries: each value with its key, one key after the other, the values of a list in
// their order. They are of one moment if they fit in an answer, of about 1 MB and 1,000
// values, see [WithPage]. Of a key with more, values may come twice if some are taken out
// meanwhile. Otherwise it is as Keys. Cost: HSCAN for each 500 keys, and
// a script call for each answer. Source: RMultimap.entries.
func (m *multi[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		at := reached{next: "0", keys: 1, page: hashscan.Page{Passed: 1}}
		c, _ := m.scanning(ctx, opts) // fields returns the error
		for fields, err := range m.fields(ctx, opts) {
			for err == nil && len(fields) > 0 {
				var values [][]string
				if at, values, err = m.valuesFrom(ctx, at, fields, c); err != nil {
					break
				}
				for i, texts := range values {
					if !m.yieldAll(fields[i], texts, yield) {
						return
					}
				}
				fields = fields[at.done:]
			}
			if err != nil {
				yield(Entry[K, V]{}, m.failed("walk", err))
				return
			}
		}
	}
}

// page is some keys of a walk.
type page struct {
	fields []string
	counts []int64
}

// pages yields the keys, some at a time, with how many values each has.
func (m *multi[K, V]) pages(ctx context.Context, opts []ScanOption) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		for fields, err := range m.fields(ctx, opts) {
			p := page{fields: fields}
			if err == nil {
				p.counts, err = m.counts(ctx, fields)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// scanning returns what options say of a walk, if the handle can be used.
func (m *multi[K, V]) scanning(ctx context.Context, opts []ScanOption) (hashscan.Config, error) {
	c := hashscan.Config{Page: hashscan.DefaultPage}
	if err := m.usable(ctx); err != nil {
		return c, err
	}
	if err := object.Apply(&c, opts, ScanOption.applyScan); err != nil {
		return c, err
	}
	return c, c.Check(codec.IsText(m.codecs.Keys))
}

// page reads a page of the index: fields, each with its value after it.
func (m *multi[K, V]) page(ctx context.Context, a hashscan.Ask) (hashscan.Page, error) {
	if err := m.usable(ctx); err != nil {
		return hashscan.Page{}, err
	}
	return send.Reading(m.e.Sender, ctx, func() (hashscan.Page, error) {
		p, err := hashscan.Read(ctx, m.e, m.names.index, a, true)
		if err == nil && len(p.Left) > 0 { // its value is too long for an id
			err = noMultimap(p.Left[0])
		}
		return p, err
	})
}

// fields yields the keys as they are in the hash, some at a time.
func (m *multi[K, V]) fields(ctx context.Context, opts []ScanOption) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		c, err := m.scanning(ctx, opts)
		for w := hashscan.Begin(); err == nil; {
			var texts []string
			w, err = w.Step(c, func(a hashscan.Ask) (hashscan.Page, error) {
				p, err := m.page(ctx, a)
				texts = p.Texts
				return p, err
			}, func() (string, error) {
				return send.Reading(m.e.Sender, ctx, func() (string, error) { return hashscan.Server(ctx, m.e, m.names.index) })
			})
			if err != nil {
				break
			}
			for some := range slices.Chunk(texts, 2*min(c.Page, mostKeys)) {
				fields, err := ownFields(some)
				if !yield(fields, err) || err != nil {
					return
				}
			}
			if w.Over() {
				return
			}
		}
		yield(nil, err)
	}
}

// ownFields returns the keys of pairs of a field and its value. A field whose value is not the id of its key is
// no key of a multimap.
func ownFields(pairs []string) ([]string, error) {
	fields := make([]string, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != keys.GroupField(pairs[i]) {
			return nil, noMultimap(pairs[i])
		}
		fields = append(fields, pairs[i])
	}
	return fields, nil
}

// noMultimap returns the error of a hash with a field that has no id.
func noMultimap(field string) error {
	return fmt.Errorf("%w: a hash that is no multimap, since the field %s has no id", ErrWrongKind, object.Quoted(field))
}

// reached is how far a walk has come in the values of some keys.
type reached struct {
	done   int           // keys that are through
	keys   int           // that the next page is about, at most
	next   string        // where to go on in the next key; "0": from the start
	last   string        // what is known of the value before that place
	server string        // that gave it, of a set
	page   hashscan.Page // what was read, for the size of the next
}

// valuesFrom returns the next values of keys, about as many as an answer takes. A key whose
// values fit in one is read at one moment.
func (m *multi[K, V]) valuesFrom(ctx context.Context, at reached, fields []string, c hashscan.Config) (reached, [][]string, error) {
	some, count := fields[:min(len(fields), at.keys)], 1 // where nothing is known of the values
	if at.page.Passed > 0 {
		count = at.page.Count(c)
	}
	args := []string{m.now(), m.names.kind, at.next, at.last, decimal(int64(count)), decimal(int64(c.Page)), decimal(hashscan.MostBytes), at.server}
	parts, err := send.Reading(m.e.Sender, ctx, func() ([]rueidis.RedisMessage, error) {
		got, err := m.e.Run(ctx, at.page.Expecting(readPage), m.names.of(some...), append(args, some...))
		if err != nil {
			return nil, err
		}
		return got.ToArray()
	})
	if err != nil {
		return at, nil, err
	}
	if len(parts) < 5 {
		return at, nil, fmt.Errorf("a page of %d parts", len(parts))
	}
	var failed [5]error
	var done int64
	done, failed[0] = parts[0].AsInt64()
	next := reached{}
	next.next, failed[1] = parts[1].ToString()
	next.page.Passed, failed[2] = parts[2].AsInt64()
	next.page.Bytes, failed[3] = parts[3].AsInt64()
	next.server, failed[4] = parts[4].ToString()
	if err := errors.Join(failed[:]...); err != nil {
		return at, nil, err
	}
	next.done, next.keys = int(done), hashscan.MostGrowth*max(int(done), 1)
	values := make([][]string, len(parts)-5)
	for i := range values {
		if values[i], err = parts[5+i].AsStrSlice(); err != nil {
			return at, nil, err
		}
	}
	if n := len(values); next.next != "0" && n > 0 && len(values[n-1]) > 0 {
		last := values[n-1][len(values[n-1])-1]
		next.last = fmt.Sprintf("%d:%s", len(last), last[:min(len(last), 64)])
	}
	return next, values, nil
}

// yieldAll yields the values of one key.
func (m *multi[K, V]) yieldAll(field string, texts []string, yield func(Entry[K, V], error) bool) bool {
	for _, text := range texts {
		k, err := m.codecs.DecodeKey(field)
		e := Entry[K, V]{Key: k}
		if err == nil {
			e.Value, err = m.codecs.DecodeValue(field, text)
		}
		if !yield(e, core.Notice(m.failed("walk", err))) {
			return false
		}
	}
	return true
}

// Values walks the values of all keys, as All walks the entries. Source:
// RMultimap.values.
func (m *multi[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for e, err := range m.All(ctx, opts...) {
			if !yield(e.Value, err) {
				return
			}
		}
	}
}

// HasValue reports whether a key has that value, by its bytes. It walks the keys until one
// has it, and is not of one moment.
//
// Cost: HSCAN and a script call for each 500 keys, and one more for each 500 keys or 10,000 values. The server goes
// through a whole list at a time. Errors: as Count. Source: RMultimap.containsValue.
func (m *multi[K, V]) HasValue(ctx context.Context, v V) (has bool, err error) {
	if err = m.usable(ctx); err != nil {
		return false, m.failed("look for a value in", err)
	}
	text, err := m.codecs.Value(v)
	if err != nil {
		return false, m.failed("look for a value in", err)
	}
	for fields, err := range m.fields(ctx, nil) {
		if err == nil {
			has, err = m.anyHas(ctx, fields, text)
		}
		if err != nil || has {
			return has, m.failed("look for a value in", err)
		}
	}
	return false, nil
}

// mostLooked is how many values of lists the server goes through in one script.
const mostLooked = 10_000

// anyHas reports whether one of these keys has a value. A list is gone through for that, so
// the server is asked about as few keys at a time as have mostLooked values, or about one.
func (m *multi[K, V]) anyHas(ctx context.Context, fields []string, text string) (has bool, err error) {
	counts := make([]int64, len(fields)) // a set finds its values by their hashes
	if m.names.kind == "list" && len(fields) > 0 {
		counts, err = m.counts(ctx, fields)
	}
	for err == nil && !has && len(fields) > 0 {
		n, values := 1, counts[0]
		for n < len(fields) && values+counts[n] <= mostLooked {
			values += counts[n]
			n++
		}
		has, err = send.Reading(m.e.Sender, ctx, func() (bool, error) {
			return send.Yes(m.look(ctx, hasAnyScript, fields[:n], text))
		})
		fields, counts = fields[n:], counts[n:]
	}
	return has, err
}
