package locking

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Downgrading is a kind of lock whose release may put a hold in its place, in
// the same step, that several share: the write side of a read-write lock.
type Downgrading interface {
	HandoverProtocol
	// Readers is the kind of that hold, under the same key.
	Readers() Protocol
}

// Downgrade gives the hold of seat up, in one step, for a shared one of owner,
// which is fresh. To has that from then on, and others may join. If the server
// refuses, or does not answer, the hold stays as it was, and is seat's to release
// later; after ErrOutcomeUnknown, owner is the caller's to give back behind it.
func (h *Held) Downgrade(ctx context.Context, seat lease.Seat, owner string, to lease.Seat) (*Held, error) {
	if h.engine().Open() != nil || !h.engine().Tasks.Begin() {
		return nil, core.ErrClosed
	}
	defer h.engine().Tasks.Done()
	if !h.has(seat) {
		if err := h.Err(); err != nil {
			return nil, err
		}
		return nil, core.ErrReleased
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

// toShared takes the step. The part of the turn, and the reference, go over to the
// shared hold, which is promised to whoever asked.
func (h *Held) toShared(ctx context.Context, owner string) (*Held, error) {
	kind, now := h.Of.(Downgrading), h.engine().Now()
	if err := h.ErrAt(now); err != nil {
		return nil, err
	}
	subscribed, before := h.listening()
	lease := h.engine().WatchdogTimeout
	t := terms{lease: lease, every: lease / 3}
	if !h.Lease.Kept() { // the shared hold ends when this would have ended
		lease = min(lease, h.Lease.Left(now))
		t.end = now.Add(h.Lease.Left(now))
	}
	granted, err := kind.ReleaseTo(ctx, h.Bearer, []Candidate{{Owner: owner, Lease: lease}})
	switch {
	case err != nil:
		return nil, err
	case granted.Owner == "":
		h.Lease.Lose(watchdog.ErrGone)
		return nil, h.Err()
	case !h.Finish(core.ErrReleased): // it ended meanwhile
		h.engine().GiveBackLater(kind.Readers(), owner, lease)
		return nil, h.Err()
	}
	h.local.courtesy.Released(granted.Reached, subscribed, before)
	h.buryLate()
	return h.engine().newHeld(kind.Readers(), h.local, owner, Tried{Started: granted.Started}, t, true), nil
}

// sharedNext reports whether those of this process who wait next want a hold
// that they share, and can be given it in the step of the release.
func (h *Held) sharedNext() bool {
	_, can := h.Of.(Downgrading)
	return can && !h.shared && h.local != nil && h.engine().ReplicaAcks == 0 && h.Lease.Kept() && h.engine().Open() == nil && h.local.queue.Shares()
}

// releaseToShared makes a release that gives the lock to those who wait next.
func (h *Held) releaseToShared(ctx context.Context) (handed bool, err error) {
	owner := h.engine().IDs.Private()
	held, err := h.toShared(ctx, owner)
	switch {
	case send.MayHaveRun(err):
		h.engine().GiveBackLater(h.Of.(Downgrading).Readers(), owner, h.engine().WatchdogTimeout)
		return false, h.leaveSilent(err)
	case err != nil:
		return false, h.sendRelease(ctx)
	}
	held.open()
	if held.forgo() { // they have left meanwhile
		return false, held.sendRelease(ctx)
	}
	return true, nil
}
