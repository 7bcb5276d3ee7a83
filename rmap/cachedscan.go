package rmap

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

func (c *cached) scan(ctx context.Context, cursor, match string, page int) (string, []pair, error) {
	next, pairs, err := scanned(c.page(ctx, c.now(), "", cursor, match, page))
	for i := range pairs {
		pairs[i].value = opened(pairs[i].value)
	}
	return next, pairs, err
}

// scanTimed is scan, with the times that entries have left.
func (c *cached) scanTimed(ctx context.Context, cursor, match string, page int) (string, []pair, error) {
	now := c.h.e.Wall()
	next, texts, err := scannedTexts(c.page(ctx, decimal(now), "1", cursor, match, page))
	pairs := make([]pair, len(texts)/4)
	for i := range pairs {
		key, packed, ends, rests := texts[4*i], texts[4*i+1], texts[4*i+2], texts[4*i+3]
		pairs[i] = pair{key, opened(value{text: packed, there: true}), until(ends, now), until(rests, now)}
	}
	return next, pairs, err
}

func (c *cached) page(ctx context.Context, now, timed, cursor, match string, page int) (engine.Answer, error) {
	args := slices.Insert(scanArgs(cursor, match, page), 1, now, timed)
	return c.h.e.Run(ctx, mapcache.Scan, []string{c.n.Hash, c.n.Times, c.n.Rests}, args)
}

// until is how long it is from now to a score, ms, that stands in a sorted set; -1
// if there is none.
func until(score string, now int64) time.Duration {
	at, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return -1
	}
	return time.Duration(min(at-float64(now), engine.LongestLease.Seconds()*1e3)) * time.Millisecond
}
