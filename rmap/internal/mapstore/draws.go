package mapstore

import (
	"context"
	"math/rand/v2"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

var hrandfield = scripts.NewCommand("HRANDFIELD", scripts.Reads)

func (p *Plain) Random(ctx context.Context, n int) ([]string, error) {
	return send.Texts(p.Read(ctx, hrandfield, Decimal(int64(n))))
}

// Random leaves out what has expired.
func (c *Cached) Random(ctx context.Context, n int) ([]string, error) {
	drawn, err := send.Texts(c.Read(ctx, hrandfield, Decimal(int64(n))))
	if err != nil || len(drawn) == 0 {
		return nil, err
	}
	seen, err := PeekTimes(ctx, c, drawn)
	if err != nil {
		return nil, err
	}
	living := drawn[:0]
	for i, one := range seen {
		if one.There {
			living = append(living, drawn[i])
		}
	}
	return living, nil
}

// Random draws from each shard as many as of n that are drawn from all entries fall to it.
func (s *Sharded) Random(ctx context.Context, n int) ([]string, error) {
	sizes, total := make([]int64, s.N), int64(0)
	err := s.each(ctx, false, s.All(), func(i int, p *Shard) (err error) {
		sizes[i], err = p.Length(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, size := range sizes {
		total += size
	}
	counts := make([]int, s.N)
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
	err = s.each(ctx, false, which, func(at int, p *Shard) (err error) {
		drawn[at], err = p.Random(ctx, counts[which[at]])
		return err
	})
	var all []string
	for _, some := range drawn {
		all = append(all, some...)
	}
	return all, err
}
