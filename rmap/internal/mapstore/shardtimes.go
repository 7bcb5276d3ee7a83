package mapstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Any reports whether one of the shards answers yes.
func (s *Sharded) Any(ctx context.Context, call func(p *Shard) (bool, error)) (bool, error) {
	n, err := s.Sum(ctx, false, s.All(), func(_ int, p *Shard) (int64, error) {
		is, err := call(p)
		if is {
			return 1, err
		}
		return 0, err
	})
	return n > 0, err
}

func (s *Sharded) Exists(ctx context.Context) (bool, error) {
	return s.Any(ctx, func(p *Shard) (bool, error) { return send.Yes(p.Read(ctx, Exists)) })
}

// straggle is when nothing comes any more from those who trusted the name when it was
// told to go: they did for a glance, and then sent for three seconds at most. It goes
// after that.
const straggle = 5 * Glance

// LookBack lets the name stay if others, who trusted it meanwhile, have added to a
// shard that was empty: it stays, and so does the name. A process that ends before
// it has looked leaves such a shard without it.
func (s *Sharded) LookBack() {
	of, until := &Sharded{Sender{Hub: s.Hub, Key: s.Key}, s.N}, s.Hub.Engine.Mono()+straggle
	s.Hub.Engine.Due(core.Key{Kind: "sharded map", Name: s.Key}, 2*Glance, func() time.Duration {
		s.Hub.Engine.Spawn(of.staysWith) // bounded by its exchanges
		if left := until - s.Hub.Engine.Mono(); left > 0 {
			return min(2*Glance, left)
		}
		return -1
	})
}

func (s *Sharded) staysWith() {
	left, err := s.Remaining(context.Background())
	if err == nil && left < 0 {
		_, err = s.SetTime(context.Background(), "")
	}
	if err != nil {
		s.Hub.Engine.Logger.Debug("looking after the number of shards", "name", s.Key, "err", err)
	}
}

// SetTime ends the map at a time in ms since 1970, or never if there is none.
func (s *Sender) SetTime(ctx context.Context, ms string) (bool, error) {
	return send.Yes(s.Write(ctx, ExpireScript, s.Keys(), s.TellAll("1", ms)...))
}

func (s *Sharded) Remaining(ctx context.Context) (longest time.Duration, err error) {
	each := make([]time.Duration, s.N)
	err = s.each(ctx, false, s.All(), func(i int, p *Shard) (err error) {
		each[i], err = send.Remainder(send.Number(p.Read(ctx, PTTL)))
		return err
	})
	if err != nil || slices.Contains(each, -1) {
		return -1, err
	}
	return slices.Max(each), nil
}

// Under gives the map, or a copy of it, another name by a script.
func (s *Sharded) Under(ctx context.Context, mapped string, over bool, script *scripts.Script, args []string) (bool, error) {
	other := &Sharded{Sender{Hub: s.Hub, Key: mapped, ids: s.ids}, s.N}
	s.Hub.Recount(mapped)
	defer s.Hub.Recount(mapped)
	if over {
		if err := other.check(ctx, false); err != nil {
			return false, fmt.Errorf("over %q: %w", mapped, err)
		}
	}
	there, err := s.Exists(ctx)
	if err != nil || !there {
		return false, err
	}
	s.Hub.Recount(s.Key)
	defer s.Hub.Recount(s.Key)
	// The name says how many shards there are, if it does not yet. One that is to go goes.
	n, err := s.Hub.shardsOf(ctx, shardsKey{s.Key, false}, s.N)
	if err == nil && n != s.N {
		err = s.check(ctx, true)
	}
	if err != nil {
		return false, err
	}
	var pairs []string
	froms, tos := s.Object(), other.Object()
	for i := range froms {
		pairs = append(pairs, froms[i], tos[i])
	}
	done, err := send.Yes(s.Write(ctx, script, pairs, append([]string{Decimal(int64(len(pairs) / 2))}, args...)...))
	goes := err != nil
	if !goes { // the name may be to go
		left, bad := send.Remainder(send.Number(other.Read(ctx, PTTL)))
		goes = bad != nil || left > 0
	}
	if goes {
		other.LookBack()
	}
	return done, err
}
