package locking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Release ends a hold from its seat: it goes to the next waiter of this
// process where the rules allow that, and back to the server else. It returns
// why the hold had ended before, if it had. ctx lends its values, and ends the
// caller's wait: see [send.Sender.GoOn].
func (h *Held) Release(ctx context.Context, seat lease.Seat) error {
	if !h.engine().Tasks.Begin() {
		return core.ErrClosed // left to its lease
	}
	defer h.engine().Tasks.Done()
	caller := ctx
	if ctx.Done() != nil {
		ctx = send.ValuesOf(ctx)
	}
	now := h.engine().Now()
	err := h.ErrAt(now)
	last, ok := h.detach(seat)
	switch {
	case !ok && h.Err() == nil:
		return core.ErrReleased // it is another's
	case !ok:
		h.afterLoss()
		return h.Err()
	case err != nil: // ended in this very moment; the seat is ours to clean up
		h.afterLoss()
		h.leave()
		return err
	case !last:
		h.observeRelease(ctx, true)
		h.leave()
		return nil
	}
	if h.trustedEnough(now) && h.mayHand(now) && h.pass() {
		h.observeRelease(ctx, true)
		h.handedOn()
		return nil
	}
	if caller.Done() == nil {
		return h.releaseOnServer(ctx, now)
	}
	_, queued := h.Of.(Queued)
	// A release that is left is repeated as it is, if the hold is one owner's, and its order not the server's.
	if h.engine().Crowded() && !queued && !h.Joint() && !h.sharedNext() {
		// It goes out together with the many calls of the process that are under way.
		l := &send.Leaving{Context: ctx, Over: caller.Done(), Patience: send.Lateness}
		err = h.releaseOnServer(l, now)
		if l.Left() && errors.Is(err, core.ErrDeferred) {
			err = fmt.Errorf("%w: %w", core.ErrDeferred, core.ContextError(caller))
		}
		return err
	}
	r, _ := h.engine().returns.Get().(*returning)
	if r == nil {
		r = &returning{Flight: send.Flight[struct{}]{Landed: make(chan struct{}, 1)}}
		r.Call = func() (struct{}, error) { return struct{}{}, r.h.releaseOnServer(r.ctx, r.now) }
		r.fly = r.Run
	}
	r.h, r.ctx, r.now = h, ctx, now
	err, answered := r.Outlast(h.engine().Sender, caller, r.fly)
	if answered {
		r.h, r.ctx, r.Err = nil, nil, nil
		h.engine().returns.Put(r)
	}
	return err
}

// returning is a release that may outlive its caller. It is used again, unless its
// caller has left it alone.
type returning struct {
	send.Flight[struct{}]
	fly func()
	h   *Held
	ctx context.Context
	now watchdog.Instant
}

// releaseOnServer gives the hold back to the server. With too little trust to give
// away it asks that first, and may hand the hold over then.
func (h *Held) releaseOnServer(ctx context.Context, now watchdog.Instant) error {
	var handed bool
	var err error
	if h.mayHand(now) && !h.trustedEnough(now) {
		if err = h.Renew(ctx, h.Lease.Length()); err == nil && h.pass() {
			h.observeRelease(ctx, true)
			h.handedOn()
			return nil
		}
	}
	switch {
	case send.MayHaveRun(err):
		err = h.leaveSilent(err)
	case h.sharedNext():
		handed, err = h.releaseToShared(ctx)
	default:
		err = h.sendRelease(ctx)
	}
	h.observeRelease(ctx, handed)
	h.leave()
	return err
}

func (h *Held) observeRelease(ctx context.Context, handed bool) {
	if h.engine().Observer != nil {
		if l, is := ctx.(*send.Leaving); is {
			ctx = l.Context // which an observer may keep
		}
		h.engine().Observer.Released(ctx, h.protocol().Label(), h.Key().Shown(), handed)
	}
}

// mayHand reports whether there is somebody of this process to hand the hold to,
// and the bounds allow it.
func (h *Held) mayHand(now watchdog.Instant) bool {
	return h.local != nil && h.local.queue.Waiting() > 0 && h.mayPass(now)
}

// trustedEnough reports whether there is enough trust to give away.
func (h *Held) trustedEnough(now watchdog.Instant) bool {
	return h.Lease.Left(now) >= h.Lease.Length()/2
}

// pass gives the hold to the next local waiter, if there is one that takes it:
// a shared one to all who want to share it next.
func (h *Held) pass() bool {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.passes++
	switch {
	case h.shared:
		return h.share() > 0
	case h.fence > 0:
		return h.passFenced()
	}
	return h.local.queue.HandKind(h.Key().Kind, h)
}

// handedOn gives the reference on of a seat whose hold has gone to another. The
// turn went with the hold; of a shared one, it has a part still.
func (h *Held) handedOn() {
	if h.shared {
		h.leave()
	} else {
		h.engine().locals.Put(h.Key().Name, h.local)
	}
}

