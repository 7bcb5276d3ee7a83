package quorum

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/lock"
)

// Part is a member that is held.
type Part struct {
	Member
	I    int // of the member
	Hold *lock.Hold
}

// Held is the holding of several locks: their holds. It is trusted while enough of these are. It
// counts them at each call of Err, and the parts tell it when they end.
type Held struct {
	Need int // parts that have to be trusted
	seat lease.Seat

	mu    sync.Mutex
	parts []Part        // copied when it changes
	wake  func(error)   // while it is being acquired: called when a part has ended
	cause error         // why it has ended, or was released
	over  chan struct{} // closed then; made with the first alarm
	alarm *alarm        // see Expiring
}

var _ locking.Holding = (*Held)(nil)

// Members returns the holds that its contexts carry.
func (h *Held) Members() []*lock.Hold {
	parts := h.Parts()
	all := make([]*lock.Hold, len(parts))
	for i, p := range parts {
		all[i] = p.Hold
	}
	return all
}

// Parts returns the members that are held.
func (h *Held) Parts() []Part {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.parts
}

// NewHeld returns one that is still being acquired.
func NewHeld(need int, seat lease.Seat) *Held {
	return &Held{Need: need, seat: seat, wake: func(error) {}}
}

// Start starts the hold with parts that are already connected to it.
func (h *Held) Start(parts []Part) {
	h.mu.Lock()
	h.parts, h.wake = parts, nil
	h.mu.Unlock()
	_ = h.Err() // a part may have ended meanwhile
}

// Ended handles the end of a part.
func (h *Held) Ended(cause error) {
	if errors.Is(cause, lock.ErrReleased) {
		return // by us
	}
	h.mu.Lock()
	wake := h.wake
	h.mu.Unlock()
	if wake != nil {
		wake(cause)
		return
	}
	if h.Err() == nil {
		h.LookAgain()
	}
}

// Err returns nil while enough parts are trusted.
func (h *Held) Err() error {
	h.mu.Lock()
	parts, cause := h.parts, h.cause
	h.mu.Unlock()
	if cause != nil {
		return cause
	}
	why := Missing(parts, h.Need)
	if why == nil {
		return nil
	}
	h.end(why)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause
}

// Missing returns why fewer than need of the parts are trusted, nil if enough are.
func Missing(parts []Part, need int) (why error) {
	for _, p := range parts {
		switch err := p.Hold.Err(); {
		case err == nil:
			need--
		case why == nil || errors.Is(err, lock.ErrLost) && !errors.Is(why, lock.ErrLost):
			why = err
		}
	}
	if need > 0 && why == nil {
		return lock.ErrLost
	}
	if need > 0 {
		return why
	}
	return nil
}

// Finish ends the hold, once. It reports whether this call did.
func (h *Held) Finish(cause error) (parts []Part, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return h.parts, false
	}
	h.cause = cause
	if h.over != nil {
		close(h.over)
	}
	return h.parts, true
}

// end ends the hold without an action of the holder. First the holder and the contexts of the hold
// end. Then the valid parts of a hold that was lost are released. If a client closes, the holder
// has to release them, as always.
func (h *Held) end(cause error) {
	parts, first := h.Finish(cause)
	if !first {
		return
	}
	h.seat.Ended(cause) // the engine of the lost part has logged it
	if !errors.Is(cause, lock.ErrClosed) {
		standing := slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Hold.Err() != nil })
		for _, p := range standing { // in the background: the client of the part repeats what fails
			p.Engine.Spawn(func() { _ = p.Hold.Unlock(context.Background()) }) // else the client has closed
		}
	}
}

// Deadline returns the time until which enough parts are trusted without another renewal.
func (h *Held) Deadline() time.Time {
	parts := h.Parts()
	all := make([]time.Time, len(parts))
	for i, p := range parts {
		all[i] = p.Hold.Deadline()
	}
	if len(all) < h.Need {
		return time.Time{}
	}
	slices.SortFunc(all, func(a, b time.Time) int { return b.Compare(a) })
	return all[h.Need-1]
}

// Fence returns 0: the members have tokens of their own, if any.
func (h *Held) Fence(lease.Seat) int64 { return 0 }

// Grow asks every part for a lease of d from now on. It returns when as many parts as needed have
// grown, and does not wait for more.
func (h *Held) Grow(ctx context.Context, d time.Duration, _ lease.Seat) error {
	if err := h.Err(); err != nil {
		return err
	}
	parts := h.Parts()
	r := NewRound(len(parts), func(Answer) {})
	defer r.Leave()
	for i, p := range parts {
		r.Ask(i, p.Member, func() (*lock.Hold, error) { return nil, p.Hold.Extend(ctx, d) })
	}
	var failed []error
	for grown := 0; grown+len(failed) < len(parts); {
		a := <-r.Answers // each is bounded by ctx
		if a.Err != nil {
			failed = append(failed, a.Err)
			continue
		}
		if grown++; grown == h.Need {
			return nil
		}
	}
	if err := h.Err(); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// Release releases all parts at once, and waits for the answers.
func (h *Held) Release(ctx context.Context, _ lease.Seat) error {
	_ = h.Err() // the clocks may say that it is lost
	parts, first := h.Finish(lock.ErrReleased)
	members, errs := make([]Member, len(parts)), make([]error, len(parts))
	for i, p := range parts {
		members[i] = p.Member
	}
	Together(members, func(i int) { errs[i] = parts[i].Hold.Unlock(ctx) })
	cause := h.Cause()
	if !first && !errors.Is(cause, lock.ErrClosed) {
		return cause
	}
	return enough(errs, h.Need)
}

// Cause returns why the hold has ended, nil if it has not.
func (h *Held) Cause() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause
}

// Wake has wake called when a part ends, until the hold starts.
func (h *Held) Wake(wake func(error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake = wake
}

// enough returns nil if need of the errs are nil, else what went wrong.
func enough(errs []error, need int) error {
	for _, err := range errs {
		if err == nil {
			need--
		}
	}
	if need <= 0 {
		return nil
	}
	return errors.Join(errs...)
}

// DropLost removes the parts that are lost, and returns them.
func (h *Held) DropLost() (lost []Part) {
	gone := map[*lock.Hold]bool{}
	for _, p := range h.Parts() { // not under the mutex: Err may end a part
		gone[p.Hold] = errors.Is(p.Hold.Err(), lock.ErrLost)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil || h.wake != nil {
		return nil
	}
	var kept []Part
	for _, p := range h.parts {
		if gone[p.Hold] {
			lost = append(lost, p)
		} else {
			kept = append(kept, p)
		}
	}
	h.parts = kept
	return lost
}

// Add adds a part. It returns false if the whole hold has ended.
func (h *Held) Add(p Part) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return false
	}
	h.parts = append(slices.Clip(h.parts), p)
	return true
}

// Stands reports whether the hold has not ended.
func (h *Held) Stands() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause == nil
}
