package ratelimiter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// patience returns how long the server may take until the fallbacks decide: the
// shortest of the members' times. Without a fallback of each there is none.
func (a *Combined) patience() (within time.Duration, ok bool) {
	if a.bad != nil {
		return 0, false
	}
	within = exchange.Forever
	for _, b := range a.members {
		if b.fallback == nil {
			return 0, false
		}
		within = min(within, b.fallback.within)
	}
	return within, true
}

// orFallBack asks the server, for as long as that. All members are on one
// server, so one breaker tells of it: that of the first.
func (a *Combined) orFallBack(ctx context.Context, n []int64, upTo int64, within time.Duration) (taken int64, d AllDecision, err error) {
	for i, b := range a.members {
		if err := b.askable(ctx, of(n, i)); err != nil {
			return 0, AllDecision{}, err
		}
	}
	err = unlessSilent(ctx, a.members[0].core, within,
		func(ctx context.Context) (err error) {
			taken, d, err = a.decide(ctx, n, upTo)
			return err
		},
		func() (err error) {
			if taken, d, err = a.fallBack(n, upTo); err == nil {
				a.decided(ctx, a.given(taken, n, upTo), d, 0)
			}
			return err
		})
	return taken, d, err
}

// fallBack asks each member's fallback. What one granted beyond what all did is
// given back, and meanwhile others may have been refused for want of it.
func (a *Combined) fallBack(n []int64, upTo int64) (least int64, d AllDecision, err error) {
	var granted []int64
	for i, b := range a.members {
		taken, one, err := b.fallback.to.decide(b.core, b.state, bucket.Want{N: of(n, i), UpTo: upTo, Kind: bucket.Take})
		if err != nil {
			a.unfall(d.Members, granted, n, 0)
			return 0, AllDecision{}, fmt.Errorf("%v: %w", b, err)
		}
		d.Members, granted = append(d.Members, one), append(granted, taken)
	}
	least = slices.Min(granted)
	a.unfall(d.Members, granted, n, least)
	d.Decision = tightest(d.Members, least > 0)
	return least, d, nil
}

// unfall gives back what fallbacks have granted beyond the least of them.
func (a *Combined) unfall(told []Decision, granted, n []int64, least int64) {
	for i, taken := range granted {
		if b, over := a.members[i], taken-least; over > 0 {
			_, told[i], _ = b.fallback.to.decide(b.core, b.state, bucket.Want{N: over * of(n, i), Kind: bucket.Refund})
		}
	}
}
