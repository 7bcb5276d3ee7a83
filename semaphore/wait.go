package semaphore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// errWaitOver is the cause of a wait that WithWait ended.
var errWaitOver = errors.New("the wait is over")

// contender is one goroutine that waits for permits.
type contender struct {
	h  *hub
	of *names
	p  *place
	n  int64
	w  *handover.Waiter[struct{}]

	handed bool // they came from another goroutine of this process

	told
}

// acquire waits for n permits. Close waits for it, and for what it may leave
// behind.
func (h *hub) acquire(ctx context.Context, of *names, n int64) (err error) {
	if !h.e.During(func() { err = h.waitFor(ctx, of, n) }) {
		return ErrClosed
	}
	return err
}

func (h *hub) waitFor(ctx context.Context, of *names, n int64) error {
	h.waiting.Add(1)
	defer h.waiting.Add(-1)
	c := h.contender(of, n)
	defer c.done()
	err := c.contend(ctx)
	if err == nil {
		err = h.keepUnlessClosed(of, n)
	}
	c.observe(ctx, h.e, label, of.key, c.handed, 1, err)
	return ended(err, c.p.end)
}

// keepUnlessClosed takes n permits that were granted. A client that closes gives them back
// itself: their holder may come too late to do so.
func (h *hub) keepUnlessClosed(of *names, n int64) error {
	err := h.e.Open()
	if err != nil {
		h.giveBack(of, n)
	}
	return err
}

// contender returns one that nobody uses.
func (h *hub) contender(of *names, n int64) *contender {
	c, _ := h.contenders.Get().(*contender)
	if c == nil {
		c = &contender{w: handover.NewWaiter[struct{}](true)}
	}
	*c = contender{h: h, of: of, p: h.places.Get(of.key), n: n, w: c.w}
	c.w.Size = n
	return c
}

// done lets another use c, which is in no queue any more. While somebody asks for a
// crowd, it may be on that list.
func (c *contender) done() {
	listed := c.p.asking.Load()
	c.h.places.Put(c.of.key, c.p)
	if !listed {
		c.p, c.of = nil, nil
		c.h.contenders.Put(c)
	}
}

func (c *contender) contend(ctx context.Context) error {
	if c.p.enter(c.w) {
		return c.p.lead(ctx, c, false)
	}
	c.waiting(ctx)
	return c.p.await(ctx, c.w, c)
}

// vie looks until there are permits.
func (c *contender) vie(ctx context.Context, heir bool) error {
	return watch(ctx, c.h.e, wait.Watch{
		Key:      core.Key{Kind: label, Name: c.of.key},
		Channels: []pubsub.Channel{c.h.e.Channel(c.of.channel)},
		Look:     c.look, By: c.p.listener(),
	}, heir, c.p.rest)
}

func (c *contender) pass() (got struct{}, served bool) { return got, c.p.pass() }

func (c *contender) accept(_ struct{}, handed bool) { c.handed = c.handed || handed }

func (c *contender) decline(struct{}) { c.giveOn(c.n) }

func (c *contender) waiting(ctx context.Context) { c.observeWait(ctx, c.h.e, label, c.of.key) }

// watch waits as the head. An heir sleeps before its first look for as long as rest
// says.
func watch(ctx context.Context, e *locking.Engine, w wait.Watch, heir bool, rest func() time.Duration) error {
	if heir {
		if left := rest(); left > 0 {
			return e.WatchOn(ctx, w, left, nil)
		}
	}
	return e.Watch(ctx, w)
}

// longest returns how long a waiter sleeps at most.
func longest(e *locking.Engine) time.Duration { return cmp.Or(e.LongestSleep, 5*time.Second) }

// giveOn gives permits on that came to who had gone: to the next who waits, or
// to the server.
func (c *contender) giveOn(n int64) {
	if !c.p.handOn(n) {
		c.h.giveBack(c.of, n)
	}
}

// look asks the server once, after standing back for others.
func (c *contender) look(ctx context.Context) (left time.Duration, done bool, err error) {
	if c.p.served() {
		c.handed = true
		return 0, true, nil
	}
	if err := standBack(ctx, c.h.e, &c.p.courtesy); err != nil {
		return -1, false, err
	}
	heard := c.p.listener().Listens()
	runs, behind := c.p.crowd()
	defer c.p.asking.Store(false)
	got, err := c.h.table.Do(ctx, c.of.key, ask{of: c.of, kind: waitTake, queue: runs})
	if err == nil {
		err = got.err
	}
	if err = c.p.heard(ctx, err); err != nil {
		return -1, false, err
	}
	if got.err == nil {
		for _, n := range c.p.deal(got.n, behind, heard) {
			c.giveOn(n)
		}
	}
	if done = c.p.served(); !done {
		c.waiting(ctx)
	}
	return -1, done, nil
}

// standBack lets other processes go first, see handover.Courtesy.
func standBack(ctx context.Context, e *locking.Engine, courtesy *handover.Courtesy) error {
	pause := courtesy.Pause()
	if pause == 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return core.ContextError(ctx)
	case <-e.Closing():
		return ErrClosed
	}
	courtesy.Paused()
	return nil
}

// label is what the observer calls a semaphore.
const label = "semaphore"
