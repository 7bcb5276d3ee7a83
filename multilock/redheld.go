package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/lock"
)

// redHeld is a held whose members may come later, and whose missing members are asked again.
type redHeld struct {
	*held
	red *RedLock
	ask locking.Ask
	id  uint64

	mu      sync.Mutex
	until   time.Time        // the end of a fixed lease
	strays  map[int]bool     // members that have not answered yet
	arrived chan struct{}    // gets a value when one has
	due     map[int]struct{} // members that are to be asked again
}

var redHolds atomic.Uint64

// came notes that member i has answered.
func (h *redHeld) came(i int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.strays == nil {
		return // the bid was lost
	}
	delete(h.strays, i)
	select {
	case h.arrived <- struct{}{}:
	default:
	}
}

// join adds a later grant to the hold, or releases it.
func (h *redHeld) join(p part) {
	if h.add(p) {
		lockkit.Tell(p.hold, h)
		h.lookAgain()
		return
	}
	_ = p.hold.Unlock(context.Background()) // its client repeats what fails
}

// Ended handles the end of a part. It asks again for a part that is lost, if the others are enough.
func (h *redHeld) Ended(cause error) {
	h.held.Ended(cause)
	if errors.Is(cause, ErrLost) && h.standing() {
		for _, p := range h.drop() {
			p.e.Spawn(func() { _ = p.hold.Unlock(context.Background()) }) // what it may have left on the server
			h.again(p.i, h.red.limit)
		}
	}
}

// drop removes the parts that are lost, and returns them.
func (h *held) drop() (lost []part) {
	gone := map[*lock.Hold]bool{}
	for _, p := range h.now() { // not under the mutex: Err may end a part
		gone[p.hold] = errors.Is(p.hold.Err(), ErrLost)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil || h.wake != nil {
		return nil
	}
	var kept []part
	for _, p := range h.parts {
		if gone[p.hold] {
			lost = append(lost, p)
		} else {
			kept = append(kept, p)
		}
	}
	h.parts = kept
	return lost
}

// add adds a part. It returns false if the whole hold has ended.
func (h *held) add(p part) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return false
	}
	h.parts = append(slices.Clip(h.parts), p)
	return true
}

func (h *held) standing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause == nil
}

const mostPause = 5 * time.Second

// again asks a missing member after a pause, and then less and less often, for as long as the hold
// lasts.
func (h *redHeld) again(i int, pause time.Duration) {
	if !h.standing() {
		return
	}
	m := h.red.all[i]
	h.mu.Lock()
	if h.due == nil {
		h.due = make(map[int]struct{})
	}
	h.due[i] = struct{}{}
	h.mu.Unlock()
	m.e.Due(h.key(i), pause, func() time.Duration {
		m.e.Spawn(func() { h.askAgain(i, min(2*pause, mostPause)) }) // else the client has closed
		return -1
	})
	if !h.standing() {
		m.e.NotDue(h.key(i)) // it ended meanwhile
	}
}

func (h *redHeld) key(i int) core.Key {
	return core.Key{Kind: "red", Name: fmt.Sprint(h.id, "/", i)}
}

// askAgain needs no restart guard: the hold has its quorum without this member.
func (h *redHeld) askAgain(i int, pause time.Duration) {
	opts, worth := h.options()
	if !worth || !h.standing() {
		return
	}
	m := h.red.all[i]
	hold, err := m.tryOnce(context.Background(), opts...)
	if err != nil {
		h.again(i, pause)
		return
	}
	h.red.voices[i].heard()
	h.join(part{m, i, hold})
}

// options returns the options for a member that joins now: it gets the rest of a fixed lease, if
// that is long enough.
func (h *redHeld) options() (opts []lock.TryOption, worth bool) {
	if h.ask.Lease == 0 {
		return nil, true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	left := time.Until(h.until)
	return []lock.TryOption{lock.WithLease(left)}, left >= shortestLease
}

// Grow grows the parts; members that join later have the longer lease, too.
func (h *redHeld) Grow(ctx context.Context, d time.Duration, seat lease.Seat) error {
	until := time.Now().Add(d)
	if err := h.held.Grow(ctx, d, seat); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.until) {
		h.until = until
	}
	return nil
}

// Release releases every part, and those that are still on their way. Answers of a quorum are
// enough. It waits for the rest no longer than for one member.
func (h *redHeld) Release(ctx context.Context, _ lease.Seat) error {
	_ = h.Err() // the clocks may say that it is lost
	parts, first := h.finish(ErrReleased)
	h.mu.Lock()
	for i := range h.due { // missing members are asked no more
		h.red.all[i].e.NotDue(h.key(i))
	}
	h.mu.Unlock()
	err := h.unlock(ctx, parts)
	h.held.mu.Lock()
	cause := h.cause
	h.held.mu.Unlock()
	if !first && !errors.Is(cause, ErrClosed) {
		return cause
	}
	return err
}

func (h *redHeld) unlock(ctx context.Context, parts []part) error {
	timer := time.NewTimer(h.red.limit)
	defer timer.Stop()
	r := newRound(len(parts), func(answer) {})
	defer r.leave()
	open := make(map[int]bool, len(parts))
	for _, p := range parts {
		open[p.i] = true
		r.ask(p.i, p.member, func() (*lock.Hold, error) { return nil, p.hold.Unlock(ctx) })
	}
	var failed []error
	given, late := 0, false
	for len(open) > 0 && (!late || given < h.need) {
		select {
		case a := <-r.answers:
			if delete(open, a.i); a.err == nil {
				given++
			} else {
				failed = append(failed, a.err)
			}
		case <-timer.C:
			late = true
			h.red.fallSilent(open)
		}
	}
	h.awaitStrays(timer.C, late)
	if given >= h.need {
		return nil
	}
	return fmt.Errorf("%d of %d given back: %w", given, len(parts), errors.Join(failed...))
}

// awaitStrays waits until the members that have not answered yet have released what they granted,
// so that the next call finds them free. It does not wait for members that were silent before.
func (h *redHeld) awaitStrays(over <-chan time.Time, late bool) {
	for !late && h.hopes() > 0 {
		select {
		case <-h.arrived:
		case <-over:
			late = true
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if late {
		h.red.fallSilent(h.strays)
	}
}

// fallSilent notes members that did not answer in time.
func (r *RedLock) fallSilent(members map[int]bool) {
	for i := range members {
		r.voices[i].silent.Store(true)
	}
}

func (h *redHeld) hopes() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.strays {
		if !h.red.voices[i].silent.Load() {
			n++
		}
	}
	return n
}
