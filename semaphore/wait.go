package semaphore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/pubsub"
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

	waits bool          // the observer was told that it waits
	began time.Duration // since when
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
		err = h.kept(of, n)
	}
	c.observe(ctx, err)
	return ended(err, c.p.end)
}

// kept takes n permits that were granted. A client that closes gives them back
// itself: their holder may come too late to do so.
func (h *hub) kept(of *names, n int64) error {
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
		return c.asHead(ctx, false)
	}
	c.observeWait(ctx)
	select {
	case turn := <-c.w.Turn():
		return c.take(ctx, turn)
	case <-ctx.Done():
	}
	turn, came := c.p.leave(c.w)
	switch {
	case !came, turn.Refused:
	case !turn.Handed:
		c.passTurn()
	case stillThere(ctx):
		c.handed = true
		return nil
	default:
		c.giveOn(c.n)
	}
	return engine.ContextError(ctx)
}

// take accepts a turn: permits, or the role of head; or that the client closes.
func (c *contender) take(ctx context.Context, turn handover.Turn[struct{}]) error {
	switch {
	case turn.Refused:
		return c.p.refusal()
	case turn.Handed:
		c.handed = true
		return nil
	}
	return c.asHead(ctx, true)
}

// stillThere reports whether the caller takes what came in the moment in which
// its wait ended: one whose WithWait has just ended does, and one that lost its turn.
func stillThere(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errWaitOver) || errors.Is(cause, errPassedOver)
}

// asHead contends with other processes, for itself and for those behind it.
// Heir says that the turn came from another.
func (c *contender) asHead(ctx context.Context, heir bool) error {
	err := watch(ctx, c.h.e, engine.Watch{
		Key:      engine.Key{Kind: label, Name: c.of.key},
		Channels: []pubsub.Channel{c.h.e.Channel(c.of.channel)},
		Look:     c.look, By: c.p.listener(),
	}, heir, c.p.rest)
	if outage(ctx, err) {
		c.p.fail(err)
	}
	switch served := c.p.pass(); {
	case served && (err == nil || stillThere(ctx)):
		return nil
	case served:
		c.giveOn(c.n)
	}
	return err
}

// watch waits as the head. An heir sleeps before its first look for as long as rest
// says.
func watch(ctx context.Context, e *engine.Engine, w engine.Watch, heir bool, rest func() time.Duration) error {
	if heir {
		if left := rest(); left > 0 {
			return e.WatchOn(ctx, w, left, nil)
		}
	}
	return e.Watch(ctx, w)
}

// outage reports whether err says that the server was away for as long as a wait bears
// that, which ends all waits of the process for the name.
func outage(ctx context.Context, err error) bool {
	return engine.Passing(err) && ctx.Err() == nil
}

// longest returns how long a waiter sleeps at most.
func longest(e *engine.Engine) time.Duration { return cmp.Or(e.LongestSleep, 5*time.Second) }

// passTurn gives on a turn that came to who was leaving.
func (c *contender) passTurn() {
	if c.p.pass() {
		c.giveOn(c.n)
	}
}

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
	got, err := c.h.table.Do(ctx, c.of.key, ask{of: c.of, kind: wait, queue: runs})
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
		c.observeWait(ctx)
	}
	return -1, done, nil
}

// standBack lets other processes go first, see handover.Courtesy.
func standBack(ctx context.Context, e *engine.Engine, courtesy *handover.Courtesy) error {
	pause := courtesy.Pause()
	if pause == 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return engine.ContextError(ctx)
	case <-e.Closing():
		return ErrClosed
	}
	courtesy.Paused()
	return nil
}

// label is what the observer calls a semaphore.
const label = "semaphore"

// observeWait tells of a wait once.
func (c *contender) observeWait(ctx context.Context) {
	if c.h.e.Observer != nil && !c.waits {
		c.waits, c.began = true, c.h.e.Mono()
		c.h.e.Observer.WaitStarted(ctx, label, c.of.key)
	}
}

// observe tells how it ended.
func (c *contender) observe(ctx context.Context, err error) {
	if c.waits {
		c.h.e.Observer.WaitEnded(ctx, label, c.of.key, c.h.e.Mono()-c.began, err)
	}
	if err == nil && c.h.e.Observer != nil {
		c.h.e.Observer.Acquired(ctx, label, c.of.key, c.handed)
	}
}
