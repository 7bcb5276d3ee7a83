package locking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Acquire waits for p's lock and gives it to seat. At most one goroutine of
// the process talks to the server about a key; the others queue behind it.
// ctx bounds the wait, and nothing else. If it fails, it gives on the turn that the caller may have.
func (e *Engine) Acquire(ctx context.Context, p Protocol, ask Ask, seat lease.Seat) (*Held, error) {
	if e.Open() != nil || !e.Begin() {
		return nil, core.ErrClosed
	}
	defer e.Tasks.Done() // Close waits for what may yet be won, and given back
	if err := ctx.Err(); err != nil {
		return nil, core.ContextError(ctx)
	}
	if ask.Bounded && ask.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = core.Within(ctx, ask.Wait)
		defer cancel()
	}
	key := p.Key()
	c := waiter{e: e, p: p, ask: ask, key: key, local: e.locals.Get(key.Name)}
	held, err := c.admitted(ctx, seat)
	if err != nil {
		c.quit()
		if c.turn {
			c.local.queue.Settle()
			e.passTurn(c.local)
		}
		err = c.local.ended(e, err)
		e.locals.Put(key.Name, c.local)
	}
	c.observeWaited(ctx, err)
	return held, err
}

// quit takes back what a wait has left on the server. Nobody waits for it.
func (c *waiter) quit() {
	if kind, leaves := c.p.(Quitting); leaves && c.asked && !c.atOnce() {
		c.e.Spawn(func() { _ = kind.Quit(context.Background()) }) // it goes by itself
	}
}

// waiter is one goroutine that wants the lock.
type waiter struct {
	e     *Engine
	p     Protocol
	ask   Ask
	key   core.Key
	local *local
	turn  bool // this goroutine has the turn in the local queue, and must give it on
	asked bool // the server was asked for it
	gives bool // those of this process who want to share it go first, see giveWay
	slow  int  // how many times it was won, and lost before the answer came

	walked   time.Duration // when all holds were last looked at for one in the way, see stood; 0: they were not
	stands   time.Duration // since when it has stood back for others that want it alone; 0: not yet
	thorough time.Duration // when the server was last asked for what takes more, see Try

	since time.Duration // since when it has waited for its turn; 0: it has not

	waits bool          // the observer was told that it waits, in the queue or as head
	began time.Duration // since when
}

// admitted refuses who asks for a lock of another family than those of this
// process which have the name, or wait for it.
func (c *waiter) admitted(ctx context.Context, seat lease.Seat) (*Held, error) {
	if err := c.local.claim(c.key); err != nil {
		return nil, err
	}
	if p, is := c.p.(Queued); is {
		line := *c // it would put c on the heap, for those of other kinds as well
		held, err := line.acquireFair(ctx, p, seat)
		*c = line
		return held, err
	}
	return c.acquire(ctx, seat)
}

func (c *waiter) acquire(ctx context.Context, seat lease.Seat) (*Held, error) {
	if c.turn = c.local.queue.TryEnter(); c.turn {
		return c.asHead(ctx, seat)
	}
	if held := c.join(ctx, seat); held != nil {
		return held, nil
	}
	if c.turn = c.ask.Shared && c.local.queue.Lead(); c.turn {
		return c.asHead(ctx, seat)
	}
	return c.queued(ctx, seat)
}

// join takes part in a hold that goroutines of this process share already.
func (c *waiter) join(ctx context.Context, seat lease.Seat) *Held {
	if !c.ask.Shared || c.ask.Lease > 0 {
		return nil
	}
	held, ok := c.local.queue.Join()
	if !ok {
		return nil
	}
	if held.join(seat, c.e.Now()) != nil {
		c.local.queue.Full(held)
		c.e.passTurn(c.local) // the part that came with it
		return nil
	}
	c.observeAcquired(ctx, true)
	return held
}

// atOnce reports whether the caller does not wait at all.
func (c *waiter) atOnce() bool { return c.ask.Bounded && c.ask.Wait == 0 }

// observeWait tells of a wait once, also of one that goes on as head.
func (c *waiter) observeWait(ctx context.Context) {
	if c.e.Observer != nil && !c.waits {
		c.waits, c.began = true, c.e.Now().Mono
		c.e.Observer.WaitStarted(ctx, c.p.Label(), c.key.Shown())
	}
}

func (c *waiter) observeWaited(ctx context.Context, err error) {
	if c.waits {
		c.e.Observer.WaitEnded(ctx, c.p.Label(), c.key.Shown(), c.e.Now().Mono-c.began, err)
	}
}

