package engine

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Protocol is what one kind of lock says to the server about one name. Its
// methods send scripts through Engine.Run and read their answers; waiting,
// order, trust and give-back are the engine's.
type Protocol interface {
	Granter
	// Channel is where releases are announced.
	Channel() string
	// Acquire tries once to take the lock for a fresh owner.
	Acquire(ctx context.Context, owner string, lease time.Duration) (Tried, error)
	// Release gives back a private owner.
	Release(ctx context.Context, owner string) (Released, error)
	// Export renames a private owner to one that others may join. It is false
	// if neither of the two holds the lock.
	Export(ctx context.Context, private, exported string) (bool, error)
	// Join adds a level to a shared owner. It is false if that does not hold
	// the lock.
	Join(ctx context.Context, owner, request string, lease time.Duration) (Tried, error)
	// Leave undoes a join, whether or not it has arrived yet.
	Leave(ctx context.Context, owner, request string) error
	// Unlock gives back one level of a shared owner. It is false if that does
	// not hold the lock.
	Unlock(ctx context.Context, owner, request string, lease time.Duration) (bool, error)
}

// Tried is the answer to an acquire.
type Tried struct {
	Free     bool             // it was free and is ours now
	Left     time.Duration    // else: the present holder's lease, negative if it has none
	Started  watchdog.Instant // before the send that was answered
	Replayed bool             // an earlier send, whose reply was lost, may still arrive
	Latch    string           // of a join: the key that remembers it
}

// Held is one acquisition on the server, as far as this process is concerned:
// an owner, its lease, and the seat that has it at present. Handed over inside
// the process, it changes its seat and nothing else.
type Held struct {
	Grant // its seat is nil: released, ended, or on its way to the next

	local *local // nil for a hold that was joined
	late  string // the owner of which a send of the acquire may still arrive, if one may

	// Guarded by the grant's mutex.
	shared    bool // exported or joined: others may have levels of their own
	foreign   bool // joined from another library, whose levels are its own business
	suspected bool // the log has said that a nested call may wait for it
	since     time.Duration
	passes    int // hand-overs so far
}

// newHeld puts an acquisition under the watchdog's care.
func (e *Engine) newHeld(p Protocol, l *local, owner string, tried Tried, lease, every time.Duration) *Held {
	h := &Held{Grant: Grant{e: e, g: p, owner: owner}, local: l, since: tried.Started.Mono}
	if tried.Replayed && l != nil {
		h.late = owner
	}
	h.care(tried.Started, lease, every, watchdog.Instant{}, h)
	return h
}

// protocol is the kind of lock that it is a hold of.
func (h *Held) protocol() Protocol { return h.g.(Protocol) }

// attach gives the hold to a seat. It fails with the cause if the hold has
// ended on its way; the caller then still has the turn.
func (h *Held) attach(seat Seat) error {
	if err := h.Err(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if cause, ended := h.lease.Ended(); ended {
		return lossOf(cause)
	}
	// Close marks the client closed first and tells every seat then: this hold
	// is either refused here or told there.
	if err := h.e.Open(); err != nil {
		return err
	}
	h.seat = seat
	return nil
}

// detach takes the seat away. Whoever succeeds has the turn in the local
// queue, and must give it on.
func (h *Held) detach() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seat == nil {
		return false
	}
	h.seat = nil
	return true
}

// LeaseEnded is the lease's end: by time, or by the server's word.
func (h *Held) LeaseEnded(cause error) {
	cause = h.lost(cause)
	h.mu.Lock()
	seat := h.seat
	h.seat = nil
	h.mu.Unlock()
	if seat == nil {
		return // on its way to the next seat, which will find out and has the turn
	}
	seat.Ended(cause)
	h.leave()
}

// leave gives on the turn of a hold that has gone, and its reference.
func (h *Held) leave() {
	if h.local == nil {
		return
	}
	h.e.passTurn(h.local)
	h.e.locals.Put(h.Key(), h.local)
}

// Shared reports whether others may take part in the hold.
func (h *Held) Shared() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shared
}

// Grow asks for a lease of d from now on, if that is longer than the present
// one. A fixed hold stays fixed. It is for the seat that has the hold: after a
// hand-over it is another's.
func (h *Held) Grow(ctx context.Context, d time.Duration, seat Seat) error {
	if err := h.Err(); err != nil {
		return err
	}
	if !h.isOf(seat) {
		return ErrReleased
	}
	return h.Grant.Grow(ctx, d)
}

func (h *Held) isOf(seat Seat) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seat == seat
}
