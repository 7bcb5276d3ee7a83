package rmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/multimap"
)

// Len returns how many values all keys have together. It walks the keys: one that is added
// or removed meanwhile may count or not, and while many are some may count twice. Cost:
// HSCAN and a script call for each 500 keys. Errors: as Count.
// Source: RMultimap.size.
func (m *multi[K, V]) Len(ctx context.Context) (n int64, err error) {
	for p, err := range m.pages(ctx, nil) {
		if err != nil {
			return 0, m.m.failed("count", err)
		}
		for _, values := range p.counts {
			n += max(values, 0)
		}
	}
	return n, nil
}

// Keys walks the keys, in no order, as [Map.All] walks entries: what is there
// throughout comes at least once. Cost: HSCAN and a script call for each 500 keys.
// Errors: as Get. Source: RMultimap.keySet.
func (m *multi[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		for p, err := range m.pages(ctx, opts) {
			if err != nil {
				var none K
				yield(none, m.m.failed("walk", err))
				return
			}
			for i, field := range p.fields {
				if p.counts[i] <= 0 {
					continue
				}
				k, err := m.m.decodeKey(field)
				if !yield(k, m.m.failed("walk", err)) {
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
		at := reached{next: "0", keys: 1, page: scanPage{passed: 1}}
		c, _ := m.m.scanning(ctx, opts) // fields returns the error
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
				yield(Entry[K, V]{}, m.m.failed("walk", err))
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

// fields yields the keys as they are in the hash, as they are there.
func (m *multi[K, V]) fields(ctx context.Context, opts []ScanOption) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		c, err := m.m.scanning(ctx, opts)
		for w := begin(); err == nil; {
			var pairs []pair
			if w, pairs, err = m.m.step(ctx, m.m.store, w, c); err != nil {
				break
			}
			for some := range slices.Chunk(pairs, min(c.page, mostKeys)) {
				fields, err := ownFields(some)
				if !yield(fields, err) || err != nil {
					return
				}
			}
			if w.cursor == "0" {
				return
			}
		}
		yield(nil, err)
	}
}

// ownFields returns the keys of fields. One whose value is not the id of its key is
// not a multimap's.
func ownFields(pairs []pair) ([]string, error) {
	fields := make([]string, len(pairs))
	for i, p := range pairs {
		if p.value.text != keys.GroupField(p.key) {
			return nil, fmt.Errorf("%w: a hash that is no multimap, since the field %s has no id", ErrWrongKind, quoted(p.key))
		}
		fields[i] = p.key
	}
	return fields, nil
}

// reached is how far a walk has come in the values of some keys.
type reached struct {
	done   int      // keys that are through
	keys   int      // that the next page is about, at most
	next   string   // where to go on in the next key; "0": from the start
	last   string   // what is known of the value before that place
	server string   // that gave it, of a set
	page   scanPage // what was read, for the size of the next
}

// valuesFrom returns the next values of keys, about as many as an answer takes. A key whose
// values fit in one is read at one moment.
func (m *multi[K, V]) valuesFrom(ctx context.Context, at reached, fields []string, c scanConfig) (reached, [][]string, error) {
	some, count := fields[:min(len(fields), at.keys)], 1 // where nothing is known of the values
	if at.page.passed > 0 {
		count = at.page.count(c)
	}
	args := []string{m.now(), m.names.kind, at.next, at.last, decimal(int64(count)), decimal(int64(c.page)), decimal(mostPageBytes), at.server}
	parts, err := reading(ctx, m.m.h, func() ([]rueidis.RedisMessage, error) {
		got, err := m.m.h.e.Run(ctx, at.page.expecting(pageValues), m.names.of(some...), append(args, some...))
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
	next.page.passed, failed[2] = parts[2].AsInt64()
	next.page.bytes, failed[3] = parts[3].AsInt64()
	next.server, failed[4] = parts[4].ToString()
	if err := errors.Join(failed[:]...); err != nil {
		return at, nil, err
	}
	next.done, next.keys = int(done), mostGrowth*max(int(done), 1)
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
		e, err := m.m.decodeEntry(pair{key: field, value: value{text: text, there: true}})
		if !yield(e, m.m.failed("walk", err)) {
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
	if err = m.m.usable(ctx); err != nil {
		return false, m.m.failed("look for a value in", err)
	}
	text, err := m.m.encodeValue(v)
	if err != nil {
		return false, m.m.failed("look for a value in", err)
	}
	for fields, err := range m.fields(ctx, nil) {
		if err == nil {
			has, err = m.anyHas(ctx, fields, text)
		}
		if err != nil || has {
			return has, m.m.failed("look for a value in", err)
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
		has, err = reading(ctx, m.m.h, func() (bool, error) {
			return send.Yes(m.look(ctx, multimap.HasAny, fields[:n], text))
		})
		fields, counts = fields[n:], counts[n:]
	}
	return has, err
}
