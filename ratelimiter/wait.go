package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// Wait waits for one token and takes it. See [Bucket.WaitN].
func (b *Bucket) Wait(ctx context.Context) error { return b.WaitN(ctx, 1) }

// WaitN waits until n tokens are its own, and takes them. Waiters of all
// processes are served in the order in which the server heard of them: the
// tokens are reserved by one call, and the wait is one sleep that asks nobody.
//
// The wait ends with the tokens; with ctx or when the client closes, and then
// the reservation is given back as by [Reservation.Cancel]; or at once, and
// without taking anything, by [ErrExceedsDeadline] if the tokens come later than
// ctx's deadline. While the limiter is paused, it asks for the rate again once a
// second, and fails like that if ctx's deadline is sooner. It never returns nil
// before its tokens are there, also if a clock is set: it sleeps as long as the
// server said, from when that came.
//
// Cost and errors: see [Bucket]; [ErrExceedsBurst]; [ErrExceedsDeadline];
// [ErrExceedsDebt] when more is reserved already than [WithMaxDebt] allows.
// Source: x/time/rate; RRateLimiter.acquire, which has no order.
func (b *Bucket) WaitN(ctx context.Context, n int64) error {
	return b.failed("wait", b.core.during(func() error { return b.waitN(ctx, n) }))
}

// during is a wait that Close ends, and waits for: what it has reserved goes
// back.
func (c *core) during(wait func() error) error {
	err := ErrClosed
	c.e.During(func() { err = wait() })
	return err
}

func (b *Bucket) waitN(ctx context.Context, n int64) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	for {
		a, err := b.reserve(ctx, n, b.core.until(ctx))
		b.reserved(ctx, n, a, err)
		if err == nil {
			return b.sleepOut(ctx, n, a)
		}
		if !errors.Is(err, errPaused) || errors.Is(err, ErrExceedsDeadline) {
			return err
		}
		if err := b.core.sleep(ctx, askAgain); err != nil {
			return err
		}
	}
}

// errPaused says that nothing can be reserved now.
var errPaused = errors.New("the limiter is paused")

// reserve takes n tokens that are there by until.
func (b *Bucket) reserve(ctx context.Context, n int64, until time.Duration) (answer, error) {
	r, err := b.ruleFor(ctx, n)
	switch {
	case err != nil:
		return answer{}, err
	case r.exceeds(n):
		return answer{}, exceedsBurst(n, r)
	case r.paused && until != forever && until < b.core.e.Now().Mono+askAgain:
		return answer{}, fmt.Errorf("%w: %w", ErrExceedsDeadline, errPaused)
	case r.paused:
		return answer{}, errPaused
	}
	want := b.wants(r, n, reserve)
	want.until = until
	a, err := b.answer(ctx, want)
	if err == nil && !a.ok {
		err = a.refused(n, until, b.core.e.Now().Mono)
	}
	return a, err
}

// refused is why a reservation was: the deadline comes first, or too much is
// owed.
func (a *bucket) refused(n int64, until, now time.Duration) error {
	switch delay := a.enough(n); {
	case a.r.exceeds(n):
		return exceedsBurst(n, a.r)
	case until != forever && delay >= until-now:
		return fmt.Errorf("%w: the tokens come in %v", ErrExceedsDeadline, delay)
	default:
		return fmt.Errorf("%w: the tokens come in %v", ErrExceedsDebt, delay)
	}
}

// sleepOut sleeps until a reservation is due, or gives it back.
func (b *Bucket) sleepOut(ctx context.Context, n int64, a answer) error {
	err := b.core.sleep(ctx, a.delay())
	if err != nil {
		b.core.giveBack(b.state, n, a.bucket)
	}
	return err
}

// sleep sleeps for d.
func (c *core) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return engine.ContextError(ctx)
	case <-c.e.Closing():
		return ErrClosed
	}
}

// until is ctx's deadline on the engine's clock.
func (c *core) until(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return forever
	}
	left := time.Until(deadline).Truncate(quantum)
	if now := c.e.Now().Mono.Truncate(quantum); left < forever-now {
		return now + left
	}
	return forever
}

// quantum is how exactly deadlines are told apart: calls under one deadline are
// to be of one kind.
const quantum = 100 * time.Microsecond
