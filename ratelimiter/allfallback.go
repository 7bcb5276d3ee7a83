package ratelimiter

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// patience is how long the server may take until the fallbacks decide: the
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
func (a *Combined) orFallBack(ctx context.Context, n []int64, within time.Duration) (AllDecision, error) {
	for i, b := range a.members {
		if err := b.askable(ctx, of(n, i)); err != nil {
			return AllDecision{}, err
		}
	}
	return unlessSilent(ctx, a.members[0].core, within,
		func(ctx context.Context) (AllDecision, error) { return a.decide(ctx, n) },
		func() (AllDecision, error) {
			d, err := a.fallBack(n)
			if err == nil {
				a.decided(ctx, n, d, 0)
			}
			return d, err
		})
}

// fallBack asks each member's fallback. If one refuses, the others take nothing:
// what they granted is given back, and meanwhile others may have been refused
// for want of it.
func (a *Combined) fallBack(n []int64) (AllDecision, error) {
	d, allowed := AllDecision{}, true
	for i, b := range a.members {
		one, err := b.fallback.to.decide(b.core, b.state, of(n, i))
		if err != nil {
			a.unfall(d.Members, n)
			return AllDecision{}, fmt.Errorf("%v: %w", b, err)
		}
		d.Members, allowed = append(d.Members, one), allowed && one.Allowed
	}
	if !allowed {
		a.unfall(d.Members, n)
	}
	d.Decision = tightest(d.Members, allowed)
	return d, nil
}

// unfall gives back what fallbacks have granted.
func (a *Combined) unfall(granted []Decision, n []int64) {
	for i, one := range granted {
		if b := a.members[i]; one.Allowed {
			granted[i] = b.fallback.to.undo(b.core, b.state, of(n, i))
		}
	}
}
