package redissonlimiter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Wait waits for one permit and takes it, as [Limiter.WaitN] does, with its cost and errors.
func (l *Limiter) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// longestNap is how long a wait sleeps at most before it asks again: permits
// that are released and rates that are set are not announced.
const longestNap = 5 * time.Second

// WaitN waits until n permits are there and takes them. There is no order among waiters, in this
// process or others, so a waiter for many permits may wait for long next to waiters for few. It
// sleeps until the permits come, but not longer than 5 s at a time.
//
// The wait ends with the permits; with ctx, when nothing was taken; or when the client closes. It
// fails at once, and takes nothing, with [ratelimiter.ErrExceedsDeadline] if ctx's deadline comes
// before the permits.
//
// Cost: a round trip for each try. Wire and errors: as [Limiter.Take], and
// ErrExceedsDeadline. Source: RRateLimiter.acquire.
func (l *Limiter) WaitN(ctx context.Context, n int64) error {
	for {
		d, err := l.take(ctx, n)
		if err == nil && !d.Allowed {
			err = l.nap(ctx, d.RetryAfter)
		}
		if err != nil || d.Allowed {
			l.decided(ctx, n, d, err)
			return l.failed("wait", err)
		}
	}
}

// nap sleeps until permits may have come.
func (l *Limiter) nap(ctx context.Context, delay time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < delay {
		return fmt.Errorf("%w: the permits come in %v", ratelimiter.ErrExceedsDeadline, delay)
	}
	if delay > longestNap {
		delay = longestNap - rand.N(longestNap/5) // not all at once
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return core.ContextError(ctx)
	case <-l.e.Closing():
		return ratelimiter.ErrClosed
	}
}
