package rwlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/lock"
)

// writing is the holding of a write hold and of the read holds that were taken under its context.
// When the write hold is unlocked first, a read hold replaces it on the server, for the readers
// that are left.
//
// For the engine it is the one seat of both.
type writing struct {
	l    *Lock
	seat lease.Seat // of the write hold

	change sync.Mutex // is locked while a read hold replaces the write hold

	mu      sync.Mutex
	held    *locking.Held // the write hold, and later the read hold
	readers []*under
	left    bool   // the write hold was unlocked
	changes bool   // a read hold is replacing it
	doubted string // the owner of a read hold that may have replaced it
	cause   error  // why both ended
}

var _ locking.Holding = (*writing)(nil)

func (l *Lock) newWriting(ctx context.Context, ask locking.Ask, seat lease.Seat) (*writing, error) {
	w := &writing{l: l, seat: seat}
	held, err := l.on.e.Acquire(ctx, &l.writer, ask, w)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = held
	return w, nil
}

// Ended is called by the engine when the acquisition is lost or the client is closed.
func (w *writing) Ended(cause error) {
	w.mu.Lock()
	if w.cause == nil {
		w.cause = cause
	}
	readers := slices.Clone(w.readers)
	left := w.left
	w.mu.Unlock()
	if !left {
		w.seat.Ended(cause)
	}
	for _, r := range readers {
		r.seat.Ended(cause)
	}
}

// standing returns the present acquisition.
func (w *writing) standing() *locking.Held {
	w.mu.Lock()
	held, changes := w.held, w.changes
	w.mu.Unlock()
	if !changes || !errors.Is(held.Err(), lock.ErrReleased) {
		return held
	}
	w.change.Lock() // the other one is stored already, and is about to be set
	defer w.change.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held
}

func (w *writing) Err() error                { return w.standing().Err() }
func (w *writing) Deadline() time.Time       { return w.standing().Deadline() }
func (w *writing) Expiring() <-chan struct{} { return w.standing().Expiring() }

func (w *writing) Grow(ctx context.Context, d time.Duration, _ lease.Seat) error {
	return w.standing().Grow(ctx, d, w)
}

// Fence returns 0: the format has no tokens for this lock.
func (w *writing) Fence(lease.Seat) int64 { return 0 }

// Release ends the write hold. Without read holds under it, the lock is free.
func (w *writing) Release(ctx context.Context, _ lease.Seat) error {
	w.mu.Lock()
	w.left = true
	alone := len(w.readers) == 0
	w.changes = !alone
	w.mu.Unlock()
	if alone {
		return w.held.Release(ctx, w)
	}
	return w.l.on.e.GoOn(ctx, func() error {
		ctx := context.WithoutCancel(ctx)
		err := w.downgrade(ctx)
		w.mu.Lock()
		w.changes = false
		alone := len(w.readers) == 0 // the readers have left meanwhile
		w.mu.Unlock()
		if alone {
			return errors.Join(err, w.free(ctx))
		}
		return err
	})
}

// downgrade replaces the write hold with a read hold. If that fails, the readers stay under the
// write hold for as long as they last: it still excludes writers. After an answer that was lost, a
// renewal may find the write hold gone, and then the read holds end.
func (w *writing) downgrade(ctx context.Context) error {
	w.change.Lock()
	defer w.change.Unlock()
	owner := w.l.on.e.IDs.Private()
	shared, err := w.held.Downgrade(ctx, w, owner, w)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.held = shared
	case errors.Is(err, lock.ErrOutcomeUnknown):
		w.doubted = owner
	case errors.Is(err, lock.ErrClosed):
		return nil // left to the readers
	}
	return err
}

// free releases the present acquisition after the last level has left.
func (w *writing) free(ctx context.Context) error {
	w.mu.Lock()
	held, doubted := w.held, w.doubted
	w.mu.Unlock()
	if doubted == "" {
		return held.Release(ctx, w)
	}
	stood := held.Err()
	err := held.Release(ctx, w)
	w.l.on.e.GiveBackLater(w.l.reader, doubted, w.l.on.e.WatchdogTimeout)
	if stood == nil && errors.Is(err, lock.ErrLost) {
		return nil // the read hold had replaced it, and was valid
	}
	return err
}

// under is the holding of a read hold that was taken under a write hold.
type under struct {
	*writing
	seat lease.Seat
}

// under takes the read side under a write hold. live is false if the write hold has ended
// meanwhile.
func (s *Side) under(ctx context.Context, outer *lock.Hold, ask locking.Ask) (hold *lock.Hold, live bool, err error) {
	w, known := lockkit.Standing(outer).(*writing)
	if !known {
		return nil, false, nil
	}
	hold, err = lock.NewHold(func(seat lease.Seat) (locking.Holding, error) { return w.enter(seat) }, s.handle())
	if err != nil {
		return nil, false, nil
	}
	if ask.Lease == 0 || time.Until(hold.Deadline()) >= ask.Lease-lease.Margin(ask.Lease) {
		return hold, true, nil
	}
	if err := hold.Extend(ctx, ask.Lease); err != nil {
		return nil, true, errors.Join(err, hold.Unlock(ctx))
	}
	return hold, true, nil
}

// enter adds a read hold, unless the write hold and all read holds have ended.
func (w *writing) enter(seat lease.Seat) (locking.Holding, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cause != nil || w.left && len(w.readers) == 0 {
		return nil, lock.ErrReleased
	}
	u := &under{w, seat}
	w.readers = append(w.readers, u)
	return u, nil
}

// Release ends the read hold. If the write hold was unlocked before, the last read hold frees the
// lock.
func (u *under) Release(ctx context.Context, _ lease.Seat) error {
	err := u.Err()
	w := u.writing
	w.mu.Lock()
	w.readers = slices.DeleteFunc(w.readers, func(r *under) bool { return r == u })
	last := w.left && !w.changes && len(w.readers) == 0
	w.mu.Unlock()
	if last {
		return w.free(ctx)
	}
	return err
}
