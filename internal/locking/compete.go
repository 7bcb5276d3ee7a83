package locking

import (
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// compete tries until the lock is won. The first try is on its own, since most
// need no other.
func (c *waiter) compete(ctx context.Context) (*Held, error) {
	c.listenIfStanding(ctx)
	if c.ask.Shared {
		c.local.queue.Hope()
	}
	held, left, err := c.askOnce(ctx)
	if c.ask.Shared && held == nil && c.turn {
		c.local.queue.Refuse()
	}
	switch {
	case held != nil:
		c.local.word.Load().Answered()
		return held, nil
	case !c.turn: // it was won after the caller had gone, and the turn went with it
		return nil, err
	case c.atOnce() && err == nil:
		c.local.word.Load().Answered()
		return nil, core.ErrNotAcquired
	case c.atOnce():
		if send.Transient(err) && c.e.Over(ctx) == nil {
			c.local.outage().Failed(c.e.Sender, err)
		}
		return nil, err
	case c.gives:
		return nil, err
	}
	return c.wait(ctx, left, err)
}

// wait goes on behind a first try, as a Watch whose look is a try.
func (c *waiter) wait(ctx context.Context, left time.Duration, err error) (held *Held, _ error) {
	c.observeWait(ctx)
	waiting := *c // the look would put c on the heap, for those who need not wait as well
	err = c.e.WatchOn(ctx, wait.Watch{
		Key: c.key, By: &c.local.listener(c.p).Listener, Channels: c.channels(), Outage: c.local.outage(),
		Look: func(ctx context.Context) (left time.Duration, done bool, err error) {
			held, left, err = waiting.askOnce(ctx)
			return left, held != nil || waiting.gives, err
		},
	}, left, err)
	*c = waiting
	return held, err
}

func (c *waiter) channels() []pubsub.Channel {
	all := []pubsub.Channel{c.e.Channel(c.p.Channel())}
	if p, is := c.p.(Announcing); is {
		all = append(all, c.e.Channel(p.Announced()))
	}
	return all
}

// listenIfStanding listens if the process is subscribed already.
func (c *waiter) listenIfStanding(ctx context.Context) {
	if !c.local.ear.Load().listens() && c.e.Hub.Subscribed(c.e.Channel(c.p.Channel())) {
		c.e.ListenIfStanding(ctx, &c.local.listener(c.p).Listener, c.channels())
	}
}

// askOnce asks the server once for the lock, after standing back for others. It keeps the turn, but for a hold that
// is discarded, which takes it along. When
// ctx ends meanwhile, the answer gets a short grace; what is won then goes to
// the next local waiter or back. Only a silent server is not waited for: its
// answer is undone by a cleanup task.
func (c *waiter) askOnce(ctx context.Context) (*Held, time.Duration, error) {
	if err := c.standBack(ctx); err != nil {
		return nil, 0, err
	}
	c.local.ear.Load().hush() // what was heard while it stood back
	owner := c.e.IDs.Private()
	lease := c.leased()
	tried, err, answered := c.await(ctx, Try{Owner: owner, Lease: lease, Again: c.asked, Queue: !c.atOnce(), Thorough: c.thoroughly(), Block: c.block(), Sharers: c.sharers(), Stood: c.stood()})
	c.asked = true
	c.hinted(tried)
	switch {
	case !answered:
		c.e.GiveBackLater(c.p, owner, lease)
		return nil, 0, err
	case err != nil:
		if send.MayHaveRun(err) {
			c.e.GiveBackLater(c.p, owner, lease)
		}
		return nil, 0, err
	case !tried.Free:
		if tried.Hint > 0 && c.ask.Shared && c.stands == 0 {
			c.stands = tried.Started.Mono
		}
		c.yields()
		c.local.courtesy.Refused()
		if tried.Replayed { // the first send may find the lock free when it arrives
			c.e.GiveBackLater(c.p, owner, lease)
		}
		return nil, tried.Left, c.e.Over(ctx)
	}
	held := c.won(owner, tried, lease)
	// Won after the caller had gone; one whose WithWait has just ended is still there.
	if err := c.e.Over(ctx); err != nil && !errors.Is(err, core.ErrWaitOver) {
		c.discard(held)
		return nil, 0, err
	}
	return held, 0, nil
}

// won puts what was won in the watchdog's care. A shared hold is anybody's who
// waits for one next, whether or not the caller is still there; whoever asked
// for it asks no more.
func (c *waiter) won(owner string, tried Tried, lease time.Duration) *Held {
	held := c.e.newHeld(c.p, c.local, owner, tried, c.ask.terms(c.e, tried.Started, lease), c.ask.Shared)
	if held.shared {
		c.local.quietIfAlone()
		held.open()
	}
	return held
}

// leased returns what the server is asked for: shared holds have leases in steps.
func (c *waiter) leased() time.Duration {
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
func (c *waiter) thoroughly() bool {
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

// stood reports whether one who shares has stood back for long enough, for others
// that the server knows of or for one of its process: those who want the lock alone
// may wait for a hold whose holder this one keeps waiting. The log says so then.
func (c *waiter) stood() bool {
	if !c.ask.Shared || !c.lasted(c.stands) && !c.lasted(c.since) {
		return false
	}
	if c.walked == 0 || c.lasted(c.walked) {
		c.walked = c.e.Now().Mono
		c.e.suspect(c.e.holder(func(h *Held) bool { return h.local == c.local }))
	}
	return true
}

// lasted reports whether a watchdog timeout has passed since then; 0: it has not
// begun.
func (c *waiter) lasted(since time.Duration) bool {
	return since > 0 && c.e.Now().Mono-since >= c.e.WatchdogTimeout
}

// yields has one that wants the lock alone, and was refused, give way to those of its
// process who share it and have waited behind it for a watchdog timeout.
func (c *waiter) yields() {
	if c.ask.Shared {
		return
	}
	if since, some := c.local.queue.OldestSharer(); some && c.lasted(since) {
		c.gives = true
	}
}

// standBack lets other processes go first, see handover.Courtesy. Those who
// share stand in nobody's way.
func (c *waiter) standBack(ctx context.Context) error {
	if c.ask.Shared {
		return nil
	}
	pause := c.local.courtesy.Pause()
	if pause == 0 {
		return nil
	}
	if err := c.e.Sleep(ctx, pause, nil); err != nil {
		return err
	}
	c.local.courtesy.Paused()
	return nil
}

// await lets the acquire outlive its caller where the caller may go. Without
// that, it stays on this goroutine, and nothing of it on the heap.
func (c *waiter) await(ctx context.Context, a Try) (Tried, error, bool) {
	if ctx.Done() == nil {
		tried, err := c.p.Acquire(ctx, a)
		return tried, err, true
	}
	return acquireOutliving(c.e, ctx, c.p, a)
}
