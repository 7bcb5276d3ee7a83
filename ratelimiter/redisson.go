package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
)

// Redisson is a handle on a rate limiter that Java programs share, as their
// RRateLimiter of that name: a log of what was granted, of which no more than
// the permits of its rate fall into any one interval. Any number of handles on
// one name are the same limiter, and any number of goroutines may use one.
//
// A [Limiter] is the better choice where no Java takes part. It takes the
// memory of two numbers, and this one that of each grant within the interval;
// and this one's promise hangs on clocks that are not the server's, as Java
// writes down its own time: where a machine with Java is ahead by some time, it
// takes by that much too early, and what it took comes back as much too late.
// Go writes down the server's time.
//
// Unless a method says otherwise: ctx bounds the round trip. It costs one.
// Wire, and the keys of all: hash name with rate, interval, type and
// keepAliveTime; string {name}:value, the permits that are left; zset
// {name}:permits, the log: 21 bytes for each grant, scored with its time. Both
// have the client's id behind them, :<uuid>, where each client has the whole
// rate; Redisson leaves these to themselves when a client ends, and Go gives
// its own an end, an interval after their last use.
//
// Errors of all: [ErrNoRate]; [ErrOtherAlgorithm], for a name that belongs to
// a [Limiter] or to no limiter; [ErrOption]; [ErrUnknown], if the reply was
// lost and the request is not one that can be sent again; ctx's error and
// cause; [ErrClosed]; Redis' and the network's.
type Redisson struct {
	e    *engine.Engine
	name string // as the caller wrote it
	log  *slidingLog
	bad  error // what every operation returns, if the name cannot be used
}

// NewRedisson returns a handle. Programs outside of this module call
// rueidisson.Client.RedissonRateLimiter.
func NewRedisson(e *engine.Engine, name string) *Redisson {
	mapped := e.Map(name)
	l := &Redisson{e: e, name: name, log: newSlidingLog(e, mapped)}
	switch {
	case mapped == "":
		l.bad = fmt.Errorf("%w: empty name", ErrOption)
	case e.Cluster():
		if err := keys.OnCluster(mapped); err != nil {
			l.bad = fmt.Errorf("%w: name %q cannot be used on a cluster: %w", ErrOption, mapped, err)
		}
	}
	return l
}

// Name is the name that the handle was made with, before any mapping.
func (l *Redisson) Name() string { return l.name }

// TrySetRate sets the rate if there is none, and reports whether it did. It is
// sent once.
//
// Wire: HSET name, PEXPIRE = keep-alive in ms. Errors: see [Redisson]; not
// ErrNoRate. Source: RRateLimiter.trySetRate.
func (l *Redisson) TrySetRate(ctx context.Context, r RedissonRate) (bool, error) {
	set, err := once(ctx, l, r.check(), func() (bool, error) { return l.log.create(ctx, r) })
	return set, l.failed("try set rate", err)
}

// SetRate sets the rate, whatever there is, and forgets what was taken, unless
// [WithKeepState] is given. With a rate for each client that concerns this
// client's own permits: what others have taken stays taken. Other clients of
// this library take the new rate from their next request on; Java keeps its
// count, and grows into the new rate as its log runs empty. It is sent once.
//
// Wire: HSET name; PEXPIRE = keep-alive in ms, or PERSIST without one; DEL of
// the other keys, or else {name}:value counted anew. Errors: see [Redisson];
// not ErrNoRate. Source: RRateLimiter.setRate.
func (l *Redisson) SetRate(ctx context.Context, r RedissonRate, opts ...RedissonSetOption) error {
	_, err := l.set(ctx, r, opts, false)
	return l.failed("set rate", err)
}

// UpdateRate is [Redisson.SetRate] where there is a rate already. It reports
// whether there was one, and changes nothing otherwise.
// Source: RRateLimiter.updateRate.
func (l *Redisson) UpdateRate(ctx context.Context, r RedissonRate, opts ...RedissonSetOption) (bool, error) {
	set, err := l.set(ctx, r, opts, true)
	return set, l.failed("update rate", err)
}

