package rmap

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// any reports whether one of the shards answers yes.
func (s *sharded) any(ctx context.Context, call func(p *shard) (bool, error)) (bool, error) {
	n, err := s.sum(ctx, false, s.all(), func(_ int, p *shard) (int64, error) {
		is, err := call(p)
		if is {
			return 1, err
		}
		return 0, err
	})
	return n > 0, err
}

func (s *sharded) exists(ctx context.Context) (bool, error) {
	return s.any(ctx, func(p *shard) (bool, error) { return send.Yes(p.read(ctx, exists)) })
}

// straggle is when nothing comes any more from those who trusted the name when it was
// told to go: they did for a glance, and then sent for three seconds at most. It goes
// after that.
const straggle = 5 * glance

// lookBack lets the name stay if others, who trusted it meanwhile, have added to a
// shard that was empty: it stays, and so does the name. A process that ends before
// it has looked leaves such a shard without it.
func (s *sharded) lookBack() {
	of, until := &sharded{sender{h: s.h, key: s.key}, s.n}, s.h.e.Mono()+straggle
	s.h.e.Due(core.Key{Kind: "sharded map", Name: s.key}, 2*glance, func() time.Duration {
		s.h.e.Spawn(of.staysWith) // bounded by its exchanges
		if left := until - s.h.e.Mono(); left > 0 {
			return min(2*glance, left)
		}
		return -1
	})
}

func (s *sharded) staysWith() {
	left, err := s.remaining(context.Background())
	if err == nil && left < 0 {
		_, err = s.setTime(context.Background(), "")
	}
	if err != nil {
		s.h.e.Logger.Debug("looking after the number of shards", "name", s.key, "err", err)
	}
}

func (s *sender) setTime(ctx context.Context, ms string) (bool, error) {
	return send.Yes(s.write(ctx, expireScript, s.keys(), s.tellAll("1", ms)...))
}

func (s *sharded) remaining(ctx context.Context) (longest time.Duration, err error) {
	each := make([]time.Duration, s.n)
	err = s.each(ctx, false, s.all(), func(i int, p *shard) (err error) {
		each[i], err = send.Remainder(send.Number(p.read(ctx, pttl)))
		return err
	})
	if err != nil || slices.Contains(each, -1) {
		return -1, err
	}
	return slices.Max(each), nil
}

func (s *sharded) under(ctx context.Context, mapped string, over bool, script *scripts.Script, args []string) (bool, error) {
	other := &sharded{sender{h: s.h, key: mapped, ids: s.ids}, s.n}
	s.h.recount(mapped)
	defer s.h.recount(mapped)
	if over {
		if err := other.check(ctx, false); err != nil {
			return false, fmt.Errorf("over %q: %w", mapped, err)
		}
	}
	there, err := s.exists(ctx)
	if err != nil || !there {
		return false, err
	}
	s.h.recount(s.key)
	defer s.h.recount(s.key)
	// The name says how many shards there are, if it does not yet. One that is to go goes.
	n, err := s.h.shardsOf(ctx, shardsKey{s.key, false}, s.n)
	if err == nil && n != s.n {
		err = s.check(ctx, true)
	}
	if err != nil {
		return false, err
	}
	var pairs []string
	froms, tos := s.object(), other.object()
	for i := range froms {
		pairs = append(pairs, froms[i], tos[i])
	}
	done, err := send.Yes(s.write(ctx, script, pairs, append([]string{decimal(int64(len(pairs) / 2))}, args...)...))
	goes := err != nil
	if !goes { // the name may be to go
		left, bad := send.Remainder(send.Number(other.read(ctx, pttl)))
		goes = bad != nil || left > 0
	}
	if goes {
		other.lookBack()
	}
	return done, err
}
