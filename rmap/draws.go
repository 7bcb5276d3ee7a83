package rmap

import (
	"context"
	"math/rand/v2"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

var hrandfield = scripts.NewCommand("HRANDFIELD", scripts.Safe)

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
