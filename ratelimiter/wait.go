package ratelimiter

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Wait waits for one token and takes it. See [Bucket.WaitN].
func (b *Bucket) Wait(ctx context.Context) error { return b.WaitN(ctx, 1) }

// WaitN waits until n tokens are its own, and takes them. Waiters of all
// processes are served in the order in which the server heard of them: the
// tokens are reserved by one call, and the wait is one sleep that asks nobody.
//
// The wait ends with the tokens; with ctx or when the client closes; or at once,
// and without taking anything, by [ErrExceedsDeadline] if the tokens come later
// than ctx's deadline, and by [ErrExceedsWait] if they come later than
// [WithMaxWait] says, which without a deadline is never more than 30 s or what
// the request itself needs. While the limiter is paused, it asks for the rate
// again once a second, and fails like that if it would have to wait for longer.
//
// Who leaves gives its place back: at once if nobody waits behind it, and else
// when those of this process who do have left, too. x/time/rate keeps what was
// reserved by one who leaves while others wait behind it, so that a crowd that
// waits and goes away locks everybody out for as long as it would have waited.
// So does this for the places before waiters of other processes, as these keep
// their times.
//
// It never returns nil before its tokens are there, also if a clock is set: it
// sleeps as long as the server said, from when that came.
//
// Cost and errors: see [Bucket]; [ErrExceedsBurst]; [ErrExceedsDeadline];
// [ErrExceedsWait]; [ErrExceedsDebt] when more is reserved already than
// [WithMaxDebt] allows. Source: x/time/rate; RRateLimiter.acquire, which has no order.
func (b *Bucket) WaitN(ctx context.Context, n int64) error {
	return b.failed("wait", b.core.During(func() error { return b.waitN(ctx, n) }))
}

func (b *Bucket) waitN(ctx context.Context, n int64) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	for began := b.core.Engine.Mono(); ; {
		want, a, err := b.reserve(ctx, n, b.patience(ctx, began))
		b.reserved(ctx, n, a, err)
		if err == nil {
			return b.core.SleepOut(ctx, &want, &a)
		}
		if err != errPaused {
			return err
		}
		if err := b.core.Sleep(ctx, askAgain); err != nil {
			return err
		}
	}
}

// errPaused says that nothing can be reserved now.
var errPaused = errors.New("the limiter is paused")

// reserve takes n tokens that are there in time.
func (b *Bucket) reserve(ctx context.Context, n int64, p patience) (want exchange.Ask, a exchange.Answer, err error) {
	r, err := b.ruleFor(ctx, n)
	switch {
	case err != nil:
		return want, a, err
	case r.Exceeds(n):
		return want, a, exceedsBurst(n, r)
	case r.Paused:
		return want, a, p.paused(b.core.Engine.Mono())
	}
	want = b.wants(r, n, bucket.Reserve)
	want.Bound(p.until, p.most)
	a, err = b.answer(ctx, want)
	if err == nil && !a.OK {
		err = refusedBy(&a.State, &want, n)
	}
	return want, a, err
}

// refusedBy returns why a reservation of n tokens was refused: they come too late, or too much
// is owed.
func refusedBy(b *bucket.State, want *exchange.Ask, n int64) error {
	if b.Rule.Exceeds(n) {
		return exceedsBurst(n, b.Rule)
	}
	delay := b.Enough(n)
	why := exceeded(want, delay, want.Core.Engine.Mono())
	if why == nil {
		why = ErrExceedsDebt
	}
	return fmt.Errorf("%w: the tokens come in %v", why, delay)
}
