package redissonlimiter

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Allow reports whether a permit is there now, and takes it. It never waits for permits.
//
// Cost and errors: as [Limiter.Take].
func (l *Limiter) Allow(ctx context.Context) (bool, error) { return l.AllowN(ctx, 1) }

// AllowN reports whether n permits are there now, and takes them if all are. It never waits for
// permits.
//
// Cost and errors: as [Limiter.Take].
func (l *Limiter) AllowN(ctx context.Context, n int64) (bool, error) {
	d, err := l.take(ctx, n)
	l.decided(ctx, n, d, err)
	return d.Allowed, l.failed("allow", err)
}

// Take takes n permits if all are there now, and nothing otherwise. It never
// waits for permits. The decision's RetryAfter is exact also for several
// permits, where Redisson names the time of the next one; its ResetAfter is
// when the newest grant leaves the log.
//
// A caller that leaves, since ctx ends, takes nothing: what is granted to it
// then is given back, or, if the server cannot be reached, is back an interval
// later. A lost reply does no harm either: the request is sent again, and is
// known by its entry in the log.
//
// Cost: one round trip; the server's work grows with the grants that have expired since the last request, and, if it
// refuses, with n. Errors: see [Limiter]; [ratelimiter.ErrExceedsBurst] if n is more than the rate's permits;
// [ratelimiter.ErrInvalidArgument] if it is above 2^32-1. Source: RRateLimiter.tryAcquire.
func (l *Limiter) Take(ctx context.Context, n int64) (ratelimiter.Decision, error) {
	d, err := l.take(ctx, n)
	l.decided(ctx, n, d, err)
	return d, l.failed("take", err)
}

func (l *Limiter) take(ctx context.Context, n int64) (ratelimiter.Decision, error) {
	var bad error
	if n < 1 || n > maxPermits {
		bad = fmt.Errorf("%w: %d permits: from 1 to %d", ratelimiter.ErrInvalidArgument, n, maxPermits)
	}
	if err := l.ready(ctx, bad); err != nil {
		return ratelimiter.Decision{}, err
	}
	var (
		entry = newEntry(n)
		d     ratelimiter.Decision
		err   error
		first atomic.Bool // is for the one of two who comes first: the answer, or the caller who leaves
	)
	_, left, answered := send.Await(l.e.Sender, ctx, 0, func() (struct{}, error) {
		d, err = l.log.take(ctx, n, entry)
		if !first.CompareAndSwap(false, true) && (d.Allowed || errors.Is(err, ratelimiter.ErrOutcomeUnknown)) {
			_ = l.log.undo(context.WithoutCancel(ctx), n, entry) // what this cannot give back expires
		}
		return struct{}{}, nil
	})
	if left != nil && (answered || first.CompareAndSwap(false, true)) {
		return ratelimiter.Decision{}, left
	}
	return d, err
}

// decided tells the client's observer. Each request is a call of its own.
func (l *Limiter) decided(ctx context.Context, n int64, d ratelimiter.Decision, err error) {
	if l.e.Decisions == nil {
		return
	}
	told := core.Decision{Limiter: l.e.Map(l.name), Tokens: n, Allowed: d.Allowed, Together: 1}
	if err != nil && !errors.Is(err, ratelimiter.ErrExceedsDeadline) {
		told.Together, told.Err = 0, err
	}
	l.e.Decided(ctx, told)
}

// Peek returns the decision that a request of one permit would get. It takes nothing.
//
// Cost and errors: see [Limiter].
func (l *Limiter) Peek(ctx context.Context) (ratelimiter.Decision, error) {
	d, err := l.peek(ctx)
	return d, l.failed("peek", err)
}

// Available returns how many permits are there now.
//
// Cost and errors: see [Limiter].
// Source: RRateLimiter.availablePermits.
func (l *Limiter) Available(ctx context.Context) (int64, error) {
	d, err := l.peek(ctx)
	return d.Remaining, l.failed("available", err)
}

func (l *Limiter) peek(ctx context.Context) (ratelimiter.Decision, error) {
	return query(ctx, l, func() (ratelimiter.Decision, error) { return l.log.take(ctx, 1, look) })
}

// Release releases n permits that were taken within the last interval and not used. It releases no
// more than were granted within that interval. Waiters learn of it within 5 s. It is sent once.
//
// What is given back leaves the log, the oldest first. Redisson leaves it there, so that what Java
// releases comes back once more when it expires.
// Cost and errors: see [Limiter]. Source: RRateLimiter.release.
func (l *Limiter) Release(ctx context.Context, n int64) error {
	var bad error
	if n < 1 || n >= exact {
		bad = fmt.Errorf("%w: %d permits: from 1 to 2^53-1", ratelimiter.ErrInvalidArgument, n)
	}
	_, err := once(ctx, l, bad, func() (int64, error) { return l.log.release(ctx, n) })
	return l.failed("release", err)
}
