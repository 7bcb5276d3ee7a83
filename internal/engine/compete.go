package engine

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// compete tries until the lock is won. The first try is on its own, since most
// need no other.
func (c *contender) compete(ctx context.Context) (*Held, error) {
	c.listenIfStanding(ctx)
	if c.ask.Shared {
		c.local.queue.Hope()
	}
	held, left, err := c.try(ctx)
	if c.ask.Shared && held == nil && c.turn {
		c.local.queue.Refuse()
	}
	switch {
	case held != nil:
		return held, nil
	case !c.turn: // it was won after the caller had gone, and the turn went with it
		return nil, err
	case c.atOnce() && err == nil:
		return nil, ErrNotAcquired
	case c.atOnce(), c.gives:
		return nil, err
	}
	return c.wait(ctx, left, err)
}

// wait goes on behind a first try, as a Watch whose look is a try.
func (c *contender) wait(ctx context.Context, left time.Duration, err error) (held *Held, _ error) {
	c.observeWait(ctx)
	waiting := *c // the look would put c on the heap, for those who need not wait as well
	w := watch{e: c.e, ear: c.local.listener(), Watch: Watch{
		Key: c.key, Channels: c.channels(),
		Look: func(ctx context.Context) (left time.Duration, done bool, err error) {
			held, left, err = waiting.try(ctx)
			return left, held != nil || waiting.gives, err
		},
	}}
	err = w.after(ctx, left, err)
	*c = waiting
	return held, err
}

func (c *contender) channels() []pubsub.Channel {
	return []pubsub.Channel{c.e.channel(c.p.Channel())}
}

// listenIfStanding listens if the process is subscribed already.
func (c *contender) listenIfStanding(ctx context.Context) {
	if !c.local.ear.Load().listens() && c.e.hub.Subscribed(c.e.channel(c.p.Channel())) {
		c.e.listenIfStanding(ctx, c.local.listener(), c.channels())
	}
}

// try asks the server once for the lock, after standing back for others. When
// ctx ends meanwhile, the answer gets a short grace; what is won then goes to
// the next local waiter or back. Only a silent server is not waited for: its
// answer is undone by an errand.
func (c *contender) try(ctx context.Context) (*Held, time.Duration, error) {
	if err := c.standBack(ctx); err != nil {
		return nil, 0, err
	}
	c.local.ear.Load().hush() // what was heard while it stood back
	owner := c.e.IDs.Private()
	lease := c.leased()
	tried, err, answered := c.await(ctx, Try{Owner: owner, Lease: lease, Again: c.asked, Queue: !c.atOnce(), Thorough: c.thoroughly(), Block: c.block(), Sharers: c.sharers()})
	c.asked = true
	c.hinted(tried)
	switch {
	case !answered:
		c.e.GiveBackLater(c.p, owner, lease)
		return nil, 0, err
	case err != nil:
		if mayHaveRun(err) {
			c.e.GiveBackLater(c.p, owner, lease)
		}
		return nil, 0, err
	case !tried.Free:
		c.busy = true
		c.local.courtesy.Refused()
		if tried.Replayed { // the first send may find the lock free when it arrives
			c.e.GiveBackLater(c.p, owner, lease)
		}
		return nil, tried.Left, c.e.over(ctx)
	}
	held := c.won(owner, tried, lease)
	// Won after the caller had gone; one whose WithWait has just ended is still there.
	if err := c.e.over(ctx); err != nil && !errors.Is(err, errWaitOver) {
		c.discard(held)
		return nil, 0, err
	}
	return held, 0, nil
}

// won puts what was won in the watchdog's care. A shared hold is anybody's who
// waits for one next, whether or not the caller is still there; whoever asked
// for it asks no more.
func (c *contender) won(owner string, tried Tried, lease time.Duration) *Held {
	held := c.e.newHeld(c.p, c.local, owner, tried, c.ask.terms(c.e, tried.Started, lease), c.ask.Shared)
	if held.shared {
		c.local.quietIfAlone()
		held.open()
	}
	return held
}

// leased is what the server is asked for: shared holds have leases in steps.
func (c *contender) leased() time.Duration {
	switch {
	case c.ask.Lease == 0:
		return c.e.WatchdogTimeout
	case c.ask.Shared:
		return min(c.ask.Lease, c.e.WatchdogTimeout)
	}
	return c.ask.Lease
}

// thoroughEvery is how often a wait asks for what takes the server more.
const thoroughEvery = time.Second

// thoroughly reports whether it is time for that. The first try of a wait never
// is one.
func (c *contender) thoroughly() bool {
	now := c.e.Now().Mono
	if !c.asked {
		c.thorough = now
	}
	if now-c.thorough < thoroughEvery {
		return false
	}
	c.thorough = now
	return true
}

// standBack lets other processes go first, see handover.Courtesy. Those who
// share stand in nobody's way.
func (c *contender) standBack(ctx context.Context) error {
	if c.ask.Shared {
		return nil
	}
	pause := c.local.courtesy.Pause()
	if pause == 0 {
		return nil
	}
	if err := c.e.sleep(ctx, pause, nil); err != nil {
		return err
	}
	c.local.courtesy.Paused()
	return nil
}

// await lets the acquire outlive its caller where the caller may go. Without
// that, it stays on this goroutine, and nothing of it on the heap.
func (c *contender) await(ctx context.Context, a Try) (Tried, error, bool) {
	if ctx.Done() == nil {
		tried, err := c.p.Acquire(ctx, a)
		return tried, err, true
	}
	return acquireOutliving(c.e, ctx, c.p, a)
}
