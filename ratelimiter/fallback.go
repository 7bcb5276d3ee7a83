package ratelimiter

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/breaker"
	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Fallback decides while the server cannot be asked: [Open], [Closed] or [Local].
type Fallback interface {
	check() error
	// decide takes tokens, or gives back what was taken.
	decide(c *exchange.Core, state string, q bucket.Want) (taken int64, d Decision, err error)
}

// Open allows everything.
var Open Fallback = openFallback{}

// Closed refuses everything.
var Closed Fallback = closedFallback{}

// Local applies a rate in the process, to each key: with N processes, up to N times that rate is
// let through. It remembers 65,536 keys of one process that are not full; beyond that, the fullest
// of them start full, and more is let through. A request for more than its burst returns
// [ErrExceedsBurst].
func Local(r Rate) Fallback {
	own, err := travelling(r)
	return localFallback{own, err}
}

type openFallback struct{}

func (openFallback) check() error { return nil }

func (openFallback) decide(_ *exchange.Core, _ string, q bucket.Want) (int64, Decision, error) {
	return q.Requests(), Decision{Allowed: true, Fallback: true}, nil
}

type closedFallback struct{}

func (closedFallback) check() error { return nil }

func (closedFallback) decide(*exchange.Core, string, bucket.Want) (int64, Decision, error) {
	return 0, Decision{Fallback: true, RetryAfter: breaker.LongestRest}, nil
}

type localFallback struct {
	r   *bucket.Rule
	bad error
}

func (f localFallback) check() error { return f.bad }

func (f localFallback) decide(c *exchange.Core, state string, q bucket.Want) (taken int64, d Decision, err error) {
	q.Rule = f.r
	switch {
	case f.r.Settled():
		taken, d = q.Settled(), settledDecision(f.r)
	case q.Kind == bucket.Take && q.N > f.r.Burst:
		return 0, Decision{}, exceedsBurst(q.N, f.r)
	default:
		var got bucket.State
		got, taken = c.StandIns.Answer(state, q, c.Engine.Mono())
		d = decisionOf(&got, taken > 0, q.N)
	}
	d.Fallback = true
	return taken, d, nil
}

// fallback is the setting of a handle.
type fallback struct {
	within time.Duration
	to     Fallback
}

// fallbackWithin returns how long the server may take until the fallbacks decide: the
// shortest of the members' times. Without a fallback of each there is none.
func (l limits) fallbackWithin() (within time.Duration, falls bool) {
	within = exchange.Forever
	for _, b := range l {
		if b.fallback == nil {
			return 0, false
		}
		within = min(within, b.fallback.within)
	}
	return within, true
}

// orFallBack asks the server, and has the fallbacks decide if that is silent for so long, or is known to be. All
// members are on one server, so one breaker tells of it: that of the first.
func (l limits) orFallBack(ctx context.Context, n []int64, upTo int64, within time.Duration, v *verdict) error {
	for i, b := range l {
		if err := b.askable(ctx, of(n, i)); err != nil {
			return err
		}
	}
	if own := l[0].own; l[0].all == nil && own != nil && (own.Settled() || n[0] > own.Burst) {
		return l.decide(ctx, n, upTo, v) // which is known without the server
	}
	c := l[0].core
	return breaker.Instead(ctx, &c.Breaker, breaker.Patience{Within: within, Now: c.Engine.Mono, Silent: silent},
		func(ctx context.Context) error { return l.decide(ctx, n, upTo, v) },
		func() error {
			*v = verdict{}
			err := l.fallBack(n, upTo, v)
			if err == nil {
				l.decided(ctx, counted(v.answer.Taken, n, upTo), v)
			}
			return err
		})
}

// silent reports whether an error of a request shows that the server does not
// answer. What the server has said, or is wrong with the request, is no outage, however long it took.
func silent(err error, late bool) bool {
	said := exchange.Said(err) || errors.Is(err, ErrOtherRate) || errors.Is(err, ErrExceedsBurst)
	return !said && (late || send.Transient(err))
}

// fallBack asks each member's fallback. What one granted beyond what all did is
// given back, and meanwhile others may have been refused for want of it.
func (l limits) fallBack(n []int64, upTo int64, v *verdict) error {
	granted := make([]int64, 0, 4)
	for i, b := range l {
		taken, one, err := b.fallback.to.decide(b.core, b.state, bucket.Want{N: of(n, i), UpTo: upTo, Kind: bucket.Take})
		if err != nil {
			l.unfall(v.fallen, granted, n, 0)
			return l.about(i, err)
		}
		v.fallen, granted = append(v.fallen, one), append(granted, taken)
	}
	least := slices.Min(granted)
	l.unfall(v.fallen, granted, n, least)
	v.answer.OK, v.answer.Taken = least > 0, least
	return nil
}

// unfall gives back what fallbacks have granted beyond the least of them.
func (l limits) unfall(told []Decision, granted, n []int64, least int64) {
	for i, taken := range granted {
		if b, over := l[i], taken-least; over > 0 {
			_, told[i], _ = b.fallback.to.decide(b.core, b.state, bucket.Want{N: over * of(n, i), Kind: bucket.Refund})
		}
	}
}
