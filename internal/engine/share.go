package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Export puts the hold under an owner that others may join, and returns that.
// An export whose answer is lost leaves the hold under one of two owners:
// renewals then ask for both, and the next use settles which.
func (h *Held) Export(ctx context.Context, seat Seat) (string, error) {
	if err := h.Err(); err != nil {
		return "", err
	}
	if _, can := h.g.(Joinable); !can {
		return "", fmt.Errorf("%w: nobody can take part in a hold of kind %q", ErrOption, h.protocol().Label())
	}
	if err := h.startExport(seat); err != nil {
		return "", err
	}
	_, err, answered := Await(h.engine(), ctx, 0, func() (struct{}, error) {
		return struct{}{}, h.settleExport(ctx)
	})
	if !answered {
		return "", fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err != nil {
		return "", err
	}
	return h.Owner(), nil
}

// startExport marks the hold as shared before the server knows: from now on it
// is neither handed over nor released as a private one.
func (h *Held) startExport(seat Seat) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.find(seat) < 0 {
		return ErrReleased // unlocked meanwhile, and perhaps handed over
	}
	if !h.joint {
		if h.rename == nil {
			h.rename = &renaming{}
		}
		h.joint, h.rename.pending = true, h.exported()
		h.rename.serial++
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
	stands, err := h.g.(Joinable).Export(ctx, private, exported)
	h.askedExport(exported, stands, err)
	if err != nil {
		return err
	}
	if !stands {
		h.lease.Lose(watchdog.ErrGone)
		return lossOf(watchdog.ErrGone)
	}
	return nil
}

// askingExport returns the owner and the one that it is to be renamed to; that is
// empty if there is nothing to settle.
func (h *Held) askingExport() (private, exported string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rename == nil || h.rename.pending == "" {
		return h.owner, ""
	}
	h.rename.asking++
	return h.owner, h.rename.pending
}

// askedExport takes the answer to one who asked. If the server has refused all
// of them, what startExport marked is taken back: the hold is a private one as
// before.
func (h *Held) askedExport(exported string, stands bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rename
	r.asking--
	r.unknown = r.unknown || mayHaveRun(err)
	switch {
	case r.pending != exported: // another's answer has settled it
	case stands:
		h.owner, r.pending, r.unknown = exported, "", false
		r.serial++
	case err != nil && r.asking == 0 && !r.unknown:
		h.joint, r.pending = false, ""
		r.serial++
	}
}

// Join takes part in the hold of a shared owner, with a level of its own. A
// foreign owner's lease is renewed more often, since its own library may
// shorten it.
func (e *Engine) Join(ctx context.Context, p Joinable, owner string, foreign bool, ask Ask, seat Seat) (*Held, error) {
	if e.Open() != nil || !e.begin() {
		return nil, ErrClosed
	}
	defer e.tasks.Done()
	claim := e.locals.Get(p.Key().Name)
	held, err := e.join(ctx, p, owner, foreign, ask, claim)
	if err != nil {
		e.locals.Put(p.Key().Name, claim)
		return nil, err
	}
	if err := held.attach(seat); err != nil {
		if held.giveUp(context.WithoutCancel(ctx)) != nil { // its level
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
	lease := (&contender{e: e, ask: ask}).leased()
	request, began := NewRequest(), time.Now()
	tried, err, answered := Await(e, ctx, grace, func() (Tried, error) {
		return p.Join(ctx, owner, request, lease)
	})
	if !answered || mayHaveRun(err) || (err == nil && !tried.Free && tried.Replayed) {
		e.Later(p.Key().Name, began.Add(e.remembered()), func(ctx context.Context) error {
			return p.Leave(ctx, owner, request)
		})
	}
	switch {
	case err != nil:
		return nil, err
	case !tried.Free:
		return nil, lossOf(watchdog.ErrGone)
	}
	if answered && !tried.Replayed && tried.Latch != "" {
		e.Drop(tried.Latch) // sent once and answered: nobody will ask for it
	}
	held := &Held{since: tried.Started.Mono, fence: tried.Fence, joint: true, foreign: foreign}
	held.init(e, p, owner)
	held.seldom = &seldom{claim: claim}
	t := ask.terms(e, tried.Started, lease)
	if foreign && t.every > 0 {
		t.every = lease / 10
	}
	held.care(tried.Started, t.lease, t.every, t.end, held)
	return held, nil
}

// RequestMemory is how long the server remembers a request, so that a send of
// it that arrives late changes nothing: longer than rueidis or the kernel keep
// a connection that has fallen silent, and below the minute after which nothing
// of ours is left on the server.
const RequestMemory = 45 * time.Second

// remembered returns how long after its first send a request may be said again.
func (e *Engine) remembered() time.Duration { return RequestMemory - 2*e.sendTimeout() }

// NewRequest returns a fresh request id, 32 hex digits as Redisson writes them.
func NewRequest() string {
	id := uuid.New()
	return fmt.Sprintf("%x", id[:])
}

// MayHaveRun reports that err leaves it open whether the server has done what it
// was asked.
func MayHaveRun(err error) bool { return mayHaveRun(err) }

// mayHaveRun reports that the server may have done what it was asked.
func mayHaveRun(err error) bool { return errors.Is(err, ErrUnknown) }

// Remembered is for how long after its first send a request may be sent again: the
// server still knows it then.
func (e *Engine) Remembered() time.Duration { return e.remembered() }
