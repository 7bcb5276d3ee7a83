package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Wait waits for one token and takes it, as [Bucket.WaitN] does, with its cost and errors.
func (b *Bucket) Wait(ctx context.Context) error { return b.WaitN(ctx, 1) }

// WaitN waits until n tokens are its own, and takes them. Waiters of all processes are served in
// the order in which the server heard of them: one call reserves the tokens, and the wait is one
// sleep without I/O.
//
// The wait ends with the tokens, with ctx, or when the client closes. It fails at once, and takes
// nothing, with [ErrExceedsDeadline] if the tokens come later than ctx's deadline. It also does so
// with [ErrExceedsWait] if they come later than [WithMaxWait] allows; without a deadline that is
// never more than 30 s or the time that the request itself needs. While the limiter is paused, it
// reads the rate again once a second, and fails in the same way if it would have to wait for
// longer.
//
// A waiter that leaves gives its place back: at once if there is no waiter after it, and else when
// the later waiters of this process have left, too. x/time/rate keeps the reservation of a waiter
// that leaves while others wait after it. So a crowd that waits and leaves blocks all requests for
// as long as it would have waited. The same is true here for places before waiters of other
// processes, because these keep their times.
//
// It never returns nil before its tokens are there, also if a clock is set: it sleeps for the time
// that the server returned, from when the answer came.
//
// Cost and errors: see [Bucket]; [ErrExceedsBurst]; [ErrExceedsDeadline];
// [ErrExceedsWait]; [ErrExceedsDebt] when more is reserved already than
// [WithMaxDebt] allows. Source: x/time/rate; RRateLimiter.acquire, which has no order.
func (b *Bucket) WaitN(ctx context.Context, n int64) error {
	return limits{b}.wait(ctx, n)
}

func (l limits) wait(ctx context.Context, n int64) error {
	return l.failed("wait", l[0].core.During(func() error { return l.waitN(ctx, []int64{n}) }))
}

func (l limits) waitN(ctx context.Context, n []int64) error {
	c := l[0].core
	if l[0].all == nil {
		if err := l[0].usable(ctx); err != nil {
			return err // the observer does not get it
		}
	}
	for began := c.Engine.Mono(); ; {
		var v verdict
		err := l.reserve(ctx, n, began, &v)
		l.reserved(ctx, n, &v, err)
		switch {
		case err == nil:
			l[0].all.aside(ctx, n)
			if err = c.SleepOut(ctx, &v.asked, &v.answer); err != nil {
				l[0].all.asideBack(ctx, n)
			}
			return err
		case err != errPaused:
			return err
		}
		if err := c.Sleep(ctx, askAgain); err != nil {
			return err
		}
	}
}

// errPaused says that nothing can be reserved now.
var errPaused = errors.New("the limiter is paused")

// noWait is when a reservation began to wait, which does not wait itself: its tokens may come at any time.
const noWait = -1

// reserve takes n tokens of each member that are there in time for a caller that has waited since began.
func (l limits) reserve(ctx context.Context, n []int64, began time.Duration, v *verdict) (err error) {
	if err = l.ask(ctx, n, bucket.Reserve, &v.asked); err != nil {
		return err
	}
	c, until, most := l[0].core, exchange.Forever, time.Duration(0)
	if began != noWait { // what it took to read the rules counts
		until, most = l.patience(ctx, c.Engine.Mono()-began, &v.asked)
	}
	if v.atOnce = v.asked.Paused(); v.atOnce { // the end of the pause is unknown
		switch {
		case until != exchange.Forever && until < c.Engine.Mono()+askAgain:
			return fmt.Errorf("%w: %w", ErrExceedsDeadline, errPaused)
		case most > 0 && most < askAgain:
			return fmt.Errorf("%w: %w", ErrExceedsWait, errPaused)
		}
		return errPaused
	}
	v.asked.Until, v.asked.Most = until, most
	v.answer, err = l.answer(ctx, &v.asked)
	if err == nil && !v.answer.OK {
		err = l.refused(v)
	}
	return err
}

// longestWait is the longest wait by default.
const longestWait = 30 * time.Second

// patience returns by when a wait has to be over, or [exchange.Forever], and how long it may be still, 0 for any: the
// shortest of the members' longest waits. Those that have none, and no deadline either, share one: what the request
// needs of them.
func (l limits) patience(ctx context.Context, waited time.Duration, q *exchange.Ask) (until, most time.Duration) {
	until, most = l[0].core.Until(ctx), exchange.Forever
	needed := time.Duration(0)
	for i, b := range l {
		switch {
		case b.maxWait > 0:
			most = min(most, max(1, b.maxWait-waited))
		case until == exchange.Forever:
			part := q.Of(i)
			needed = max(needed, longestWait, part.Rule.Needs(part.N))
		}
	}
	if needed > 0 {
		most = min(most, needed)
	}
	if most == exchange.Forever {
		most = 0
	}
	return until, most
}

// refused returns why a reservation was: the tokens come too late, or too much is owed. The member counts whose tokens
// come last.
func (l limits) refused(v *verdict) error {
	if err := l.exceeds(v); err != nil {
		return err
	}
	worst, latest := 0, time.Duration(-1)
	for i := range l {
		if delay := v.answer.Of(i).Enough(v.asked.Of(i).N); delay > latest {
			worst, latest = i, delay
		}
	}
	why, q := ErrExceedsDebt, &v.asked
	switch {
	case q.Until != exchange.Forever && latest >= q.Until-q.Core.Engine.Mono():
		why = ErrExceedsDeadline
	case q.Most > 0 && latest > q.Most:
		why = ErrExceedsWait
	}
	return l.about(worst, fmt.Errorf("%w: the tokens come in %v", why, latest))
}
