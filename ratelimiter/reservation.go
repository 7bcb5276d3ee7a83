package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Reservation is tokens that will be there. They are taken already: a caller that does not use them
// cancels.
type Reservation struct {
	b    *Bucket
	n    int64
	got  exchange.Answer
	due  time.Duration // monotonic
	used atomic.Bool
}

// Reserve reserves one token, as [Bucket.ReserveN] does, with its cost and errors.
func (b *Bucket) Reserve(ctx context.Context) (*Reservation, error) { return b.ReserveN(ctx, 1) }

// ReserveN takes n tokens, future ones if necessary, and returns when they may be used. ctx ends
// the wait for the answer, not the wait for the tokens: its deadline has no meaning here.
//
// Cost and errors: see [Bucket]; [ErrExceedsBurst]; [ErrExceedsDebt], also
// while the limiter is paused. Source: x/time/rate.
func (b *Bucket) ReserveN(ctx context.Context, n int64) (*Reservation, error) {
	var v verdict
	l := limits{b}
	err := l.reserve(ctx, []int64{n}, noWait, &v)
	if errors.Is(err, errPaused) {
		err = fmt.Errorf("%w: %w", ErrExceedsDebt, err)
	}
	l.reserved(ctx, []int64{n}, &v, err)
	if err != nil {
		return nil, b.failed("reserve", err)
	}
	return &Reservation{b: b, n: n, got: v.answer, due: b.core.Engine.Now().Mono + v.answer.Delay()}, nil
}

// Tokens returns how many were reserved.
func (r *Reservation) Tokens() int64 { return r.n }

// Delay returns how long it is from now until the tokens may be used, 0 if they may
// be used already.
func (r *Reservation) Delay() time.Duration { return max(0, r.due-r.b.core.Engine.Now().Mono) }

// Cancel gives the tokens back as far as later reservations do not need them: their waits stay as
// they are. Once the tokens may be used, nothing comes back; nor after the rate has changed, or
// when it is called again. It is sent once: after [ErrOutcomeUnknown] or ctx's error it may or may
// not have been done.
//
// Cost: one round trip. Errors: ctx's; [ErrOutcomeUnknown]; [ErrClosed]; Redis' and
// the network's. Source: x/time/rate.
func (r *Reservation) Cancel(ctx context.Context) error {
	b := r.b
	err := b.usable(ctx)
	if err == nil && r.used.CompareAndSwap(false, true) {
		err = b.core.Cancel(ctx, bucket.Cancellation{State: b.state, Ticks: r.got.Rule.Ticks(r.n), Left: r.got.State, Due: r.due})
		// Who did not hear the answer does not know whether it was done.
		r.used.Store(err == nil || ctx.Err() != nil || errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, combine.ErrAborted))
	}
	return b.failed("cancel", err)
}
