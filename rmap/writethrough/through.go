package writethrough

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// depends is what a change has to do with what is there.
type depends int

const (
	blind    depends = iota // nothing
	reads                   // it depends on it
	replaces                // and leaves the times of a cache's entry that are not set
)

// change changes one entry by what step says of what is there. It returns what was
// there, and whether it was changed.
func (w *Map[K, V]) change(ctx context.Context, op string, k K, opts []rmap.PutOption, on depends, step func(old mapstore.Value) (V, rmap.Verdict, error)) (old mapstore.Value, did bool, err error) {
	if err = w.usable(op); err != nil {
		return old, false, err
	}
	l, err := w.in.Lifetime(opts)
	var key string
	if err == nil {
		key, err = w.h.EncodeKey(ctx, k)
	}
	switch {
	case err != nil:
	case w.cfg.behind:
		old, did, err = w.behind(ctx, key, l, on, step)
	default:
		old, did, err = w.through(ctx, k, key, opts, on, step)
	}
	return old, did, w.h.FailedAt(op, key, err)
}

// through changes the store and then the map, under the lock of the entry.
func (w *Map[K, V]) through(ctx context.Context, k K, key string, opts []rmap.PutOption, on depends, step func(old mapstore.Value) (V, rmap.Verdict, error)) (old mapstore.Value, did bool, err error) {
	hold, err := w.m.Lock(k).Lock(ctx)
	if err != nil {
		return old, false, err
	}
	defer func() { _ = hold.Unlock(ctx) }()
	if on != blind {
		if old, err = w.h.Store.Get(ctx, key); err != nil {
			return old, false, err
		}
	}
	v, verdict, err := step(old)
	if err != nil || verdict == rmap.Keep {
		return old, false, err
	}
	if verdict == rmap.Store {
		_, err = w.h.Codecs.Value(v) // before the store has what the map cannot have
	}
	if err == nil {
		told := core.Write{Changes: 1, Attempt: 1}
		err = w.timed(&told, func() error {
			bounded, cancel := context.WithTimeoutCause(hold.Context(ctx), w.cfg.timeout, errTimeout)
			defer cancel()
			return w.write(bounded, []Change[K, V]{{Key: k, Value: v, Removed: verdict == rmap.Delete}})
		})
		w.tell(ctx, told)
	}
	if err != nil {
		return old, false, err
	}
	err = w.followed(ctx, hold, k, key, v, verdict, on == replaces && old.There, opts)
	return old, err == nil, err
}

// timed calls a writer, and notes what came of it.
func (w *Map[K, V]) timed(told *core.Write, write func() error) error {
	began := time.Now()
	err := write()
	told.Map, told.Took, told.Err = w.h.Key, time.Since(began), err
	return err
}

// tell tells of a call of the writer, if there was one.
func (w *Map[K, V]) tell(ctx context.Context, told core.Write) {
	if e := w.h.Hub.Engine; e.Caches != nil && told.Map != "" {
		e.Caches.Wrote(ctx, told)
	}
}

// followed changes the map as the store was, or sees to it that nothing older stays there.
func (w *Map[K, V]) followed(ctx context.Context, hold *lock.Hold, k K, key string, v V, verdict rmap.Verdict, replaces bool, opts []rmap.PutOption) error {
	err := hold.Err()
	if err == nil {
		err = w.follow(ctx, hold, k, key, v, verdict, replaces, opts)
	}
	if err != nil {
		err = w.mend(ctx, hold, k, key, verdict, err)
	}
	if err != nil {
		err = fmt.Errorf("the store has the change, and the map may not: %w", err)
	}
	return err
}

// follow changes the map as the store was, also if the caller has left meanwhile.
func (w *Map[K, V]) follow(ctx context.Context, hold *lock.Hold, k K, key string, v V, verdict rmap.Verdict, replaces bool, opts []rmap.PutOption) (err error) {
	ctx = context.WithoutCancel(ctx)
	g := mapstore.Guarded{Lock: w.h.Hub.Engine.Map(w.h.LockName(key)), Owner: ownerOf(hold), Key: key, Leaves: replaces}
	if g.Owner == "" || w.in.Writes {
		return w.followPlainly(hold.Context(ctx), k, v, verdict, replaces, opts) // a Map beneath takes the same lock
	}
	if g.Lives, err = w.in.Lifetime(opts); err == nil && verdict == rmap.Store {
		g.To.There = true
		g.To.Text, err = w.h.Codecs.Value(v)
	}
	if err != nil {
		return err
	}
	if w.in.Written != nil {
		defer w.in.Written(k)
	}
	return w.followGuarded(ctx, g)
}

// followPlainly is follow under a hold of several locks, and on top of another Map.
func (w *Map[K, V]) followPlainly(ctx context.Context, k K, v V, verdict rmap.Verdict, replaces bool, opts []rmap.PutOption) (err error) {
	if verdict == rmap.Delete {
		return w.removePlainly(ctx, k)
	}
	if did := false; replaces {
		if did, err = w.m.Replace(ctx, k, v, opts...); did || err != nil {
			return err
		}
	}
	return w.m.Put(ctx, k, v, opts...)
}

// removePlainly removes an entry, and ends its loads, which are older.
func (w *Map[K, V]) removePlainly(ctx context.Context, k K) error {
	if !w.in.Writes {
		key, err := w.h.EncodeKey(ctx, k)
		if err == nil {
			err = w.h.StoreOf(key).Void(ctx, []string{key})
		}
		if err != nil {
			return err
		}
	}
	_, err := w.m.Remove(ctx, k)
	return err
}

// This is the write-behind mode: it changes the map and queues the change for the store.
func (w *Map[K, V]) behind(ctx context.Context, key string, l mapstore.Lifetime, on depends, step func(old mapstore.Value) (V, rmap.Verdict, error)) (old mapstore.Value, did bool, err error) {
	if on != blind {
		old, err = w.h.Store.Get(ctx, key)
	}
	for try := 0; err == nil; try++ {
		change := mapstore.Queuing{Pairs: []string{key, ""}, Lives: l, Leaves: on == replaces, Seen: mapstore.Whatever}
		v, verdict, err := step(old)
		if err != nil || verdict == rmap.Keep {
			return old, false, err
		}
		if verdict == rmap.Store {
			text, err := w.h.Codecs.Value(v)
			if err != nil {
				return old, false, err
			}
			change.Pairs[1] = "=" + text
		}
		if on != blind {
			change.Seen = mapstore.SeenText(old)
		}
		q, err := w.queue(ctx, w.cfg.backlog, change)
		if err != nil || !q.Other {
			return old, err == nil, err
		}
		old = q.There
		turn.Pause(try)
	}
	return old, false, err
}
