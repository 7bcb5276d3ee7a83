package locking

import (
	"errors"
	"slices"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// attach gives the hold to a seat that it is on the way to. It fails with the
// cause if the hold has ended meanwhile; the caller still has its part of the
// turn then.
func (h *Held) attach(seat lease.Seat) error {
	if err := h.Err(); err != nil {
		return err
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if err := h.sit(seat); err != nil {
		return err
	}
	if h.shared {
		h.promised--
	}
	return nil
}

// errFull says that a shared hold takes no newcomers.
var errFull = errors.New("the shared hold takes no newcomers")

// join is attach for a newcomer to a shared hold, which takes them as long as
// it might be handed over: others must get their turn, and have some trust.
func (h *Held) join(seat lease.Seat, now watchdog.Instant) error {
	if err := h.ErrAt(now); err != nil {
		return err
	}
	if !h.mayPass(now) || !h.trustedEnough(now) {
		return errFull
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.empty {
		return errFull
	}
	return h.sit(seat)
}

// sit adds a seat. The mutex is held.
func (h *Held) sit(seat lease.Seat) error {
	if cause, ended := h.Lease.Ended(); ended {
		return lease.LossOf(cause)
	}
	// Close marks the client closed first and tells every seat then: this hold
	// is either refused here or told there.
	if err := h.engine().Open(); err != nil {
		return err
	}
	if h.Seat == nil {
		h.Seat = seat
	} else {
		h.extra.others = append(h.extra.others, seat) // it is shared
	}
	return nil
}

// open lets others of this process take part in a shared hold that was just won:
// those who wait next, and those who come. From then on somebody else may ask
// for another one beside it.
func (h *Held) open() {
	if h.mayPass(h.engine().Now()) {
		h.Mu.Lock()
		h.share()
		h.Mu.Unlock()
	} else {
		h.local.queue.Apart()
	}
	h.local.queue.Settle()
}

// share is called under the mutex, so that nobody who gets the hold by it is
// missed by those who look whether it is empty.
func (h *Held) share() (given int) {
	given = h.local.queue.Share(h)
	h.promised += int32(given)
	if given > 0 {
		h.empty = false
	}
	return given
}

// detach takes a seat away. Whoever succeeds has a part of the turn in the
// local queue, and must give it on; the last one has the hold to release.
func (h *Held) detach(seat lease.Seat) (last, ok bool) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	switch i := h.find(seat); {
	case i < 0:
		return false, false
	case i > 0:
		h.extra.others = slices.Delete(h.extra.others, i-1, i)
	case len(h.others()) > 0:
		h.Seat = h.extra.others[0]
		h.extra.others = slices.Delete(h.extra.others, 0, 1)
	default:
		h.Seat = nil
	}
	return h.emptied(), true
}

// forgo gives up a seat that the hold was on the way to. It reports whether it
// was the last, as detach does.
func (h *Held) forgo() (last bool) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.shared {
		h.promised--
	}
	return h.emptied()
}

func (h *Held) emptied() bool {
	if h.Seat != nil || h.promised > 0 {
		return false
	}
	h.empty = true
	return true
}

// find returns the place of a seat, -1 if it has none: 0 is the first, and those
// behind it the others'.
func (h *Held) find(seat lease.Seat) int {
	switch h.Seat {
	case nil:
		return -1
	case seat:
		return 0
	}
	if i := slices.Index(h.others(), seat); i >= 0 {
		return i + 1
	}
	return -1
}

// all returns every seat.
func (h *Held) all() (seats []lease.Seat) {
	if h.Seat != nil {
		seats = append(append(seats, h.Seat), h.others()...)
	}
	return seats
}

// clear takes all seats away.
func (h *Held) clear() []lease.Seat {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	seats := h.all()
	h.Seat, h.empty = nil, true
	if h.extra != nil {
		h.extra.others = nil
	}
	return seats
}

// others returns the seats beside the first.
func (h *Held) others() []lease.Seat {
	if h.extra == nil {
		return nil
	}
	return h.extra.others
}

// Closing tells the seats that their client is being closed. The hold stays
// theirs to release.
func (h *Held) Closing() {
	h.Mu.Lock()
	seats := h.all()
	h.Mu.Unlock()
	for _, seat := range seats {
		seat.Ended(core.ErrClosed)
	}
}
