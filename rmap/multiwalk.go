package rmap

import (
	"context"
	"iter"
	"slices"
)

// page is some keys of a walk.
type page struct {
	fields []string
	counts []int64
}

// pages yields the keys, some at a time, with how many values each has. What has
// none, though it is there, is dropped.
func (g *multi[K, V]) pages(ctx context.Context, opts []ScanOption) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		for fields, err := range g.fields(ctx, opts) {
			p := page{fields: fields}
			if err == nil {
				p.counts, err = g.counts(ctx, fields)
			}
			if err == nil {
				g.clean(ctx, p)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// clean drops keys that were left without values. If it is not done it is done by
// the next walk, or by nobody where the user may only read.
func (g *multi[K, V]) clean(ctx context.Context, p page) {
	var empty []string
	for i, n := range p.counts {
		if n < 0 {
			empty = append(empty, p.fields[i])
		}
	}
	if len(empty) > 0 {
		_, _ = writing(ctx, g.m.h, func() (int64, error) { return g.drop(ctx, empty, "empty") })
	}
}

// fields yields the keys as they are in the hash, as they are there.
func (g *multi[K, V]) fields(ctx context.Context, opts []ScanOption) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		c, err := g.m.scanning(ctx, opts)
		for w := (walk{cursor: "0"}); err == nil; {
			var pairs []pair
			if w, pairs, err = g.m.step(ctx, g.m.store, w, c); err != nil {
				break
			}
			for some := range slices.Chunk(pairs, min(c.page, mostKeys)) {
				fields := make([]string, len(some))
				for i, p := range some {
					fields[i] = p.key
				}
				if !yield(fields, nil) {
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
		for fields, err := range g.fields(ctx, opts) {
			var values [][]string
			if err == nil {
				values, err = g.values(ctx, fields)
			}
			if err != nil {
				yield(Entry[K, V]{}, g.m.failed("walk", err))
				return
			}
			for i, texts := range values {
				if !g.yieldAll(fields[i], texts, yield) {
					return
				}
			}
		}
	}
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
