package engine

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Downgrading is a kind of lock whose release may put a hold in its place, in
// the same step, that several share: the write side of a read-write lock.
type Downgrading interface {
	Granting
	// Readers is the kind of that hold, under the same key.
	Readers() Protocol
}

// Downgrade gives the hold of seat up, in one step, for a shared one of owner,
// which is fresh. To has that from then on, and others may join. If the server
// refuses, or does not answer, the hold stays as it was, and is seat's to release
// later; after ErrUnknown, owner is the caller's to give back behind it.
func (h *Held) Downgrade(ctx context.Context, seat Seat, owner string, to Seat) (*Held, error) {
	if h.engine().Open() != nil || !h.engine().begin() {
		return nil, ErrClosed
	}
	defer h.engine().tasks.Done()
	if !h.has(seat) {
		return nil, h.whyGone()
	}
	held, err := h.toShared(context.WithoutCancel(ctx), owner)
	if err != nil {
		return nil, err
	}
	held.open()
	if err := held.attach(to); err != nil {
		held.afterLoss()
		held.forgo()
		held.leave()
		return nil, err
	}
	return held, nil
}

// whyGone returns why a seat does not have the hold.
func (h *Held) whyGone() error {
	if err := h.Err(); err != nil {
		return err
	}
	return ErrReleased
}

// toShared takes the step. The part of the turn, and the reference, go over to the
// shared hold, which is promised to whoever asked.
func (h *Held) toShared(ctx context.Context, owner string) (*Held, error) {
	kind, now := h.g.(Downgrading), h.engine().Now()
	if err := h.errAt(now); err != nil {
		return nil, err
	}
	subscribed, before := h.listening()
	t := h.sharedTerms(now)
	lease := t.lease
	if t.end != (watchdog.Instant{}) {
		lease = min(lease, h.lease.Left(now))
	}
	granted, err := kind.ReleaseTo(ctx, h.owner, []Candidate{{Owner: owner, Lease: lease}})
	switch {
	case err != nil:
		return nil, err
	case granted.Owner == "":
		h.lease.Lose(watchdog.ErrGone)
		return nil, h.Err()
	case !h.Finish(ErrReleased): // it ended meanwhile
		h.engine().GiveBackLater(kind.Readers(), owner, lease)
		return nil, h.Err()
	}
	h.local.courtesy.Released(granted.Reached, subscribed, before)
	h.buryLate()
	return h.engine().newHeld(kind.Readers(), h.local, owner, Tried{Started: granted.Started}, t, true), nil
}

// sharedTerms returns those of the shared hold that comes behind this one: it ends
// when this would have ended.
func (h *Held) sharedTerms(now watchdog.Instant) terms {
	t := terms{lease: h.engine().WatchdogTimeout, every: h.engine().WatchdogTimeout / 3}
	if !h.lease.Kept() {
		t.end = now.Add(h.lease.Left(now))
	}
	return t
}

// sharedNext reports whether those of this process who wait next want a hold
// that they share, and can be given it in the step of the release.
func (h *Held) sharedNext() bool {
	_, can := h.g.(Downgrading)
	return can && !h.shared && h.local != nil && h.engine().ReplicaAcks == 0 && h.lease.Kept() && h.engine().Open() == nil && h.local.queue.Shares()
}

// releaseToShared makes a release that gives the lock to those who wait next.
func (h *Held) releaseToShared(ctx context.Context) (handed bool, err error) {
	owner := h.engine().IDs.Private()
	held, err := h.toShared(ctx, owner)
	switch {
	case mayHaveRun(err):
		h.engine().GiveBackLater(h.g.(Downgrading).Readers(), owner, h.engine().WatchdogTimeout)
		return false, h.leaveSilent(err)
	case err != nil:
		return false, h.giveUp(ctx)
	}
	held.open()
	if held.forgo() { // they have left meanwhile
		return false, held.giveUp(ctx)
	}
	return true, nil
}
