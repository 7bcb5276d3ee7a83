package rmap

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/lock"
)

// lockName returns the lock of the entry of an encoded key.
func (m *handle[K, V]) lockName(key string) string { return keys.EntryLock(m.home(key), key) }

// within reports whether ctx carries a hold of the entry's lock. Its caller does
// not queue behind those who wait for that.
func (m *handle[K, V]) within(ctx context.Context, key string) bool {
	if !m.cfg.entryLock {
		return false
	}
	_, hold := lock.Carried(ctx, m.h.e, m.h.e.Map(m.lockName(key)), "")
	return hold != nil
}

// locked takes a turn under the lock of its entry. If the hold is lost before
// anything was written, all is done again.
func (t *turn) locked(ctx context.Context) error {
	for {
		again, err := t.once(ctx)
		if !again {
			return err
		}
		t.again()
	}
}

func (t *turn) once(ctx context.Context) (again bool, err error) {
	waiting, stop := t.whileAnybodyWaits(ctx)
	hold, err := lock.New(t.h.e, keys.EntryLock(t.e.name, t.e.key)).Lock(waiting)
	stop()
	if err != nil {
		return false, err
	}
	defer func() { _ = hold.Unlock(context.WithoutCancel(ctx)) }()
	wrote, err := t.run(ctx, func() error {
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

// outrunError is what became of a turn whose hold was lost when it had written:
// who has the lock now may have read before that. The outcome is unknown, though
// no reply was lost.
type outrunError struct{ lost error }

func (e *outrunError) Error() string {
	return fmt.Sprintf("outcome unknown: it was written, but may have been overwritten: the lock of the entry was lost meanwhile: %v", e.lost)
}

func (e *outrunError) Unwrap() []error { return []error{ErrUnknown, e.lost} }

// errOutrun is why a turn under a hold that was lost writes nothing.
var errOutrun = errors.New("the hold is lost")

// whileAnybodyWaits returns a context that ends when all callers have gone.
func (t *turn) whileAnybodyWaits(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	var left atomic.Int64
	left.Store(int64(len(t.changes)))
	stops := make([]func() bool, len(t.changes))
	for i, c := range t.changes {
		stops[i] = context.AfterFunc(c.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
