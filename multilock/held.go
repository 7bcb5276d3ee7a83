package multilock

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

// part is a member that is held.
type part struct {
	member
	i    int // of the member
	hold *lock.Hold
}

// held is the holding of several locks: their holds. It is trusted while enough of these are. It
// counts them at each call of Err, and the parts tell it when they end.
type held struct {
	need int
	seat lease.Seat

	mu    sync.Mutex
	parts []part        // copied when it changes
	wake  func(error)   // while it is being acquired: called when a part has ended
	cause error         // why it has ended, or was released
	over  chan struct{} // closed then; made with the first alarm
	alarm *alarm        // see Expiring
}

var _ locking.Holding = (*held)(nil)

// Members returns the holds that its contexts carry.
func (h *held) Members() []*lock.Hold {
	parts := h.now()
	all := make([]*lock.Hold, len(parts))
	for i, p := range parts {
		all[i] = p.hold
	}
	return all
}

func (h *held) now() []part {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.parts
}

// newHeld returns one that is still being acquired.
func newHeld(need int, seat lease.Seat) *held {
	return &held{need: need, seat: seat, wake: func(error) {}}
}

// stand starts the hold with parts that are already connected to it.
func (h *held) stand(parts []part) {
	h.mu.Lock()
	h.parts, h.wake = parts, nil
	h.mu.Unlock()
	_ = h.Err() // a part may have ended meanwhile
}

// Ended handles the end of a part.
func (h *held) Ended(cause error) {
	if errors.Is(cause, ErrReleased) {
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
		h.lookAgain()
	}
}

// Err returns nil while enough parts are trusted.
func (h *held) Err() error {
	h.mu.Lock()
	parts, cause := h.parts, h.cause
	h.mu.Unlock()
	if cause != nil {
		return cause
	}
	why := missing(parts, h.need)
	if why == nil {
		return nil
	}
	h.end(why)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause
}

// missing returns why fewer than need of the parts are trusted, nil if enough are.
func missing(parts []part, need int) (why error) {
	for _, p := range parts {
		switch err := p.hold.Err(); {
		case err == nil:
			need--
		case why == nil || errors.Is(err, ErrLost) && !errors.Is(why, ErrLost):
			why = err
		}
	}
	if need > 0 && why == nil {
		return ErrLost
	}
	if need > 0 {
		return why
	}
	return nil
}

// finish ends the hold, once. It reports whether this call did.
func (h *held) finish(cause error) (parts []part, first bool) {
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
func (h *held) end(cause error) {
	parts, first := h.finish(cause)
	if !first {
		return
	}
	h.seat.Ended(cause) // the engine of the lost part has logged it
	if !errors.Is(cause, ErrClosed) {
		standing := slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.hold.Err() != nil })
		for _, p := range standing { // in the background: the client of the part repeats what fails
			p.e.Spawn(func() { _ = p.hold.Unlock(context.Background()) }) // else the client has closed
		}
	}
}

// Deadline returns the time until which enough parts are trusted without another renewal.
func (h *held) Deadline() time.Time {
	parts := h.now()
	all := make([]time.Time, len(parts))
	for i, p := range parts {
		all[i] = p.hold.Deadline()
	}
	if len(all) < h.need {
		return time.Time{}
	}
	slices.SortFunc(all, func(a, b time.Time) int { return b.Compare(a) })
	return all[h.need-1]
}

// Fence returns 0: the members have tokens of their own, if any.
func (h *held) Fence(lease.Seat) int64 { return 0 }

// Grow asks every part for a lease of d from now on. It returns when as many parts as needed have
// grown, and does not wait for more.
func (h *held) Grow(ctx context.Context, d time.Duration, _ lease.Seat) error {
	if err := h.Err(); err != nil {
		return err
	}
	parts := h.now()
	r := newRound(len(parts), func(answer) {})
	defer r.leave()
	for i, p := range parts {
		r.ask(i, p.member, func() (*lock.Hold, error) { return nil, p.hold.Extend(ctx, d) })
	}
	var failed []error
	for grown := 0; grown+len(failed) < len(parts); {
		a := <-r.answers // each is bounded by ctx
		if a.err != nil {
			failed = append(failed, a.err)
			continue
		}
		if grown++; grown == h.need {
			return nil
		}
	}
	if err := h.Err(); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// Release releases all parts at once, and waits for the answers.
func (h *held) Release(ctx context.Context, _ lease.Seat) error {
	_ = h.Err() // the clocks may say that it is lost
	parts, first := h.finish(ErrReleased)
	members, errs := make([]member, len(parts)), make([]error, len(parts))
	for i, p := range parts {
		members[i] = p.member
	}
	together(members, func(i int) { errs[i] = parts[i].hold.Unlock(ctx) })
	h.mu.Lock()
	cause := h.cause
	h.mu.Unlock()
	if !first && !errors.Is(cause, ErrClosed) {
		return cause
	}
	return enough(errs, h.need)
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
