package rmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
)

// page is some keys of a walk.
type page struct {
	fields []string
	counts []int64
}

// pages yields the keys, some at a time, with how many values each has.
func (g *multi[K, V]) pages(ctx context.Context, opts []ScanOption) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		for fields, err := range g.fields(ctx, opts) {
			p := page{fields: fields}
			if err == nil {
				p.counts, err = g.counts(ctx, fields)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// fields yields the keys as they are in the hash, as they are there.
func (g *multi[K, V]) fields(ctx context.Context, opts []ScanOption) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		c, err := g.m.scanning(ctx, opts)
		for w := begin(); err == nil; {
			var pairs []pair
			if w, pairs, err = g.m.step(ctx, g.m.store, w, c); err != nil {
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

// check refuses a hash that is no multimap, by its first fields.
func (g *multi[K, V]) check(ctx context.Context) error {
	p, err := g.m.page(ctx, g.m.store, asked{scanConfig{page: 10, what: scannedEntries}, "0", 10, 0})
	if err == nil {
		_, err = ownFields(p.pairs)
	}
	return err
}

func (g *multi[K, V]) length(ctx context.Context) (n int64, err error) {
	for p, err := range g.pages(ctx, nil) {
		if err != nil {
			return 0, g.m.failed("count", err)
		}
		for _, values := range p.counts {
			n += max(values, 0)
		}
	}
	return n, nil
}

func (g *multi[K, V]) keys(ctx context.Context, opts []ScanOption) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		for p, err := range g.pages(ctx, opts) {
			if err != nil {
				var none K
				yield(none, g.m.failed("walk", err))
				return
			}
			for i, field := range p.fields {
				if p.counts[i] <= 0 {
					continue
				}
				k, err := g.m.decodeKey(field)
				if !yield(k, g.m.failed("walk", err)) {
					return
				}
			}
		}
	}
}

func (g *multi[K, V]) all(ctx context.Context, opts []ScanOption) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		at := reached{next: "0", keys: 1, page: scanPage{passed: 1}}
		c, _ := g.m.scanning(ctx, opts) // fields returns the error
		for fields, err := range g.fields(ctx, opts) {
			for err == nil && len(fields) > 0 {
				var values [][]string
				if at, values, err = g.valuesFrom(ctx, at, fields, c); err != nil {
					break
				}
				for i, texts := range values {
					if !g.yieldAll(fields[i], texts, yield) {
						return
					}
				}
				fields = fields[at.done:]
			}
			if err != nil {
				yield(Entry[K, V]{}, g.m.failed("walk", err))
				return
			}
		}
	}
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

// count returns how many values are asked for first: one, where nothing is known of them.
func (at reached) count(c scanConfig) int {
	if at.page.passed == 0 {
		return 1
	}
	return at.page.count(c)
}

// valuesFrom returns the next values of keys, about as many as an answer takes. A key whose
// values fit in one is read at one moment.
func (g *multi[K, V]) valuesFrom(ctx context.Context, at reached, fields []string, c scanConfig) (reached, [][]string, error) {
	some := fields[:min(len(fields), at.keys)]
	args := []string{g.now(), g.names.kind, at.next, at.last, decimal(int64(at.count(c))), decimal(int64(c.page)), decimal(mostPageBytes), at.server}
	parts, err := reading(ctx, g.m.h, func() ([]rueidis.RedisMessage, error) {
		got, err := g.m.h.e.Run(ctx, at.page.expecting(pageValues), g.names.of(some...), append(args, some...))
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
func (g *multi[K, V]) yieldAll(field string, texts []string, yield func(Entry[K, V], error) bool) bool {
	for _, text := range texts {
		e, err := g.m.decodeEntry(pair{key: field, value: value{text: text, there: true}})
		if !yield(e, g.m.failed("walk", err)) {
			return false
		}
	}
	return true
}
