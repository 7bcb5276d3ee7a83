package locking

import (
	"context"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
)

// Holding is what a hold of the public kind stands on: a Held, or what several
// of them make up.
type Holding interface {
	// Err is nil while the holding may be trusted.
	Err() error
	// Deadline is until when, without another renewal.
	Deadline() time.Time
	// Expiring is closed when renewals have failed for half of the lease.
	Expiring() <-chan struct{}
	// Grow asks for a lease of d from now on, for a seat that is in it.
	Grow(ctx context.Context, d time.Duration, seat lease.Seat) error
	// Release ends a seat's part.
	Release(ctx context.Context, seat lease.Seat) error
	// Fence is the fencing token of that seat's own turn, 0 if there is none, or
	// if the turn is over: a successor's must not be shown.
	Fence(seat lease.Seat) int64
}

var _ Holding = (*Held)(nil)

// Held is one acquisition on the server, as far as this process is concerned:
// an owner, its lease, and the seats that have it at present: one, unless it is
// shared. Handed over inside the process, it changes its seat and nothing else.
type Held struct {
	lease.Grant // its seat is the first of its seats; nil: released, ended, or on its way to the next

	local *local // nil for a hold that was joined, or of a Queued lock: then extra.claim is set
	extra *extra // nil for most

	// Guarded by the grant's mutex, but shared, which stays, and whether there is a
	// fence.
	fence     int64 // the token of the present turn
	since     time.Duration
	passes    int32 // hand-overs so far
	promised  int32 // seats of a shared hold that are on their way to it
	shared    bool  // several seats of this process may have it
	empty     bool  // the last of them has gone: nobody joins any more
	joint     bool  // exported or joined: other processes may have levels of their own
	foreign   bool  // joined from another library, whose levels are its own business
	suspected bool  // the log has said that a nested call may wait for it
}

// extra is what few holds have. A process may have very many of the others.
type extra struct {
	claim  *local       // of a hold without a local: it keeps the name for its family
	late   string       // the owner of which a send of the acquire may still arrive, if one may; it stays
	others []lease.Seat // beside the first; guarded by the grant's mutex
	brief  bool         // it takes newcomers for a moment only, since others wait for it to end; it stays
	tokens tokens       // likewise; of a chain of fenced holds
}

// late returns the owner of which a send of the acquire may still arrive, if one may.
func (h *Held) late() string {
	if h.extra == nil {
		return ""
	}
	return h.extra.late
}

// newHeld puts an acquisition under the watchdog's care.
func (e *Engine) newHeld(p Protocol, l *local, owner string, tried Tried, t terms, shared bool) *Held {
	h := &Held{local: l, since: tried.Started.Mono, fence: tried.Fence, shared: shared}
	h.Init(e.Keeper, p, owner)
	late := tried.Replayed
	if shared || late || tried.Fence > 0 {
		h.extra = new(extra)
	}
	if tried.Fence > 0 {
		h.extra.tokens.first = tried.Fence
		h.extra.tokens.add(tried.Fence+int64(tried.Block), tried.Block)
	}
	if shared {
		h.promised = 1 // to whoever acquired it
	}
	if late {
		h.extra.late = owner
	}
	if shared {
		h.extra.brief = tried.Hint > 0 || int64(tried.Started.Mono) < l.brief.Load()
	}
	h.Care(tried.Started, t.lease, t.every, t.end, h)
	l.last.Store(h) // whole: others ask it whether it may be trusted
	return h
}

// engine returns the engine of the hold. With a pointer of its own a Held would not fit into
// 256 bytes.
func (h *Held) engine() *Engine {
	if h.local != nil {
		return h.local.e
	}
	return h.extra.claim.e
}

// protocol returns the kind of lock that it is a hold of.
func (h *Held) protocol() Protocol { return h.Of.(Protocol) }

// LeaseEnded is the lease's end: by time, or by the server's word. Whoever is on
// the way to a seat finds out, and has its part of the turn.
func (h *Held) LeaseEnded(cause error) {
	cause = h.Lost(h.protocol().Label(), cause)
	seats := h.clear()
	for _, seat := range seats {
		seat.Ended(cause)
	}
	for range seats {
		h.leave()
	}
}

// leave gives on a seat's part of the turn, and its reference.
func (h *Held) leave() {
	if h.local == nil {
		h.unclaim()
		return
	}
	if h.extra != nil && h.extra.tokens.first > 0 {
		h.engine().chains.CompareAndDelete(h.Key().Name, h)
	}
	h.engine().passTurn(h.local)
	h.engine().locals.Put(h.Key().Name, h.local)
}

func (h *Held) unclaim() { h.engine().locals.Put(h.Key().Name, h.extra.claim) }

// Joint reports whether other processes may take part in the hold.
func (h *Held) Joint() bool {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return h.joint
}

// Grow asks for a lease of d from now on, if that is longer than the present
// one. A fixed hold stays fixed. It is for the seat that has the hold: after a
// hand-over it is another's.
func (h *Held) Grow(ctx context.Context, d time.Duration, seat lease.Seat) error {
	if err := h.Err(); err != nil {
		return err
	}
	if !h.has(seat) {
		return core.ErrReleased
	}
	if h.shared && h.Lease.Kept() { // it goes on in steps anyway; a fixed one has an end to move
		d = min(d, h.engine().WatchdogTimeout)
	}
	return h.Grant.Grow(ctx, d)
}

// Client returns the id of the client that acquired it.
func (h *Held) Client() string {
	client, _, _ := strings.Cut(h.Owner(), ":")
	return client
}

// Fence returns the fencing token of a seat's turn.
func (h *Held) Fence(seat lease.Seat) int64 {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.find(seat) < 0 {
		return 0
	}
	return h.fence
}

func (h *Held) has(seat lease.Seat) bool {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return h.find(seat) >= 0
}
