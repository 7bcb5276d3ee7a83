package rmap

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

func (c *cached) scan(ctx context.Context, a asked) (scanPage, error) {
	now := c.h.e.Wall()
	args := slices.Concat([]string{a.cursor, decimal(now), decimal(int64(a.what))}, a.bounds(), a.words())
	p, texts, err := scannedBy(c.h.e.Run(ctx, a.expecting(pageCached), []string{c.n.Hash, c.n.Times, c.n.Rests}, args))
	if err != nil {
		return p, err
	}
	switch a.what {
	case scannedKeys:
		p.pairs = pairsOfKeys(texts)
	case scannedEntries:
		p.pairs = pairsOf(texts)
	case scannedTimes:
		p.pairs = make([]pair, len(texts)/4)
		for i := range p.pairs {
			key, packed, ends, rests := texts[4*i], texts[4*i+1], texts[4*i+2], texts[4*i+3]
			p.pairs[i] = pair{key, value{text: packed, there: true}, until(ends, now), until(rests, now)}
		}
	}
	for i := range p.pairs {
		p.pairs[i].value = opened(p.pairs[i].value)
	}
	return p, p.fetch(func(key string) (pair, error) {
		all, err := c.peek(ctx, []string{key}, true)
		if err != nil {
			return pair{}, err
		}
		return pair{key, all[0].value, all[0].ttl, all[0].idle}, nil
	})
}

// until returns how long it is from now to a score, ms, that stands in a sorted set; -1
// if there is none.
func until(score string, now int64) time.Duration {
	at, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return -1
	}
	return time.Duration(min(at-float64(now), core.LongestLease.Seconds()*1e3)) * time.Millisecond
}
