package multilock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/lock"
)

// campaign is one call that wants a red lock: bids, and the waits between them.
type campaign struct {
	*RedLock
	ask   engine.Ask
	seat  engine.Seat
	until time.Time // the end of WithWait

	patience time.Duration // how long a bid waits for members that are just being released
	failed   time.Time     // since when there are too few members that answer; zero: there are enough
	failures int
}

func newCampaign(r *RedLock, ask engine.Ask, seat engine.Seat) *campaign {
	c := &campaign{RedLock: r, ask: ask, seat: seat}
	if ask.Wait > 0 {
		c.until = time.Now().Add(ask.Wait)
	}
	return c
}

func (c *campaign) run(ctx context.Context) (engine.Holding, error) {
	for mine := (*answer)(nil); ; {
		if err := usable(ctx, c.all); err != nil {
			c.handBack(ctx, mine)
			return nil, err
		}
		b := c.bid(ctx, mine)
		b.tell()
		if b.won() {
			return b.held, nil
		}
		b.lose(ctx)
		if ctx.Err() != nil {
			return nil, engine.ContextError(ctx)
		}
		if !c.waits() || b.hopeless() {
			return nil, b.why()
		}
		var err error
		if mine, err = c.next(ctx, b); err != nil {
			return nil, err
		}
	}
}

// handBack gives back the member that was waited for.
func (c *campaign) handBack(ctx context.Context, mine *answer) {
	if mine != nil {
		_ = mine.hold.Unlock(ctx) // what fails is said again by its client
	}
}

func (c *campaign) waits() bool {
	return !c.ask.Try || time.Now().Before(c.until)
}

// one asks one member, for so long.
func (c *campaign) one(ctx context.Context, i int, wait time.Duration) (*lock.Hold, error) {
	ctx = context.WithoutCancel(ctx)
	hold, err := c.all[i].guarded(ctx, c.mustBeUp(c.ask), func(ctx context.Context) (*lock.Hold, error) {
		return c.all[i].TryLock(ctx, c.options(wait)...)
	})
	switch {
	case err == nil:
		return hold, nil
	case wait > 0 && errors.Is(err, context.DeadlineExceeded):
		return c.one(ctx, i, 0) // it had no time to say whether the member is held
	}
	return nil, c.voices[i].refused(ctx, c.all[i], err)
}

func (c *campaign) options(wait time.Duration) (all []lock.TryOption) {
	if c.ask.Lease > 0 {
		all = append(all, lock.WithLease(c.ask.Lease))
	}
	if wait > 0 {
		all = append(all, lock.WithWait(wait))
	}
	return all
}

// A wait for one member ends after a while, jittered, for the case that the
// others are free by then.
const (
	firstWait = 500 * time.Millisecond
	mostWait  = 5 * time.Second
)

// next waits until another bid is worth it. It returns the member that it has
// waited for, if it has got it.
func (c *campaign) next(ctx context.Context, b *bid) (*answer, error) {
	if !b.busy() {
		return nil, c.bear(ctx, b)
	}
	c.failed, c.failures = time.Time{}, 0
	c.patience = min(max(3*b.slowest, 2*time.Millisecond), c.limit)
	if len(b.parts) > 0 { // another has the others: both begin anew, not at once
		if err := c.sleep(ctx, rand.N(3*b.slowest+1)); err != nil {
			return nil, err
		}
	}
	for i, err := range b.errs {
		var restarted *RestartedError
		if errors.Is(err, ErrNotAcquired) && !errors.As(err, &restarted) {
			return c.await(ctx, i, b)
		}
	}
	return nil, c.sleep(ctx, b.untilCounted())
}

// await waits for the first member that refused. All who want the lock wait for
// that one, and come one after the other.
func (c *campaign) await(ctx context.Context, i int, b *bid) (*answer, error) {
	c.failures++
	wait := jittered(min(firstWait<<min(c.failures, 5), mostWait))
	if !c.until.IsZero() {
		wait = min(wait, time.Until(c.until))
	}
	if wait <= 0 {
		return nil, b.why()
	}
	open, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wakeAtClose(open, c.all, cancel)
	hold, err := c.all[i].guarded(open, c.mustBeUp(c.ask), func(ctx context.Context) (*lock.Hold, error) {
		return c.all[i].TryLock(ctx, c.options(wait)...)
	})
	switch {
	case err == nil:
		return &answer{i, hold, nil}, nil
	case ctx.Err() != nil:
		return nil, engine.ContextError(ctx)
	}
	return nil, nil // the next bid finds out what it is
}

// bear goes on for a watchdog timeout with too few members that answer.
func (c *campaign) bear(ctx context.Context, b *bid) error {
	var longest time.Duration
	for _, m := range c.all {
		longest = max(longest, m.e.WatchdogTimeout)
	}
	if c.failed.IsZero() {
		c.failed = time.Now()
	}
	if time.Since(c.failed) > longest {
		return b.why()
	}
	c.failures++
	return c.sleep(ctx, jittered(min(50*time.Millisecond<<min(c.failures, 5), time.Second)))
}

// sleep ends with ctx, and for those who look again.
func (c *campaign) sleep(ctx context.Context, d time.Duration) error {
	if !c.until.IsZero() {
		d = min(d, time.Until(c.until))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return engine.ContextError(ctx)
	case <-c.all[0].e.Closing():
	}
	return nil
}

// untilCounted is how long until another server counts.
func (b *bid) untilCounted() time.Duration {
	wait := time.Second
	for _, err := range b.errs {
		var restarted *RestartedError
		if errors.As(err, &restarted) {
			wait = min(wait, max(time.Until(restarted.Counts), time.Millisecond))
		}
	}
	return wait
}

// tell tells the log of servers that restarted, once for each restart.
func (b *bid) tell() {
	for i, err := range b.errs {
		var restarted *RestartedError
		if !errors.As(err, &restarted) {
			continue
		}
		when := restarted.Restarted.Unix()
		if told := b.voices[i].told.Swap(when); when-told > 5 { // the uptime is in whole seconds
			b.all[i].e.Logger.Warn("a server that restarted does not count yet", "name", restarted.Member,
				"server", restarted.Server, "restarted", restarted.Restarted, "counts", restarted.Counts)
		}
	}
}

// jittered is d, up to a tenth less.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/10+1) }
