package locking

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Export puts the hold under an owner that others may join, and returns that.
// An export whose answer is lost leaves the hold under one of two owners:
// renewals then ask for both, and the next use settles which.
func (h *Held) Export(ctx context.Context, seat lease.Seat) (string, error) {
	if err := h.Err(); err != nil {
		return "", err
	}
	if _, can := h.Of.(Joinable); !can {
		return "", fmt.Errorf("%w: nobody can take part in a hold of kind %q", core.ErrInvalidArgument, h.protocol().Label())
	}
	if err := h.startExport(seat); err != nil {
		return "", err
	}
	_, err, answered := send.Await(h.engine().Sender, ctx, 0, func() (struct{}, error) {
		return struct{}{}, h.settleExport(ctx)
	})
	if !answered {
		return "", core.Left(err)
	}
	if err != nil {
		return "", err
	}
	return h.Owner(), nil
}

// startExport marks the hold as shared before the server knows: from now on it
// is neither handed over nor released as a private one.
func (h *Held) startExport(seat lease.Seat) error {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.find(seat) < 0 {
		return core.ErrReleased // unlocked meanwhile, and perhaps handed over
	}
	if !h.joint {
		if h.Rename == nil {
			h.Rename = &lease.Renaming{}
		}
		h.joint, h.Rename.Pending = true, h.exported()
		h.Rename.Serial++
	}
	return nil
}

// exported returns an owner that others may join the hold by.
func (h *Held) exported() string {
	if h.fence > 0 {
		return h.engine().IDs.ExportedFenced(h.fence)
	}
	return h.engine().IDs.Exported()
}

// settleExport sees an export through, if one is under way.
func (h *Held) settleExport(ctx context.Context) error {
	private, exported := h.askingExport()
	if exported == "" {
		return nil
	}
	stands, err := h.Of.(Joinable).Export(ctx, private, exported)
	h.askedExport(exported, stands, err)
	if err != nil {
		return err
	}
	if !stands {
		h.Lease.Lose(watchdog.ErrGone)
		return lease.LossOf(watchdog.ErrGone)
	}
	return nil
}

// askingExport returns the owner and the one that it is to be renamed to; that is
// empty if there is nothing to settle.
func (h *Held) askingExport() (private, exported string) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.Rename == nil || h.Rename.Pending == "" {
		return h.Bearer, ""
	}
	h.Rename.Asking++
	return h.Bearer, h.Rename.Pending
}

// askedExport takes the answer to one who asked. If the server has refused all
// of them, what startExport marked is taken back: the hold is a private one as
// before.
func (h *Held) askedExport(exported string, stands bool, err error) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	r := h.Rename
	r.Asking--
	r.Unknown = r.Unknown || send.MayHaveRun(err)
	switch {
	case r.Pending != exported: // another's answer has settled it
	case stands:
		h.Bearer, r.Pending, r.Unknown = exported, "", false
		r.Serial++
	case err != nil && r.Asking == 0 && !r.Unknown:
		h.joint, r.Pending = false, ""
		r.Serial++
	}
}

// Join takes part in the hold of a shared owner, with a level of its own. A
// foreign owner's lease is renewed more often, since its own library may
// shorten it.
func (e *Engine) Join(ctx context.Context, p Joinable, owner string, foreign bool, ask Ask, seat lease.Seat) (*Held, error) {
	if e.Open() != nil || !e.Tasks.Begin() {
		return nil, core.ErrClosed
	}
	defer e.Tasks.Done()
	claim := e.locals.Get(p.Key().Name)
	held, err := e.join(ctx, p, owner, foreign, ask, claim)
	if err != nil {
		e.locals.Put(p.Key().Name, claim)
		return nil, err
	}
	if err := held.attach(seat); err != nil {
		if held.sendRelease(context.WithoutCancel(ctx)) != nil { // its level
			held.afterLoss()
		}
		held.unclaim()
		return nil, err
	}
	return held, nil
}

// join is Join up to the hold, which keeps the claim.
func (e *Engine) join(ctx context.Context, p Joinable, owner string, foreign bool, ask Ask, claim *local) (*Held, error) {
	if err := claim.claim(p.Key()); err != nil {
		return nil, err
	}
	length := (&waiter{e: e, ask: ask}).leased()
	request, began := send.NewRequest(), time.Now()
	tried, err, answered := send.Await(e.Sender, ctx, send.Grace, func() (Tried, error) {
		return p.Join(ctx, owner, request, length)
	})
	if !answered || send.MayHaveRun(err) || (err == nil && !tried.Free && tried.Replayed) {
		e.CleanUpLater(p.Key().Name, began.Add(e.Remembered()), func(ctx context.Context) error {
			return p.Leave(ctx, owner, request)
		})
	}
	switch {
	case err != nil:
		return nil, err
	case !tried.Free:
		return nil, lease.LossOf(watchdog.ErrGone)
	}
	if answered && !tried.Replayed && tried.Latch != "" {
		e.Drop(tried.Latch) // sent once and answered: nobody will ask for it
	}
	held := &Held{since: tried.Started.Mono, fence: tried.Fence, joint: true, foreign: foreign}
	held.Init(e.Keeper, p, owner)
	held.extra = &extra{claim: claim}
	t := ask.terms(e, tried.Started, length)
	if foreign && t.every > 0 {
		t.every = length / 10
	}
	held.Care(tried.Started, t.lease, t.every, t.end, held)
	return held, nil
}
