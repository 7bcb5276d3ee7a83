package locking

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/send"
)

// queued waits for this goroutine's turn in the local order, and takes it.
func (c *waiter) queued(ctx context.Context, seat lease.Seat) (*Held, error) {
	w := c.place()
	defer c.e.places.Put(w) // its channel is empty on every path
	ok := true
	switch {
	case !w.Once:
		c.hasTurn = c.local.queue.Enter(w)
	case w.Shared:
		c.hasTurn, ok = c.local.queue.EnterOnce(w)
	default:
		c.hasTurn, ok = false, false
	}
	switch {
	case !ok:
		return nil, c.refusal()
	case c.hasTurn:
		return c.asHead(ctx, seat)
	}
	if !w.Once {
		c.since = w.Since
		c.observeWait(ctx)
	}
	if f, is := c.p.(Fencing); is && f.Fences() && c.ask.Lease == 0 { // there are tokens for this waiter and those before it
		if held, there := c.e.chains.Load(c.key.Name); there {
			held.(*Held).stock()
		}
	}
	turn, err := c.behind(ctx, w)
	if err != nil {
		return nil, err
	}
	return c.take(ctx, turn, seat)
}

// place returns a place in the local order for what this goroutine wants.
func (c *waiter) place() *handover.Waiter[*Held] {
	w, _ := c.e.places.Get().(*handover.Waiter[*Held])
	if w == nil {
		w = handover.NewWaiter[*Held](false)
	}
	w.Takes, w.Shared, w.Once, w.Kind, w.Since = c.ask.Lease == 0, c.ask.Shared, c.atOnce(), c.key.Kind, c.e.Now().Mono
	return w
}

// behind waits for the turn of w. A wait that ends names a holder of this very client: a nested call that was not
// given the hold's context waits for itself.
func (c *waiter) behind(ctx context.Context, w *handover.Waiter[*Held]) (turn handover.Turn[*Held], err error) {
	if w.Watch {
		c.e.watch(c.local, c.e.WatchdogTimeout, w.Since)
	}
	select {
	case turn = <-w.Turn():
		if turn.Refused {
			return turn, c.refusal()
		}
		c.hasTurn = true
		return turn, nil
	case <-ctx.Done():
	case <-c.e.Closing():
	}
	if turn, came := c.local.queue.Leave(w); came && !turn.Refused {
		c.hasTurn = true
		if turn.Handed { // to a goroutine that has just left
			c.discard(turn.Hold)
		}
	}
	if ctx.Err() == nil {
		return handover.Turn[*Held]{}, core.ErrClosed
	}
	return handover.Turn[*Held]{}, fmt.Errorf("%w (this client holds it, or was ahead in its queue: a nested call needs the context of the hold)", core.ContextError(ctx))
}

// refusal returns why a try that does not wait is refused in this process. A live hold of this process is an answer.
// Without one, another call is on its way to the server, and says only that.
func (c *waiter) refusal() error {
	err := c.local.word.Load().Refusal()
	if err == core.ErrNotAcquired && !c.local.holds() {
		return send.ErrUnasked
	}
	return err
}

// take accepts a turn: a hold, or the role of head.
func (c *waiter) take(ctx context.Context, turn handover.Turn[*Held], seat lease.Seat) (*Held, error) {
	if !turn.Handed {
		if err := c.local.word.Load().GivenUp(c.e.Sender, c.since); err != nil {
			return nil, err
		}
		return c.asHead(ctx, seat)
	}
	switch err := turn.Hold.attach(seat); {
	case err == nil:
		c.observeAcquired(ctx, true)
		return turn.Hold, nil
	case errors.Is(err, core.ErrClosed):
		c.discard(turn.Hold)
		return nil, err
	}
	turn.Hold.afterLoss() // it ended on its way
	return c.again(ctx, turn.Hold, seat)
}

// again goes on behind a hold that ended on its way. Of the turn of a shared
// one, others may still have parts, and one of them may ask the server.
func (c *waiter) again(ctx context.Context, h *Held, seat lease.Seat) (*Held, error) {
	if !h.shared {
		return c.asHead(ctx, seat)
	}
	c.hasTurn = false
	c.e.passTurn(c.local)
	return c.acquire(ctx, seat)
}

// discard gives a hold that has no seat, and the turn with it, to the next
// waiter, or back. The release does not keep the caller, who is on its way out. The
// caller has no turn then that Acquire would give on.
func (c *waiter) discard(h *Held) {
	c.hasTurn = false
	last, now := h.forgo(), c.e.Now()
	if !last {
		c.e.passTurn(c.local)
		return
	}
	if h.ErrAt(now) == nil && h.mayPass(now) && h.trustedEnough(now) && h.pass() {
		if h.shared {
			c.e.passTurn(c.local)
		}
		return
	}
	c.e.locals.Get(c.key.Name) // the caller's own reference goes before the release has ended
	// Not Spawn: Close may have stopped others, but it waits for this caller,
	// and so for what the caller leaves behind.
	c.e.Tasks.Run(func() { // ends with the release, which has its own bound
		_ = h.sendRelease(context.Background()) // a failure is said again by its own cleanup task
		h.leave()
	})
}

// passTurn gives a part of the turn on. With the last one, the next waiter
// becomes head; with nobody waiting, the subscription is given up, and the hub
// lets it linger.
func (e *Engine) passTurn(l *local) {
	if l.queue.Last() {
		l.quietIfAlone()
	}
	l.queue.Pass()
}

// quietIfAlone leaves the channel if nobody waits. A waiter that leaves in this
// very moment is seen to by the last reference.
func (l *local) quietIfAlone() {
	if l.queue.Waiting() == 0 {
		l.subscriber.Load().close()
	}
}

// giveWay lets the readers of this process go first, and waits for the turn after them. If they have left, this goroutine
// still has it.
func (c *waiter) giveWay(ctx context.Context) (turn handover.Turn[*Held], err error) {
	c.givesWay = false
	w := c.place()
	defer c.e.places.Put(w) // its channel is empty on every path
	if !c.local.queue.Yield(w) {
		return turn, nil
	}
	c.hasTurn = false
	return c.behind(ctx, w)
}