func (l *Redisson) set(ctx context.Context, r RedissonRate, opts []RedissonSetOption, existing bool) (bool, error) {
	resolved, err := resolveRedissonSet(opts)
	if err == nil {
		err = r.check()
	}
	return once(ctx, l, err, func() (bool, error) { return l.log.set(ctx, r, resolved.keep, existing) })
}

// Rate is the rate that is set now, whoever set it.
// Errors: see [Redisson]. Source: RRateLimiter.getConfig.
func (l *Redisson) Rate(ctx context.Context) (RedissonRate, error) {
	r, err := query(ctx, l, func() (RedissonRate, error) { return l.log.read(ctx) })
	return r, l.failed("rate", err)
}

// Delete forgets the rate and what was taken, and reports whether there was
// anything. The counts of other clients stay, where each has one. It is sent
// once.
//
// Errors: see [Redisson]; not ErrNoRate. Source: RRateLimiter.delete.
func (l *Redisson) Delete(ctx context.Context) (bool, error) {
	deleted, err := once(ctx, l, nil, func() (bool, error) { return l.log.delete(ctx) })
	return deleted, l.failed("delete", err)
}

// Allow reports whether a permit is there now, and takes it. See
// [Redisson.Take].
func (l *Redisson) Allow(ctx context.Context) (bool, error) { return l.AllowN(ctx, 1) }