// mayPass checks the bounds: other processes must get their turn.
func (h *Held) mayPass(now watchdog.Instant) bool {
	if !h.Lease.Kept() || h.engine().Open() != nil {
		return false
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	most := h.engine().HandoverTime
	if h.extra != nil && h.extra.brief {
		most = min(briefly, most)
	}
	return !h.joint && int(h.passes) < h.engine().Handovers && now.Mono-h.since < most
}

// briefly is how long a shared hold takes newcomers while others wait for it.
const briefly = time.Millisecond

// sendRelease takes the hold from the watchdog and releases it on the server.
func (h *Held) sendRelease(ctx context.Context) error {
	if !h.Finish(core.ErrReleased) {
		h.afterLoss()
		return h.Err()
	}
	h.learn()
	if h.Joint() {
		return h.unlockJoint(ctx)
	}
	if p, is := h.Of.(Queued); is {
		return h.releaseFair(ctx, p)
	}
	subscribed, before := h.listening()
	release := h.protocol().Release
	if h.late() != "" {
		release = h.Of.GiveBack
	}
	released, err := release(ctx, h.Bearer)
	switch {
	case err != nil:
		h.GiveBackLater()
		return send.Deferred(err)
	case released.Held:
		h.local.courtesy.Released(released.Reached, subscribed, before)
		return nil
	case released.Replayed && h.Lease.Trusted(h.engine().Now()):
		return nil // the first send did it, and its reply was lost
	}
	return h.LossOf(watchdog.ErrGone)
}

// leaveSilent gives up a hold while the server does not answer: there is no
// point in making the caller wait for that twice.
func (h *Held) leaveSilent(err error) error {
	h.Finish(core.ErrReleased)
	h.GiveBackLater()
	return send.Deferred(err)
}

// listening says whether our own release message will come back to us.
func (h *Held) listening() (subscribed bool, before handover.Mark) {
	return h.engine().Subscribed(h.protocol().Channel()), h.local.courtesy.Mark()
}

// unlockJoint gives back this process' level of a hold that others may have
// levels of. One that is not answered is said again later.
func (h *Held) unlockJoint(ctx context.Context) error {
	unlock, until := h.unlocking()
	err := unlock(ctx)
	if err != nil && !send.Permanent(err) {
		h.unlockLater(until, unlock)
		err = send.Deferred(err)
	}
	h.buryLate()
	return err
}

// buryLate sees to it that a late acquire of an owner which an export has
// renamed since finds a tombstone. It comes behind the unlock, which may still
// have that export to settle.
func (h *Held) buryLate() {
	if h.late() != "" {
		h.engine().GiveBackLater(h.Of, h.late(), h.Asking(0))
	}
}

// errForgotten says that an unlock may have run, so long ago that the server
// would not know it again.
var errForgotten = fmt.Errorf("%w: the unlock was not answered for too long", core.ErrLost)

// unlocking returns one counted unlock, to be said as often as needed until then:
// it is one request, which counts once for as long as the server remembers it.
// That time begins with the first send that may have arrived.
func (h *Held) unlocking() (unlock func(ctx context.Context) error, until time.Time) {
	request := send.NewRequest()
	var arrived time.Time
	return func(ctx context.Context) error {
		if !arrived.IsZero() && time.Since(arrived) > h.engine().Remembered() {
			return errForgotten
		}
		if err := h.settleExport(ctx); err != nil {
			return err
		}
		began := time.Now()
		held, err := h.Of.(Joinable).Unlock(ctx, h.Owner(), request, h.Lease.Length())
		switch {
		case send.MayHaveRun(err) && arrived.IsZero():
			arrived = began
		case err == nil && !held:
			err = lease.LossOf(watchdog.ErrGone)
		}
		return err
	}, time.Now().Add(h.Asking(0))
}

// afterLoss gives back what a lost hold may have left on the server: a renewal
// of which no answer came may have lengthened its lease. Only now, since the
// holder has just said that it is done. A level of a foreign hold is left: its
// owner's library has taken it for its own by now.
func (h *Held) afterLoss() {
	cause, _ := h.Lease.Ended()
	gone := errors.Is(cause, watchdog.ErrGone)
	switch {
	case h.Joint() && !gone && !h.foreign:
		unlock, until := h.unlocking()
		h.unlockLater(until, unlock)
		h.buryLate()
	case !h.Joint() && (!gone || h.late() != ""):
		h.GiveBackLater()
	}
}

// unlockLater goes on with a counted unlock until then.
func (h *Held) unlockLater(until time.Time, unlock func(ctx context.Context) error) {
	h.engine().AddCleanup(send.Cleanup{Key: h.Key().Name, Until: until, Work: lease.ReleaseOf(h.Key()), Run: unlock})
}
