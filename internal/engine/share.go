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
func (h *Held) Export(ctx context.Context) (string, error) {
	if err := h.Err(); err != nil {
		return "", err
	}
	if err := h.startExport(); err != nil {
		return "", err
	}
	_, err, answered := Await(h.e, ctx, 0, func() (struct{}, error) {
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
func (h *Held) startExport() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seat == nil {
		return ErrReleased
	}
	if !h.shared {
		h.shared, h.pending = true, h.e.IDs.Exported()
		h.serial++
	}
	return nil
}

// settleExport sees an export through, if one is under way.
func (h *Held) settleExport(ctx context.Context) error {
	h.mu.Lock()
	private, exported := h.owner, h.pending
	h.mu.Unlock()
	if exported == "" {
		return nil
	}
	stands, err := h.p.Export(ctx, private, exported)
	if err != nil {
		return err
	}
	if !stands {
		h.lease.Lose(watchdog.ErrGone)
		return lossOf(watchdog.ErrGone)
	}
	h.exported(exported)
	return nil
}

func (h *Held) exported(owner string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending == owner {
		h.owner, h.pending = owner, ""
		h.serial++
	}
}

// Join takes part in the hold of a shared owner, with a level of its own. A
// foreign owner's lease is renewed more often, since its own library may
// shorten it.
func (e *Engine) Join(ctx context.Context, p Protocol, owner string, foreign bool, ask Ask, seat Seat) (*Held, error) {
	if err := e.Open(); err != nil {
		return nil, err
	}
	lease, every := (&contender{e: e, ask: ask}).lease()
	if foreign && every > 0 {
		every = lease / 10
	}
	request := newRequest()
	tried, err, answered := Await(e, ctx, grace, func() (Tried, error) {
		return p.Join(ctx, owner, request, lease)
	})
	if !answered || mayHaveRun(err) {
		e.Later(p.Key().Name, time.Now().Add(2*lease), func(ctx context.Context) error {
			return p.Leave(ctx, owner, request)
		})
	}
	switch {
	case err != nil:
		return nil, err
	case !tried.Free:
		return nil, lossOf(watchdog.ErrGone)
	}
	return e.seatJoined(p, owner, tried, lease, every, seat)
}

func (e *Engine) seatJoined(p Protocol, owner string, tried Tried, lease, every time.Duration, seat Seat) (*Held, error) {
	held := e.newHeld(p, nil, owner, tried, lease, every)
	held.shared = true
	if err := held.attach(seat); err != nil {
		if e.begin() {
			_ = held.giveUp(context.Background()) // its level; a failure is said again by its own errand
			e.tasks.Done()
		}
		return nil, err
	}
	return held, nil
}

// newRequest is a fresh request id, 32 hex digits as Redisson writes them.
func newRequest() string {
	id := uuid.New()
	return fmt.Sprintf("%x", id[:])
}

// mayHaveRun reports that the server may have done what it was asked.
func mayHaveRun(err error) bool { return errors.Is(err, ErrUnknown) }
