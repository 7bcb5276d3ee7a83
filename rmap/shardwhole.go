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

// What is done to all shards of a map, and to the name, which says how many there
// are. That goes last and comes first, so that nobody takes what is there for
// another number of shards when something fails in between.

// whole returns an exchange with all shards.
func whole[K comparable, V, T any](ctx context.Context, m *Sharded[K, V], op string, call func() (T, error)) (result T, err error) {
	if err = m.m.usable(ctx); err == nil {
		result, err = call()
	}
	return result, m.m.failed(op, err)
}

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

func (m *Sharded[K, V]) delete(ctx context.Context) (bool, error) {
	return whole(ctx, m, "delete", func() (bool, error) {
		return writing(ctx, m.m.h, func() (bool, error) { return m.s.drop(ctx) })
	})
}

func (s *sharded) drop(ctx context.Context) (there bool, err error) {
	there, err = s.any(ctx, func(p *shard) (bool, error) { return send.Yes(p.dropAll(ctx)) })
	if err != nil {
		return there, err
	}
	defer s.h.recount(s.key)
	named, err := send.Yes(s.delete(ctx, []string{s.key}))
	return there || named, err
}

func (m *Sharded[K, V]) exists(ctx context.Context) (bool, error) {
	return whole(ctx, m, "look for", func() (bool, error) {
		return reading(ctx, m.m.h, func() (bool, error) { return m.s.exists(ctx) })
	})
}

func (s *sharded) exists(ctx context.Context) (bool, error) {
	return s.any(ctx, func(p *shard) (bool, error) { return send.Yes(p.read(ctx, exists)) })
}

func (m *Sharded[K, V]) expire(ctx context.Context, d time.Duration) (bool, error) {
	if err := send.CheckTTL("time to live", d); err != nil {
		return false, m.m.failed("expire", err)
	}
	return whole(ctx, m, "expire", func() (bool, error) {
		return writing(ctx, m.m.h, func() (bool, error) { return m.s.expire(ctx, d) })
	})
}

// expire lets the name stay for longer than who adds to the map now trusts it.
// Where there is nothing that goes, it stays.
func (s *sharded) expire(ctx context.Context, d time.Duration) (bool, error) {
	there, err := s.any(ctx, func(p *shard) (bool, error) { return p.setTime(ctx, decimal(core.Millis(d))) })
	if err == nil && there {
		defer s.h.recount(s.key)
		_, err = s.setTime(ctx, decimal(core.Millis(d+6*glance)))
		s.lookBack()
	}
	return there, err
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

// goes reports whether the name is to go, or may be.
func (s *sharded) goes(ctx context.Context) bool {
	left, err := send.Remainder(send.Number(s.read(ctx, pttl)))
	return err != nil || left > 0
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

func (m *Sharded[K, V]) persist(ctx context.Context) (bool, error) {
	return whole(ctx, m, "persist", func() (bool, error) {
		return writing(ctx, m.m.h, func() (bool, error) {
			if _, err := m.s.setTime(ctx, ""); err != nil {
				return false, err
			}
			return m.s.any(ctx, func(p *shard) (bool, error) { return p.setTime(ctx, "") })
		})
	})
}

func (m *Sharded[K, V]) remaining(ctx context.Context) (time.Duration, error) {
	return whole(ctx, m, "look at", func() (time.Duration, error) {
		return reading(ctx, m.m.h, func() (time.Duration, error) { return m.s.remaining(ctx) })
	})
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

// under gives the map, or a copy of it, another name, by a script with these arguments. Over
// says whether that goes over what has the name.
func (m *Sharded[K, V]) under(ctx context.Context, op, to string, over bool, script *scripts.Script, args ...string) (bool, error) {
	return whole(ctx, m, op, func() (bool, error) {
		mapped := m.m.h.e.Map(to)
		switch {
		case mapped == "":
			return false, fmt.Errorf("%w: empty new name", ErrOption)
		case m.m.cfg.announce:
			return false, fmt.Errorf("%w: near caches are not told that a sharded map has another name", ErrOption)
		case m.m.h.e.Cluster():
			return false, fmt.Errorf("%w: the shards of %q are in other slots of the cluster", ErrOption, mapped)
		}
		return writing(ctx, m.m.h, func() (bool, error) { return m.s.under(ctx, mapped, over, script, args) })
	})
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
	if err = s.say(ctx); err != nil {
		return false, err
	}
	var pairs []string
	froms, tos := s.object(), other.object()
	for i := range froms {
		pairs = append(pairs, froms[i], tos[i])
	}
	done, err := send.Yes(s.write(ctx, script, pairs, append([]string{decimal(int64(len(pairs) / 2))}, args...)...))
	if err != nil || other.goes(ctx) {
		other.lookBack()
	}
	return done, err
}

func (m *Sharded[K, V]) expireAt(ctx context.Context, at time.Time) (bool, error) {
	if _, err := send.Instant(at); err != nil {
		return false, m.m.failed("expire", err)
	}
	return m.expire(ctx, max(time.Until(at), time.Millisecond))
}

func (m *Sharded[K, V]) sizeInMemory(ctx context.Context) (int64, error) {
	return whole(ctx, m, "measure", func() (int64, error) {
		return reading(ctx, m.m.h, func() (int64, error) {
			shards, err := m.s.sum(ctx, false, m.s.all(), func(_ int, p *shard) (int64, error) {
				return p.h.e.SizeInMemory(ctx, []string{p.key})
			})
			if err != nil {
				return 0, err
			}
			name, err := m.s.h.e.SizeInMemory(ctx, []string{m.s.key})
			return shards + name, err
		})
	})
}

// say says how many shards there are if the name does not. One that is to go goes.
func (s *sharded) say(ctx context.Context) error {
	n, err := s.h.shardsOf(ctx, shardsKey{s.key, false}, s.n)
	if err != nil || n == s.n {
		return err
	}
	return s.check(ctx, true)
}
