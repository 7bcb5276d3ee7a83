package ratelimiter

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// InShadow returns a context under which requests are decided as always, tokens are
// taken, and the client's observer is told that nothing is done because of it.
// It is for what asks a limiter only to see what it would say.
func InShadow(ctx context.Context) context.Context { return core.InShadow(ctx) }

// decided tells of an answer.
func (b *Bucket) decided(ctx context.Context, n int64, a exchange.Answer, err error) {
	if err == nil {
		b.core.Tell(ctx, core.Decision{Tokens: n, Allowed: a.OK, Together: a.Together})
	}
}

// undecided names the operation and the bucket in an error, and tells of it.
func (b *Bucket) undecided(ctx context.Context, op string, n int64, err error) error {
	if err == nil {
		return nil
	}
	b.core.Tell(ctx, core.Decision{Tokens: n, Err: err})
	return b.failed(op, err)
}

// reserved tells what became of a reservation. Of one that will be asked for
// again, as the limiter is paused, it tells nothing.
func (b *Bucket) reserved(ctx context.Context, n int64, a exchange.Answer, err error) {
	switch {
	case err == nil || refusal(err):
		b.decided(ctx, n, a, nil)
	case !errors.Is(err, errPaused):
		b.core.Tell(ctx, core.Decision{Tokens: n, Err: err})
	}
}

// refusal reports whether err is how a wait is refused.
func refusal(err error) bool {
	return errors.Is(err, ErrExceedsDeadline) || errors.Is(err, ErrExceedsWait) || errors.Is(err, ErrExceedsDebt)
}

// decided tells of what several limits said. Of one that nobody asked, as
// another is paused, it tells nothing.
func (a *Combined) decided(ctx context.Context, n []int64, d AllDecision, together int) {
	for i, b := range a.members {
		if one := d.Members[i]; one.Allowed || one.RetryAfter > 0 || one.Rate.N == 0 {
			b.core.Tell(ctx, core.Decision{Tokens: of(n, i), Allowed: one.Allowed, Fallback: one.Fallback, Together: together})
		}
	}
}

// undecided names the operation and the limits in an error, and tells of it.
func (a *Combined) undecided(ctx context.Context, op string, n []int64, err error) error {
	for i, b := range a.members {
		if err != nil {
			b.core.Tell(ctx, core.Decision{Tokens: of(n, i), Err: err})
		}
	}
	return a.failed(op, err)
}

// reserved tells what became of the reservations.
func (a *Combined) reserved(ctx context.Context, n []int64, q *exchange.Ask, got *exchange.Answer, err error) {
	switch {
	case a.members[0].core.Engine.Decisions == nil:
	case err != nil && !refusal(err):
		_ = a.undecided(ctx, "wait", n, err)
	default:
		a.decided(ctx, n, decisionsOf(got, q), got.Together)
	}
}
