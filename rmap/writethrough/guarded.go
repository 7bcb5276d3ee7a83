package writethrough

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// ownerOf returns the owner of a hold's lock on the server; empty of a hold of several locks.
func ownerOf(hold *lock.Hold) string {
	if one, is := lockkit.Standing(hold).(interface{ Owner() string }); is {
		return one.Owner()
	}
	return ""
}

// errTooLate is why the map was not changed as the store was.
var errTooLate = errors.New("the lock of the entry was lost before the map was written")

// followGuarded changes the map as the store was, if the lock is held still when the
// request arrives.
func (w *Map[K, V]) followGuarded(ctx context.Context, g mapstore.Guarded) error {
	at := w.h.StoreOf(g.Key)
	did, err := mapstore.Writing(ctx, w.h.Hub, func() (bool, error) { return at.Guarded(ctx, g) })
	if err == nil && !did {
		err = errTooLate
	}
	return err
}

// mendTime bounds the removal of an entry that may be older than the store.
const mendTime = time.Second

// mend follows a change that the store has, and the map may not have. It removes the entry, if
// the server can be reached, so that a loader brings what the store has. It returns nil if a
// removal was the change.
func (w *Map[K, V]) mend(ctx context.Context, hold *lock.Hold, k K, key string, verdict rmap.Verdict, why error) error {
	ctx, cancel := context.WithTimeout(lock.Detach(context.WithoutCancel(ctx)), mendTime)
	defer cancel()
	lost, err := errors.Is(why, errTooLate) || hold.Err() != nil, error(nil)
	if lost {
		_ = hold.Unlock(ctx) // its place in the process's order
		if hold, err = w.m.Lock(k).TryLock(ctx, lock.WithWait(mendTime)); err == nil {
			defer func() { _ = hold.Unlock(context.WithoutCancel(ctx)) }()
		}
	} else if errors.Is(why, ErrOutcomeUnknown) {
		// What comes late is of another owner then, and the hold is not handed on with its owner.
		_, _ = hold.Token(ctx)
	}
	if err == nil {
		err = w.removeUnder(ctx, hold, key)
	}
	for try := 0; errors.Is(err, ErrOutcomeUnknown) && ctx.Err() == nil; try++ { // connections end together, and removing twice does no harm
		turn.Pause(try)
		err = w.removeUnder(ctx, hold, key)
	}
	switch {
	case err != nil:
		w.h.Hub.Engine.Logger.Warn("an entry may be older than the store has it", "name", w.h.Key, "key", object.Quoted(key), "err", err)
		return why
	case verdict == rmap.Delete && !lost:
		return nil
	}
	return fmt.Errorf("%w; the entry was removed from the map", why)
}

// removeUnder removes an entry from the map alone, as long as its lock is held. Under a
// hold of several locks, whose owner nobody knows, it does so anyway.
func (w *Map[K, V]) removeUnder(ctx context.Context, hold *lock.Hold, key string) error {
	if owner := ownerOf(hold); owner != "" {
		return w.followGuarded(ctx, mapstore.Guarded{Lock: w.h.Hub.Engine.Map(w.h.LockName(key)), Owner: owner, Key: key})
	}
	_, err := mapstore.Writing(ctx, w.h.Hub, func() (int64, error) {
		if err := w.h.StoreOf(key).Void(ctx, []string{key}); err != nil {
			return 0, err
		}
		return w.h.Store.Remove(ctx, []string{key})
	})
	return err
}
