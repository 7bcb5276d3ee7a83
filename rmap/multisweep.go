package rmap

import (
	"context"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/multimap"
)

// mostSwept is how many keys of a multimap go at once.
const mostSwept = 200

// sweepAt has the client's sweeper come by. There is no latch, as Redisson has none
// here: who finds nothing to do has looked at one sorted set.
func (g *multi[K, V]) sweepAt(at int64) {
	h, names := g.m.h, g.names
	h.sweeper.ExpectOf(core.Key{Kind: names.kind + " multimap", Name: names.index}, at, func() mapcache.Visit {
		return names.sweep(h.e)
	})
}

func (n multiNames) sweep(e *locking.Engine) (v mapcache.Visit) {
	ctx, now := context.Background(), decimal(e.Wall())
	texts, err := send.Texts(e.Run(ctx, multimap.Ended, []string{n.ends}, []string{now, strconv.Itoa(mostSwept)}))
	if err != nil {
		return mapcache.Visit{Err: err}
	}
	if v.Next, v.Err = mapcache.Due(texts[0]); v.Err != nil {
		return v
	}
	if fields := texts[1:]; len(fields) > 0 {
		v.More = len(fields) == mostSwept
		v.Gone, v.Err = send.Number(e.Run(ctx, multimap.Drop, n.of(fields...), append([]string{"0", now, n.kind, "ended"}, fields...)))
	}
	return v
}
