package ratelimiter

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Wait waits for one token of each member. See [Combined.WaitN].
func (a *Combined) Wait(ctx context.Context) error { return a.WaitN(ctx, 1) }

// WaitN waits until n tokens of each member are its own, and takes them. It is
// [Bucket.WaitN] for several limits: the longest of their waits counts. The
// other members' tokens are taken when it is asked, too, and count there as of
// when they would have been there, though they are used later. While a member is
// paused it fails with [ErrExceedsDeadline] or waits, as there.
//
// Cost: one round trip. Errors: as [Bucket.WaitN], and see [All].
func (a *Combined) WaitN(ctx context.Context, n int64) error {
	if a.bad != nil {
		return a.failed("wait", a.bad)
	}
	return a.failed("wait", a.members[0].core.During(func() error { return a.waitN(ctx, []int64{n}) }))
}

func (a *Combined) waitN(ctx context.Context, n []int64) error {
	c := a.members[0].core
	for began := c.Engine.Mono(); ; {
		q, err := a.ask(ctx, n, bucket.Reserve)
		if err != nil {
			a.reserved(ctx, n, nil, nil, err)
			return err
		}
		p := a.patienceOf(ctx, began, &q)
		if !q.Paused() {
			q.Bound(p.until, p.most)
			return a.reserveAndSleep(ctx, c, n, q)
		}
		if err := p.paused(c.Engine.Mono()); err != errPaused {
			d, _ := refusedAtOnce(&q)
			a.decided(ctx, n, d, 0)
			return err
		}
		if err := c.Sleep(ctx, askAgain); err != nil {
			return err
		}
	}
}

// patienceOf returns the shortest of the members' patiences. Those that have no longest
// wait, and no deadline either, share one: what the request needs of them.
func (a *Combined) patienceOf(ctx context.Context, began time.Duration, q *exchange.Ask) patience {
	least, needed := patience{until: exchange.Forever, most: -1}, time.Duration(0)
	for i, b := range a.members {
		p := b.patience(ctx, began)
		least.until = p.until // the context's
		if p.most == 0 {
			needed = max(needed, q.Of(i).Patience())
			continue
		}
		least.atMost(p.most)
	}
	if needed > 0 {
		least.atMost(needed)
	}
	return least
}

func (a *Combined) reserveAndSleep(ctx context.Context, c *exchange.Core, n []int64, q exchange.Ask) error {
	got, err := a.do(ctx, q)
	if err == nil && !got.OK {
		err = a.refused(&q, &got)
	}
	a.reserved(ctx, n, &q, &got, err)
	if err != nil {
		return err
	}
	a.aside(ctx, n)
	if err = c.SleepOut(ctx, &q, &got); err != nil {
		a.asideBack(ctx, n)
	}
	return err
}

// refused returns why the reservations were.
func (a *Combined) refused(q *exchange.Ask, got *exchange.Answer) error {
	if err := a.exceed(q, got); err != nil {
		return err
	}
	worst, latest := 0, time.Duration(-1)
	for i := range a.members {
		if delay := got.Of(i).Enough(q.Of(i).N); delay > latest {
			worst, latest = i, delay
		}
	}
	return fmt.Errorf("%v: %w", a.members[worst], refusedBy(got.Of(worst), q, q.Of(worst).N))
}
