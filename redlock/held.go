package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/lock"
)

// held is a [quorum.Held] whose members may come later, and whose missing members are asked again.
type held struct {
	*quorum.Held
	red *Lock
	ask locking.Ask
	id  uint64

	mu      sync.Mutex
	until   time.Time        // the end of a fixed lease
	strays  map[int]bool     // members that have not answered yet
	arrived chan struct{}    // gets a value when one has
	due     map[int]struct{} // members that are to be asked again
}

var holds atomic.Uint64

// came notes that member i has answered.
func (h *held) came(i int) {
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
func (h *held) join(p quorum.Part) {
	if h.Add(p) {
		lockkit.Tell(p.Hold, h)
		h.LookAgain()
		return
	}
	_ = p.Hold.Unlock(context.Background()) // its client repeats what fails
}

// Ended handles the end of a part. It asks again for a part that is lost, if the others are enough.
func (h *held) Ended(cause error) {
	h.Held.Ended(cause)
	if errors.Is(cause, ErrLost) && h.Stands() {
		for _, p := range h.DropLost() {
			p.Engine.Spawn(func() { _ = p.Hold.Unlock(context.Background()) }) // what it may have left on the server
			h.again(p.I, h.red.limit)
		}
	}
}

const mostPause = 5 * time.Second

// again asks a missing member after a pause, and then less and less often, for as long as the hold
// lasts.
func (h *held) again(i int, pause time.Duration) {
	if !h.Stands() {
		return
	}
	m := h.red.all[i]
	h.mu.Lock()
	if h.due == nil {
		h.due = make(map[int]struct{})
	}
	h.due[i] = struct{}{}
	h.mu.Unlock()
	m.Engine.Due(h.key(i), pause, func() time.Duration {
		m.Engine.Spawn(func() { h.askAgain(i, min(2*pause, mostPause)) }) // else the client has closed
		return -1
	})
	if !h.Stands() {
		m.Engine.NotDue(h.key(i)) // it ended meanwhile
	}
}

func (h *held) key(i int) core.Key {
	return core.Key{Kind: "red", Name: fmt.Sprint(h.id, "/", i)}
}

// askAgain needs no restart guard: the hold has its quorum without this member.
func (h *held) askAgain(i int, pause time.Duration) {
	opts, worth := h.options()
	if !worth || !h.Stands() {
		return
	}
	m := h.red.all[i]
	hold, err := m.TryOnce(context.Background(), opts...)
	if err != nil {
		h.again(i, pause)
		return
	}
	h.red.voices[i].heard()
	h.join(quorum.Part{Member: m, I: i, Hold: hold})
}

// options returns the options for a member that joins now: it gets the rest of a fixed lease, if
// that is long enough.
func (h *held) options() (opts []lock.TryOption, worth bool) {
	if h.ask.Lease == 0 {
		return nil, true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	left := time.Until(h.until)
	return []lock.TryOption{lock.WithLease(left)}, left >= shortestLease
}

// Grow grows the parts; members that join later have the longer lease, too.
func (h *held) Grow(ctx context.Context, d time.Duration, seat lease.Seat) error {
	until := time.Now().Add(d)
	if err := h.Held.Grow(ctx, d, seat); err != nil {
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
func (h *held) Release(ctx context.Context, _ lease.Seat) error {
	_ = h.Err() // the clocks may say that it is lost
	parts, first := h.Finish(ErrReleased)
	h.mu.Lock()
	for i := range h.due { // missing members are asked no more
		h.red.all[i].Engine.NotDue(h.key(i))
	}
	h.mu.Unlock()
	err := h.unlock(ctx, parts)
	cause := h.Cause()
	if !first && !errors.Is(cause, ErrClosed) {
		return cause
	}
	return err
}

func (h *held) unlock(ctx context.Context, parts []quorum.Part) error {
	timer := time.NewTimer(h.red.limit)
	defer timer.Stop()
	r := quorum.NewRound(len(parts), func(quorum.Answer) {})
	defer r.Leave()
	open := make(map[int]bool, len(parts))
	for _, p := range parts {
		open[p.I] = true
		r.Ask(p.I, p.Member, func() (*lock.Hold, error) { return nil, p.Hold.Unlock(ctx) })
	}
	var failed []error
	given, late := 0, false
	for len(open) > 0 && (!late || given < h.Need) {
		select {
		case a := <-r.Answers:
			if delete(open, a.I); a.Err == nil {
				given++
			} else {
				failed = append(failed, a.Err)
			}
		case <-timer.C:
			late = true
			h.red.fallSilent(open)
		}
	}
	h.awaitStrays(timer.C, late)
	if given >= h.Need {
		return nil
	}
	return fmt.Errorf("%d of %d given back: %w", given, len(parts), errors.Join(failed...))
}

// awaitStrays waits until the members that have not answered yet have released what they granted,
// so that the next call finds them free. It does not wait for members that were silent before.
func (h *held) awaitStrays(over <-chan time.Time, late bool) {
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
func (r *Lock) fallSilent(members map[int]bool) {
	for i := range members {
		r.voices[i].silent.Store(true)
	}
}

func (h *held) hopes() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.strays {
		if !h.red.voices[i].silent.Load() {
			n++
		}
	}
	return n
}
