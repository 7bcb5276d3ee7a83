package semaphore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// waitRoom is what those share who wait in one process for permits of one name, of either kind. H is what is
// handed to them. The head of their queue talks to the server for all.
type waitRoom[H comparable] struct {
	places.Entry
	e *locking.Engine
	ears

	mu      sync.Mutex
	queue   handover.Queue[H] // used under mu only, so that what is known of its head stays true
	refused bool              // the last look did not serve all, so that nobody may overtake
	looked  bool              // the last look was answered, and the listener hears of what it did not see
	when    time.Duration     // that answer came
	passes  int               // hand-overs since other processes could have what is free
	since   time.Duration     // when that was
	failure error             // what the last head met for as long as a wait bears it
	last    lastAnswer
}

// begins notes that the first who waits has entered; under mu.
func (r *waitRoom[H]) begins() { r.refused, r.looked, r.last = false, false, lastAnswer{} }

// empties notes that nobody waits any more; under mu.
func (r *waitRoom[H]) empties() {
	r.refused, r.looked = false, false
	if r.ear != nil {
		r.ear.Close() // the hub lets it linger
	}
}

// join queues w. It reports whether w has the turn instead, since nobody else has it; under mu. Who comes when the
// client closes is refused at once, together with those whom dismiss would come to.
func (r *waitRoom[H]) join(w *handover.Waiter[H]) (turn bool) {
	if turn = r.queue.Enter(w); turn {
		r.begins()
	} else if r.e.Open() != nil {
		r.queue.Dismiss()
	}
	return turn
}

// front returns the first of those who wait behind the head; under mu.
func (r *waitRoom[H]) front() (front *handover.Waiter[H]) {
	r.queue.Next(func(w *handover.Waiter[H]) bool {
		front = w
		return false
	})
	return front
}

// asked begins the bounds of hand-overs anew; under mu.
func (r *waitRoom[H]) asked() { r.passes, r.since = 0, r.e.Mono() }

// mayHandOn reports whether permits may go from one of this process to the next once more, of as many times; under mu.
func (r *waitRoom[H]) mayHandOn(times int) bool {
	return r.passes < times && r.e.Mono()-r.since < r.e.HandoverTime && r.e.Open() == nil
}

// listener is made by the first who waits.
func (r *waitRoom[H]) listener() *wait.Listener {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listen(r.e)
}

// gave has the head look, after this process gave permits to the server.
func (r *waitRoom[H]) gave(woken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked()
	if r.ear != nil && !woken {
		r.ear.Poke()
	}
}

// end returns the error of a wait that WithWait ended with err.
func (r *waitRoom[H]) end(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last.end(r.e, err)
}

// dismiss wakes those behind the head, when the client closes. They do not wait on its
// channel for that, since all of them would meet at its mutex.
func (r *waitRoom[H]) dismiss() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue.Dismiss()
}

// fail ends the waits of those behind the head: the server has been away for as long
// as a wait bears that.
func (r *waitRoom[H]) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure = err
	r.queue.Dismiss()
}

// refusal returns why those were dismissed who waited behind the head.
func (r *waitRoom[H]) refusal() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.e.Open(); err != nil || r.failure == nil {
		return ErrClosed
	}
	return r.failure
}

// leave takes w out of the queue, unless something has come to it.
func (r *waitRoom[H]) leave(w *handover.Waiter[H]) (turn handover.Turn[H], came bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.Leave(w)
}

// member is one goroutine that waits in a room.
type member[H comparable] interface {
	vie(ctx context.Context, heir bool) error // waits as the head; an heir had the turn from another
	pass() (got H, served bool)               // gives the turn on, and returns what the head got
	accept(got H, handed bool)                // takes what came; handed: from another goroutine
	decline(got H)                            // gives on what came too late
}

// await waits behind the head until m has got what it wants, has become the head and contended as such, or leaves.
func (r *waitRoom[H]) await(ctx context.Context, w *handover.Waiter[H], m member[H]) error {
	select {
	case turn := <-w.Turn():
		switch {
		case turn.Refused:
			return r.refusal()
		case turn.Handed:
			m.accept(turn.Hold, true)
			return nil
		}
		return r.lead(ctx, m, true)
	case <-ctx.Done():
	}
	turn, came := r.leave(w)
	switch {
	case !came, turn.Refused:
	case !turn.Handed:
		if got, served := m.pass(); served {
			m.decline(got)
		}
	case stillThere(ctx):
		m.accept(turn.Hold, true)
		return nil
	default:
		m.decline(turn.Hold)
	}
	return core.ContextError(ctx)
}

// lead has m contend with other processes, for itself and for those behind it.
func (r *waitRoom[H]) lead(ctx context.Context, m member[H], heir bool) error {
	err := m.vie(ctx, heir)
	if send.Transient(err) && ctx.Err() == nil { // an outage ends all waits of the process for the name
		r.fail(err)
	}
	switch got, served := m.pass(); {
	case served && (err == nil || stillThere(ctx)):
		m.accept(got, false)
		return nil
	case served:
		m.decline(got)
	}
	return err
}

// stillThere reports whether the caller takes what came in the moment in which
// its wait ended: one whose WithWait has just ended does, and one that lost its turn.
func stillThere(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errWaitOver) || errors.Is(cause, errPassedOver)
}

// told is what the observer was told of one wait.
type told struct {
	waits bool
	began time.Duration
}

// observeWait tells of a wait once.
func (t *told) observeWait(ctx context.Context, e *locking.Engine, kind, name string) {
	if e.Observer != nil && !t.waits {
		t.waits, t.began = true, e.Mono()
		e.Observer.WaitStarted(ctx, kind, name)
	}
}

// observe tells how it ended, and of so many permits.
func (t *told) observe(ctx context.Context, e *locking.Engine, kind, name string, handed bool, permits int, err error) {
	if t.waits {
		e.Observer.WaitEnded(ctx, kind, name, e.Mono()-t.began, err)
	}
	if err == nil && e.Observer != nil {
		for range permits {
			e.Observer.Acquired(ctx, kind, name, handed)
		}
	}
}
