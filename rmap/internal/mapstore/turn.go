package mapstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/lock"
)

// Entry is what Computes queue for. Handles that write in other ways do not
// share a queue.
type Entry struct {
	kind, name, key string
	shards          int
	ids, lock       bool
	Entries         Lifetime
	announce        bool
}

// Change is one Compute.
type Change = turn.Change[Value]

// At returns where an entry is, by a store.
func (h *Hub) At(e Entry, s Store) turn.Site[Value] { return site{h, e, s} }

// site is where an entry is.
type site struct {
	h     *Hub
	e     Entry
	store Store
}

func (s site) Read(ctx context.Context) (Value, error) { return s.store.Get(ctx, s.e.key) }

func (s site) Change(ctx context.Context, old, to Value, c *turn.Claim) (Value, bool, error) {
	return s.store.Change(ctx, s.e.key, old, to, s.e.Entries, c)
}

func (s site) Claim() string { return keys.MapClaim(s.e.name, s.e.key) }

// unheard logs a panic that no caller gets.
func (h *Hub) unheard(e Entry, err error) {
	h.Engine.Logger.Error("a function of Compute panicked when its caller had gone, or on a value that was not written", "name", e.name, "err", err)
}

// within takes a turn, under the lock of its entry if handles say so. If the hold is lost before
// anything was written, all is done again.
func (h *Hub) within(ctx context.Context, e Entry, t *turn.Turn[Value]) error {
	if !e.lock {
		_, err := t.Run(ctx, nil)
		return err
	}
	for {
		again, err := h.locked(ctx, e, t)
		if !again {
			return err
		}
		t.Again()
	}
}

func (h *Hub) locked(ctx context.Context, e Entry, t *turn.Turn[Value]) (again bool, err error) {
	waiting, stop := t.WhileAnybodyWaits(ctx)
	hold, err := lock.New(h.Engine, keys.EntryLock(e.name, e.key)).Lock(waiting)
	stop()
	if err != nil {
		return false, err
	}
	defer func() { _ = hold.Unlock(context.WithoutCancel(ctx)) }()
	wrote, err := t.Run(ctx, func() error {
		if hold.Err() != nil {
			return errOutrun
		}
		return nil
	})
	if err == errOutrun {
		return true, nil
	}
	if lost := hold.Err(); lost != nil && wrote {
		err = &outrunError{lost}
	}
	return false, err
}

// outrunError says that a turn lost its hold after it had written: the present holder of the
// lock may have read before that. The outcome is unknown, though no reply was lost.
type outrunError struct{ lost error }

func (e *outrunError) Error() string {
	return fmt.Sprintf("outcome unknown: it was written, but may have been overwritten: the lock of the entry was lost meanwhile: %v", e.lost)
}

func (e *outrunError) Unwrap() []error { return []error{core.ErrOutcomeUnknown, e.lost} }

// errOutrun is why a turn under a hold that was lost writes nothing.
var errOutrun = errors.New("the hold is lost")