// AllowN reports whether n permits are there now, and takes them if all are.
// See [Redisson.Take].
func (l *Redisson) AllowN(ctx context.Context, n int64) (bool, error) {
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
// Cost: one round trip; the server's work grows with the grants that have
// expired since the last request, and, if it refuses, with n. Wire: ZADD
// {name}:permits, SET {name}:value, and the keep-alive's PEXPIRE of all keys.
// Errors: see [Redisson]; [ErrExceedsBurst] if n is more than the rate's
// permits; [ErrOption] if it is above 2^32-1. Source: RRateLimiter.tryAcquire.
func (l *Redisson) Take(ctx context.Context, n int64) (Decision, error) {
	d, err := l.take(ctx, n)
	l.decided(ctx, n, d, err)
	return d, l.failed("take", err)
}

func (l *Redisson) take(ctx context.Context, n int64) (Decision, error) {
	if err := l.ready(ctx, checkPermits(n)); err != nil {
		return Decision{}, err
	}
	var (
		entry = newEntry(n)
		d     Decision
		err   error
		first atomic.Bool // is for the one of two who comes first: the answer, or the caller who leaves
	)
	_, left, answered := engine.Await(l.e, ctx, 0, func() (struct{}, error) {
		d, err = l.log.take(ctx, n, entry)
		if !first.CompareAndSwap(false, true) && (d.Allowed || errors.Is(err, ErrUnknown)) {
			_ = l.log.undo(context.WithoutCancel(ctx), n, entry) // what this cannot give back expires
		}
		return struct{}{}, nil
	})
	if left != nil && (answered || first.CompareAndSwap(false, true)) {
		return Decision{}, left
	}
	return d, err
}

// decided tells the client's observer. Each request is a call of its own.
func (l *Redisson) decided(ctx context.Context, n int64, d Decision, err error) {
	if l.e.Decisions == nil {
		return
	}
	told := engine.Decision{Limiter: l.e.Map(l.name), Tokens: n, Allowed: d.Allowed, Together: 1}
	if err != nil && !errors.Is(err, ErrExceedsDeadline) {
		told.Together, told.Err = 0, err
	}
	l.e.Decided(ctx, told)
}

// Peek looks without taking anything: the decision that a request of one
// permit would get. Errors: see [Redisson].
func (l *Redisson) Peek(ctx context.Context) (Decision, error) {
	d, err := l.peek(ctx)
	return d, l.failed("peek", err)
}

// Available is how many permits are there now.
// Errors: see [Redisson]. Source: RRateLimiter.availablePermits.
func (l *Redisson) Available(ctx context.Context) (int64, error) {
	d, err := l.peek(ctx)
	return d.Remaining, l.failed("available", err)
}

func (l *Redisson) peek(ctx context.Context) (Decision, error) {
	return query(ctx, l, func() (Decision, error) { return l.log.take(ctx, 1, look) })
}

// Wait waits for one permit and takes it. See [Redisson.WaitN].
func (l *Redisson) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// longestNap is how long a wait sleeps at most before it asks again: permits
// that are released and rates that are set are not announced.
const longestNap = 5 * time.Second

// WaitN waits until n permits are there and takes them. There is no order
// among those who wait, in this process or others, so that who waits for many
// permits may wait for long beside others who want few. It sleeps until the
// permits come, but not longer than 5 s at a time.
//
// The wait ends with the permits; with ctx, and then nothing was taken; at
// once, and without taking anything, by [ErrExceedsDeadline] if ctx's deadline
// comes before the permits; or when the client closes.
//
// Cost: a round trip for each try. Wire and errors: as [Redisson.Take], and
// ErrExceedsDeadline. Source: RRateLimiter.acquire.
func (l *Redisson) WaitN(ctx context.Context, n int64) error {
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
func (l *Redisson) nap(ctx context.Context, delay time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < delay {
		return fmt.Errorf("%w: the permits come in %v", ErrExceedsDeadline, delay)
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
		return engine.ContextError(ctx)
	case <-l.e.Closing():
		return ErrClosed
	}
}

// Release gives n permits back that were taken within the last interval and
// not used. More than was granted within it does not come back. Who waits
// learns of it within 5 s. It is sent once.
//
// Wire: SET {name}:value; what is given back leaves {name}:permits, the oldest
// first. Redisson leaves it there, so that what Java releases comes back once
// more when it expires. Errors: see [Redisson]. Source: RRateLimiter.release.
func (l *Redisson) Release(ctx context.Context, n int64) error {
	_, err := once(ctx, l, checkRelease(n), func() (int64, error) { return l.log.release(ctx, n) })
	return l.failed("release", err)
}

func checkPermits(n int64) error {
	if n < 1 || n > maxPermits {
		return fmt.Errorf("%w: %d permits: from 1 to %d", ErrOption, n, maxPermits)
	}
	return nil
}

func checkRelease(n int64) error {
	if n < 1 || n >= exact {
		return fmt.Errorf("%w: %d permits: from 1 to 2^53-1", ErrOption, n)
	}
	return nil
}

// query is a call that changes nothing: ctx bounds the round trip.
func query[T any](ctx context.Context, l *Redisson, call func() (T, error)) (result T, err error) {
	if err := l.ready(ctx, nil); err != nil {
		return result, err
	}
	result, err, _ = engine.Await(l.e, ctx, 0, call)
	return result, err
}

// once is a call that changes something and is not known by an entry, so that
// a caller who left does not know whether it was done. bad is what is wrong
// with its arguments.
func once[T any](ctx context.Context, l *Redisson, bad error, call func() (T, error)) (result T, err error) {
	if err := l.ready(ctx, bad); err != nil {
		return result, err
	}
	result, err, answered := engine.Await(l.e, ctx, 0, call)
	if !answered {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return result, err
}

// ready checks what every operation checks first.
func (l *Redisson) ready(ctx context.Context, bad error) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("%w: nil context", ErrOption)
	case l.bad != nil:
		return l.bad
	case bad != nil:
		return bad
	case ctx.Err() != nil:
		return engine.ContextError(ctx)
	}
	return l.e.Open()
}

// failed names the operation and the limiter.
func (l *Redisson) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrUnknown) && l.e.Open() != nil {
		err = fmt.Errorf("%w: %w", ErrClosed, err) // Close has cut it short
	}
	return fmt.Errorf("rate limiter %q: %s: %w", l.name, op, err)
}
