package rmap

import (
	"context"
	"iter"
	"time"

	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/multimap"
)

func (g *multi[K, V]) ttl(ctx context.Context, k K) (left time.Duration, err error) {
	key, err := g.m.encodeKey(ctx, k)
	if err == nil && g.m.cfg.native {
		err = g.m.h.fieldsExpire(ctx, g.m.key)
	}
	if err == nil {
		left, err = reading(ctx, g.m.h, func() (time.Duration, error) {
			return send.Remainder(send.Number(g.look(ctx, multimap.TTL, []string{key}, flag(g.m.cfg.native))))
		})
	}
	return left, g.m.failedAt("look at", key, err)
}

// some is values of a list.
func (g *multi[K, V]) some(ctx context.Context, k K, first, last int64) (vs []V, err error) {
	key, err := g.m.encodeKey(ctx, k)
	var texts []string
	if err == nil {
		texts, err = reading(ctx, g.m.h, func() ([]string, error) {
			return send.Texts(g.look(ctx, readRange, []string{key}, decimal(first), decimal(last)))
		})
	}
	if err == nil {
		vs, err = g.decode(key, texts)
	}
	return vs, g.m.failedAt("get", key, err)
}

func (g *multi[K, V]) walkValues(ctx context.Context, opts []ScanOption) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for e, err := range g.all(ctx, opts) {
			if !yield(e.Value, err) {
				return
			}
		}
	}
}

// hasValue walks the keys until one has the value.
func (g *multi[K, V]) hasValue(ctx context.Context, v V) (has bool, err error) {
	if err = g.m.usable(ctx); err != nil {
		return false, g.m.failed("look for a value in", err)
	}
	text, err := g.m.encodeValue(v)
	if err != nil {
		return false, g.m.failed("look for a value in", err)
	}
	for fields, err := range g.fields(ctx, nil) {
		if err == nil {
			has, err = g.anyHas(ctx, fields, text)
		}
		if err != nil || has {
			return has, g.m.failed("look for a value in", err)
		}
	}
	return false, nil
}

// mostLooked is how many values of lists the server goes through in one script.
const mostLooked = 10_000

// anyHas reports whether one of these keys has a value. A list is gone through for that, so
// the server is asked about as few keys at a time as have mostLooked values, or about one.
func (g *multi[K, V]) anyHas(ctx context.Context, fields []string, text string) (has bool, err error) {
	counts := make([]int64, len(fields)) // a set finds its values by their hashes
	if g.names.kind == "list" && len(fields) > 0 {
		counts, err = g.counts(ctx, fields)
	}
	for err == nil && !has && len(fields) > 0 {
		n, values := 1, counts[0]
		for n < len(fields) && values+counts[n] <= mostLooked {
			values += counts[n]
			n++
		}
		has, err = reading(ctx, g.m.h, func() (bool, error) {
			return send.Yes(g.look(ctx, multimap.HasAny, fields[:n], text))
		})
		fields, counts = fields[n:], counts[n:]
	}
	return has, err
}
