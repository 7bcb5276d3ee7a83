package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// compete tries until the lock is won: try, subscribe, try again, and then
// sleep until a message, the end of the holder's lease, or the cap.
func (c *contender) compete(ctx context.Context) (*Held, error) {
	listening := c.listenIfStanding(ctx)
	held, left, err := c.try(ctx)
	w := wait{contender: c, listening: listening}
	switch {
	case held != nil:
		return held, nil
	case err != nil && (c.busy || Moving(err)) && !c.atOnce(): // it waits already, behind a holder of this process, or the slot moves
		if err := w.bear(ctx, &w.outage, err); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case c.atOnce():
		return nil, ErrNotAcquired
	}
	return w.run(ctx, left)
}

// listenIfStanding joins the channel's subscription if the process has one, so
// that the first try already counts as the one behind the subscription.
func (c *contender) listenIfStanding(ctx context.Context) bool {
	if c.local.subscribed() {
		return true
	}
	if !c.e.hub.Subscribed(c.e.channel(c.p.Channel())) {
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, c.e.sendTimeout())
	defer cancel()
	return c.listen(bounded) == nil
}

func (l *local) subscribed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sub != nil
}

// listen subscribes to the releases. Only the head does, so that a process
// costs one waiter, however many of its goroutines wait.
func (c *contender) listen(ctx context.Context) error {
	l := c.local
	if l.poke == nil {
		l.poke = make(chan struct{}, 1)
	}
	l.courtesy.Listens()
	sub, err := c.e.hub.Subscribe(ctx, c.e.channel(c.p.Channel()), l.listener())
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.sub = sub
	l.mu.Unlock()
	return nil
}

// try asks the server once for the lock, after standing back for others. When
// ctx ends meanwhile, the answer gets a short grace; what is won then goes to
// the next local waiter or back. Only a silent server is not waited for: its
// answer is undone by an errand.
func (c *contender) try(ctx context.Context) (*Held, time.Duration, error) {
	if err := c.standBack(ctx); err != nil {
		return nil, 0, err
	}
	c.local.hush()
	owner := c.e.IDs.Private()
	lease, every := c.lease()
	tried, err, answered := c.await(ctx, owner, lease)
	switch {
	case !answered:
		c.e.giveBackLater(c.p, owner, lease)
		return nil, 0, err
	case err != nil:
		if mayHaveRun(err) {
			c.e.giveBackLater(c.p, owner, lease)
		}
		return nil, 0, err
	case !tried.Free:
		c.busy = true
		c.local.courtesy.Refused()
		if tried.Replayed { // the first send may find the lock free when it arrives
			c.e.giveBackLater(c.p, owner, lease)
		}
		return nil, tried.Left, c.over(ctx)
	}
	held := c.e.newHeld(c.p, c.local, owner, tried, lease, every)
	// Won after the caller had gone; one whose WithWait has just ended is still there.
	if err := c.over(ctx); err != nil && !errors.Is(err, errWaitOver) {
		c.discard(held)
		return nil, 0, err
	}
	return held, 0, nil
}

// lease is what this caller asks for, and how often it is renewed.
func (c *contender) lease() (lease, every time.Duration) {
	if c.ask.Lease > 0 {
		return c.ask.Lease, 0
	}
	return c.e.WatchdogTimeout, c.e.WatchdogTimeout / 3
}

// over is why the wait has ended, if it has.
func (c *contender) over(ctx context.Context) error {
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	return c.e.Open()
}

// standBack lets other processes go first, see handover.Courtesy.
func (c *contender) standBack(ctx context.Context) error {
	pause := c.local.courtesy.Pause()
	if pause == 0 {
		return nil
	}
	if err := c.sleep(ctx, pause, nil); err != nil {
		return err
	}
	c.local.courtesy.Paused()
	return nil
}

// sleep waits for d, a poke, or the end.
func (c *contender) sleep(ctx context.Context, d time.Duration, poke <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-poke:
	case <-ctx.Done():
	case <-c.e.closing:
	}
	return c.over(ctx)
}

// wait is a head that has been told to wait.
type wait struct {
	*contender
	listening bool
	outage    outage // of the server
	deaf      outage // of the subscription
}

// outage is how long something has failed, and how often.
type outage struct {
	since time.Duration
	times int
}

// lasts counts a failure, and reports how long they have gone on.
func (o *outage) lasts(now time.Duration) time.Duration {
	if o.times++; o.times == 1 {
		o.since = now
	}
	return now - o.since
}

// backoff doubles with each failure, up to a second.
func (o *outage) backoff() time.Duration {
	return jittered(min(50*time.Millisecond<<min(o.times, 10), time.Second))
}

func (w *wait) run(ctx context.Context, left time.Duration) (held *Held, err error) {
	w.observeWait(ctx)
	for {
		if w.listening {
			err = w.sleep(ctx, w.nap(left), w.local.poke)
		} else {
			err = w.subscribe(ctx)
		}
		if err != nil {
			return nil, err
		}
		held, left, err = w.try(ctx)
		if held != nil {
			return held, nil
		}
		if err == nil {
			w.outage = outage{}
		} else if err = w.bear(ctx, &w.outage, err); err != nil {
			return nil, err
		}
	}
}

// nap is how long to sleep for a holder whose lease has so much left.
func (w *wait) nap(left time.Duration) time.Duration {
	if left < 0 || left >= longestSleep {
		return jittered(longestSleep)
	}
	return left + time.Millisecond // the server expires at the next millisecond
}

// subscribe listens for releases. A subscription that does not come about for
// a passing reason is tried again at the next turn of the loop.
func (w *wait) subscribe(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, w.e.sendTimeout())
	defer cancel()
	err := w.listen(bounded)
	if err == nil {
		w.listening, w.deaf = true, outage{}
		return nil
	}
	if over := w.over(ctx); over != nil {
		return over
	}
	return w.bear(ctx, &w.deaf, fmt.Errorf("subscribing to %q: %w", w.p.Channel(), err))
}

// bear lets a wait outlast a server that is away for a moment: it has been
// there, and ctx says how long the caller is ready to wait. After a watchdog
// timeout it is the caller's business, but not while a slot moves, which takes
// as long as it takes.
func (w *wait) bear(ctx context.Context, o *outage, err error) error {
	if over := w.over(ctx); over != nil || !Passing(err) {
		return err
	}
	if o.lasts(w.e.Now().Mono) > w.e.WatchdogTimeout && !Moving(err) {
		return err
	}
	w.e.Logger.Debug("waiting for the server", "name", w.key.Name, "err", err)
	return w.sleep(ctx, o.backoff(), w.local.poke)
}

// await lets the acquire outlive its caller where the caller may go. Without
// that, it stays on this goroutine, and nothing of it on the heap.
func (c *contender) await(ctx context.Context, owner string, lease time.Duration) (Tried, error, bool) {
	if ctx.Done() == nil {
		tried, err := c.p.Acquire(ctx, owner, lease)
		return tried, err, true
	}
	return outliving(c.e, ctx, c.p, owner, lease)
}

func outliving(e *Engine, ctx context.Context, p Protocol, owner string, lease time.Duration) (Tried, error, bool) {
	return Await(e, ctx, grace, func() (Tried, error) { return p.Acquire(ctx, owner, lease) })
}
