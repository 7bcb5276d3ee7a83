package rmap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

var hrandfield = scripts.NewCommand("HRANDFIELD", scripts.Safe)

// RandomKeys returns up to n different keys, from 1 to 5,000, which the server draws. Each shard of a [Sharded] gives
// its share by its size. Of a [Cache] expired keys are left out, so that there may be fewer than n of many.
//
// Cost: one command, and of a Cache a script call for each 500 keys; of a Sharded an HLEN and an HRANDFIELD for each
// shard. Errors: as Get. Source: RMap.randomKeys.
func (c common[K, V]) RandomKeys(ctx context.Context, n int) ([]K, error) {
	if n < 1 || n > mostInOne {
		return nil, c.m.failed("draw from", fmt.Errorf("%w: %d keys: from 1 to %d", ErrInvalidArgument, n, mostInOne))
	}
	err := c.m.usable(ctx)
	var texts []string
	if err == nil {
		texts, err = reading(ctx, c.m.h, func() ([]string, error) { return c.m.store.random(ctx, n) })
	}
	if err != nil {
		return nil, c.m.failed("draw from", err)
	}
	ks := make([]K, 0, len(texts))
	var undecoded []error
	for _, text := range texts {
		k, err := c.m.codecs.DecodeKey(text)
		if err != nil {
			undecoded = append(undecoded, err)
			continue
		}
		ks = append(ks, k)
	}
	return ks, c.m.failed("draw from", errors.Join(undecoded...))
}

// RandomEntries returns the entries of up to n keys that RandomKeys draws. A key
// that is removed in between is missing. It is no use of the entries of a [Cache].
//
// Cost: as RandomKeys and GetMany. Errors: as Get. Source: RMap.randomEntries.
func (c common[K, V]) RandomEntries(ctx context.Context, n int) (map[K]V, error) {
	ks, err := c.RandomKeys(ctx, n)
	if err != nil {
		return nil, err
	}
	return c.GetMany(ctx, ks...)
}

func (p *plain) random(ctx context.Context, n int) ([]string, error) {
	return send.Texts(p.read(ctx, hrandfield, decimal(int64(n))))
}

// random leaves out what has expired.
func (c *cached) random(ctx context.Context, n int) ([]string, error) {
	drawn, err := send.Texts(c.read(ctx, hrandfield, decimal(int64(n))))
	if err != nil || len(drawn) == 0 {
		return nil, err
	}
	seen, err := peekTimes(ctx, c, drawn)
	if err != nil {
		return nil, err
	}
	living := drawn[:0]
	for i, one := range seen {
		if one.there {
			living = append(living, drawn[i])
		}
	}
	return living, nil
}

// random draws from each shard as many as of n that are drawn from all entries fall to it.
func (s *sharded) random(ctx context.Context, n int) ([]string, error) {
	sizes, total := make([]int64, s.n), int64(0)
	err := s.each(ctx, false, s.all(), func(i int, p *shard) (err error) {
		sizes[i], err = p.length(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, size := range sizes {
		total += size
	}
	counts := make([]int, s.n)
	for ; n > 0 && total > 0; n, total = n-1, total-1 {
		at := rand.N(total)
		i := 0
		for ; at >= sizes[i]; i++ {
			at -= sizes[i]
		}
		counts[i]++
		sizes[i]--
	}
	var which []int
	for i, count := range counts {
		if count > 0 {
			which = append(which, i)
		}
	}
	drawn := make([][]string, len(which))
	err = s.each(ctx, false, which, func(at int, p *shard) (err error) {
		drawn[at], err = p.random(ctx, counts[which[at]])
		return err
	})
	var all []string
	for _, some := range drawn {
		all = append(all, some...)
	}
	return all, err
}
