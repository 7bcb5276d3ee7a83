package rmap

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/lock"
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
func (w *Writing[K, V]) change(ctx context.Context, op string, k K, opts []PutOption, on depends, step func(old value) (V, Verdict, error)) (old value, did bool, err error) {
	if err = w.usable(op); err != nil {
		return old, false, err
	}
	l, err := w.h.lifetime(opts)
	var key string
	if err == nil {
		key, err = w.h.encodeKey(ctx, k)
	}
	switch {
	case err != nil:
	case w.cfg.behind:
		old, did, err = w.behind(ctx, key, l, on, step)
	default:
		old, did, err = w.through(ctx, k, key, opts, on, step)
	}
	return old, did, w.h.failedAt(op, key, err)
}

// through changes the store and then the map, under the lock of the entry.
func (w *Writing[K, V]) through(ctx context.Context, k K, key string, opts []PutOption, on depends, step func(old value) (V, Verdict, error)) (old value, did bool, err error) {
	hold, err := w.m.Lock(k).Lock(ctx)
	if err != nil {
		return old, false, err
	}
	defer func() { _ = hold.Unlock(ctx) }()
	if on != blind {
		if old, err = w.h.store.get(ctx, key); err != nil {
			return old, false, err
		}
	}
	v, verdict, err := step(old)
	if err != nil || verdict == Keep {
		return old, false, err
	}
	if verdict == Store {
		_, err = w.h.codecs.Value(v) // before the store has what the map cannot have
	}
	if err == nil {
		told := core.Write{Changes: 1, Attempt: 1}
		err = w.timed(&told, func() error {
			bounded, cancel := context.WithTimeoutCause(hold.Context(ctx), w.cfg.timeout, errTimeout)
			defer cancel()
			return w.write(bounded, []Change[K, V]{{Key: k, Value: v, Removed: verdict == Delete}})
		})
		w.tell(ctx, told)
	}
	if err != nil {
		return old, false, err
	}
	err = w.followed(ctx, hold, k, key, v, verdict, on == replaces && old.there, opts)
	return old, err == nil, err
}

// timed calls a writer, and notes what came of it.
func (w *Writing[K, V]) timed(told *core.Write, write func() error) error {
	began := time.Now()
	err := write()
	told.Map, told.Took, told.Err = w.h.key, time.Since(began), err
	return err
}

// tell tells of a call of the writer, if there was one.
func (w *Writing[K, V]) tell(ctx context.Context, told core.Write) {
	if e := w.h.h.e; e.Caches != nil && told.Map != "" {
		e.Caches.Wrote(ctx, told)
	}
}

// followed changes the map as the store was, or sees to it that nothing older stays there.
func (w *Writing[K, V]) followed(ctx context.Context, hold *lock.Hold, k K, key string, v V, verdict Verdict, replaces bool, opts []PutOption) error {
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
func (w *Writing[K, V]) follow(ctx context.Context, hold *lock.Hold, k K, key string, v V, verdict Verdict, replaces bool, opts []PutOption) (err error) {
	ctx = context.WithoutCancel(ctx)
	g := guarded{lock: w.h.h.e.Map(w.h.lockName(key)), owner: ownerOf(hold), key: key, leaves: replaces}
	if g.owner == "" || w.in.writes {
		return w.followPlainly(ctx, k, v, verdict, replaces, opts)
	}
	if g.lives, err = w.h.lifetime(opts); err == nil && verdict == Store {
		g.to.there = true
		g.to.text, err = w.h.codecs.Value(v)
	}
	if err != nil {
		return err
	}
	if w.in.written != nil {
		defer w.in.written(k)
	}
	return w.followGuarded(ctx, g)
}

// followPlainly is follow under a hold of several locks, and on top of another Writing.
func (w *Writing[K, V]) followPlainly(ctx context.Context, k K, v V, verdict Verdict, replaces bool, opts []PutOption) (err error) {
	if verdict == Delete {
		_, err = w.m.Remove(ctx, k)
		return err
	}
	if did := false; replaces {
		if did, err = w.m.Replace(ctx, k, v, opts...); did || err != nil {
			return err
		}
	}
	return w.m.Put(ctx, k, v, opts...)
}

// This is the write-behind mode: it changes the map and queues the change for the store.
func (w *Writing[K, V]) behind(ctx context.Context, key string, l lifetime, on depends, step func(old value) (V, Verdict, error)) (old value, did bool, err error) {
	if on != blind {
		old, err = w.h.store.get(ctx, key)
	}
	for try := 0; err == nil; try++ {
		change := queuing{pairs: []string{key, ""}, lives: l, leaves: on == replaces, seen: whatever}
		v, verdict, err := step(old)
		if err != nil || verdict == Keep {
			return old, false, err
		}
		if verdict == Store {
			text, err := w.h.codecs.Value(v)
			if err != nil {
				return old, false, err
			}
			change.pairs[1] = "=" + text
		}
		if on != blind {
			change.seen = seenText(old)
		}
		q, err := w.queue(ctx, w.cfg.backlog, change)
		if err != nil || !q.other {
			return old, err == nil, err
		}
		old = q.there
		pause(try)
	}
	return old, false, err
}