// queued waits for this goroutine's turn in the local order.
func (c *waiter) queued(ctx context.Context, seat lease.Seat) (*Held, error) {
	w := c.place()
	defer c.e.places.Put(w) // its channel is empty on every path
	ok := true
	switch {
	case !w.Once:
		c.turn = c.local.queue.Enter(w)
	case w.Shared:
		c.turn, ok = c.local.queue.EnterOnce(w)
	default:
		c.turn, ok = false, false
	}
	switch {
	case !ok:
		return nil, c.refusal()
	case c.turn:
		return c.asHead(ctx, seat)
	}
	return c.waitsBehind(ctx, w, seat)
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

// place returns a place in the local order for what this goroutine wants.
func (c *waiter) place() *handover.Waiter[*Held] {
	w, _ := c.e.places.Get().(*handover.Waiter[*Held])
	if w == nil {
		w = handover.NewWaiter[*Held](false)
	}
	w.Takes, w.Shared, w.Once, w.Kind, w.Since = c.ask.Lease == 0, c.ask.Shared, c.atOnce(), c.key.Kind, c.e.Now().Mono
	return w
}

// waitsBehind waits for the turn of w, and takes it.
func (c *waiter) waitsBehind(ctx context.Context, w *handover.Waiter[*Held], seat lease.Seat) (*Held, error) {
	if !w.Once {
		c.since = w.Since
		c.observeWait(ctx)
	}
	c.stock()
	turn, err := c.behind(ctx, w)
	if err != nil {
		return nil, err
	}
	return c.take(ctx, turn, seat)
}

// behind waits for the turn of w.
func (c *waiter) behind(ctx context.Context, w *handover.Waiter[*Held]) (turn handover.Turn[*Held], err error) {
	if w.Watch {
		c.e.watch(c.local, c.e.WatchdogTimeout, w.Since)
	}
	select {
	case turn = <-w.Turn():
		if turn.Refused {
			return turn, c.refusal()
		}
		c.turn = true
		return turn, nil
	case <-ctx.Done():
	case <-c.e.Closing():
	}
	if turn, came := c.local.queue.Leave(w); came && !turn.Refused {
		c.turn = true
		c.giveOn(turn)
	}
	return handover.Turn[*Held]{}, c.whyNot(ctx)
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
	c.turn = false
	c.e.passTurn(c.local)
	return c.acquire(ctx, seat)
}

func (c *waiter) observeAcquired(ctx context.Context, handed bool) {
	if c.e.Observer != nil {
		c.e.Observer.Acquired(ctx, c.p.Label(), c.key.Shown(), handed)
	}
}

// giveOn passes on a turn that came to a goroutine which had just left.
func (c *waiter) giveOn(turn handover.Turn[*Held]) {
	if turn.Handed {
		c.discard(turn.Hold)
	}
}

// discard gives a hold that has no seat, and the turn with it, to the next
// waiter, or back. The release does not keep the caller, who is on its way out. The
// caller has no turn then that Acquire would give on.
func (c *waiter) discard(h *Held) {
	c.turn = false
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
		_ = h.giveUp(context.Background()) // a failure is said again by its own cleanup task
		h.leave()
	})
}

// whyNot returns why a wait ended without the lock. A holder of this very client is
// named: a nested call that was not given the hold's context waits for itself.
func (c *waiter) whyNot(ctx context.Context) error {
	if ctx.Err() == nil {
		return core.ErrClosed
	}
	return fmt.Errorf("%w (this client holds it, or was ahead in its queue: a nested call needs the context of the hold)", core.ContextError(ctx))
}

// tooSlow is how many times in a row a lock may be won with an answer that took
// longer than its lease.
const tooSlow = 3

func tooSlowError(err error) error {
	return fmt.Errorf("the answers take longer than the lease: %w", err)
}

// asHead contends with other processes.
func (c *waiter) asHead(ctx context.Context, seat lease.Seat) (*Held, error) {
	held, err := c.compete(ctx)
	for err == nil && c.gives {
		var turn handover.Turn[*Held]
		if turn, err = c.giveWay(ctx); turn.Handed {
			return c.take(ctx, turn, seat)
		}
		if err == nil {
			held, err = c.compete(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	// Before the attach: with the hold's end, which may come at any moment
	// from then on, the turn is another's, and so is the subscription.
	if !held.shared {
		c.local.quietIfAlone()
	}
	err = held.attach(seat)
	switch {
	case err == nil:
		if held.fence > 0 {
			c.e.chains.Store(c.key.Name, held)
		}
		c.observeAcquired(ctx, false)
		return held, nil
	case errors.Is(err, core.ErrClosed):
		c.discard(held)
		return nil, err
	}
	held.GiveBackLater()
	if c.slow++; c.slow == tooSlow {
		if held.shared {
			c.turn = false
			c.e.passTurn(c.local)
		}
		return nil, tooSlowError(err)
	}
	return c.again(ctx, held, seat)
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
		l.ear.Load().close()
	}
}
