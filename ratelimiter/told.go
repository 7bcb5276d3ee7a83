package ratelimiter

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/core"
)

// InShadow returns a context under which requests are decided as always and tokens are taken, and
// the client's observer is told that the decision has no effect. It is for code that asks a limiter
// only to see its decision.
func InShadow(ctx context.Context) context.Context { return core.InShadow(ctx) }

// decided tells of what was answered. Of a limit that nobody asked, as another is paused, it tells nothing.
func (l limits) decided(ctx context.Context, n []int64, v *verdict) {
	if l[0].core.Engine.Decisions == nil {
		return
	}
	for i, b := range l {
		if d := v.of(i); d.Allowed || d.RetryAfter > 0 || d.Rate.N == 0 {
			b.core.Tell(ctx, core.Decision{Tokens: of(n, i), Allowed: d.Allowed, Fallback: d.Fallback, Together: v.answer.Together})
		}
	}
}

// undecided names the operation and the limits in an error, and tells of it.
func (l limits) undecided(ctx context.Context, op string, n []int64, err error) error {
	l.tellError(ctx, n, err)
	return l.failed(op, err)
}

func (l limits) tellError(ctx context.Context, n []int64, err error) {
	for i, b := range l {
		b.core.Tell(ctx, core.Decision{Tokens: of(n, i), Err: err})
	}
}

// reserved tells what became of a reservation. Of one that will be asked for
// again, as the limiter is paused, it tells nothing.
func (l limits) reserved(ctx context.Context, n []int64, v *verdict, err error) {
	refusal := errors.Is(err, ErrExceedsDeadline) || errors.Is(err, ErrExceedsWait) || errors.Is(err, ErrExceedsDebt)
	switch {
	case err == nil || refusal:
		l.decided(ctx, n, v)
	case !errors.Is(err, errPaused):
		l.tellError(ctx, n, err)
	}
}

// counted returns the numbers of tokens that an observer hears of: those that were taken,
// or that were wanted in vain.
func counted(taken int64, n []int64, upTo int64) []int64 {
	switch {
	case upTo == 0:
		return n
	case taken > 0:
		return []int64{taken}
	}
	return []int64{upTo}
}

// about names the member that an error is about. A bucket by itself is named by failed.
func (l limits) about(member int, err error) error {
	if l[0].all == nil {
		return err
	}
	return fmt.Errorf("%s: %w", l[member].String(), err)
}

// failed names the operation and the limits.
func (l limits) failed(op string, err error) error {
	if all := l[0].all; all != nil {
		return all.failed(op, err)
	}
	return l[0].failed(op, err)
}
