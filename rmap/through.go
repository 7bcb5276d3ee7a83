package rmap

import (
	"context"
	"fmt"
)

// Whether a change depends on what is there.
const (
	blind = false
	reads = true
)

// change changes one entry by what step says of what is there. It returns what was
// there, and whether it was changed.
func (w *Writing[K, V]) change(ctx context.Context, op string, k K, opts []PutOption, reads bool, step func(old value) (V, Verdict, error)) (old value, did bool, err error) {
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
		old, did, err = w.behind(ctx, key, l, reads, step)
	default:
		old, did, err = w.through(ctx, k, key, opts, reads, step)
	}
	return old, did, w.h.failedAt(op, key, err)
}

// through changes the store and then the map, under the lock of the entry.
func (w *Writing[K, V]) through(ctx context.Context, k K, key string, opts []PutOption, reads bool, step func(old value) (V, Verdict, error)) (old value, did bool, err error) {
	hold, err := w.m.Lock(k).Lock(ctx)
	if err != nil {
		return old, false, err
	}
	defer func() { _ = hold.Unlock(ctx) }()
	if reads {
		if old, err = w.h.store.get(ctx, key); err != nil {
			return old, false, err
		}
	}
	v, verdict, err := step(old)
	if err != nil || verdict == Keep {
		return old, false, err
	}
	if verdict == Store {
		_, err = w.h.encodeValue(v) // before the store has what the map cannot have
	}
	if err == nil {
		err = w.write(hold.Context(ctx), []Change[K, V]{{Key: k, Value: v, Removed: verdict == Delete}})
	}
	if err != nil {
		return old, false, err
	}
	if err = hold.Err(); err == nil {
		err = w.follow(ctx, k, v, verdict, opts)
	}
	if err != nil {
		err = fmt.Errorf("the store has the change, and the map may not: %w", err)
	}
	return old, err == nil, err
}

// follow changes the map as the store was.
func (w *Writing[K, V]) follow(ctx context.Context, k K, v V, verdict Verdict, opts []PutOption) (err error) {
	if verdict == Delete {
		_, err = w.m.Remove(ctx, k)
		return err
	}
	return w.m.Put(ctx, k, v, opts...)
}

// behind changes the map and queues the change for the store.
func (w *Writing[K, V]) behind(ctx context.Context, key string, l lifetime, reads bool, step func(old value) (V, Verdict, error)) (old value, did bool, err error) {
	if reads {
		old, err = w.h.store.get(ctx, key)
	}
	for try := 0; err == nil; try++ {
		var to, seen string
		v, verdict, err := step(old)
		if err != nil || verdict == Keep {
			return old, false, err
		}
		if verdict == Store {
			if to, err = w.h.encodeValue(v); err != nil {
				return old, false, err
			}
			to = "=" + to
		}
		if seen = seenText(old); !reads {
			seen = whatever
		}
		q, err := w.queue(ctx, seen, []string{key, to}, l)
		if err != nil || !q.other {
			return old, err == nil, err
		}
		old = q.there
		pause(try)
	}
	return old, false, err
}

// queue is one exchange.
func (w *Writing[K, V]) queue(ctx context.Context, seen string, pairs []string, l lifetime) (queued, error) {
	q, err := writing(ctx, w.h.h, func() (queued, error) {
		return w.h.store.(queuing).queue(ctx, w.cfg.backlog, seen, pairs, l)
	})
	if err == nil && q.full {
		err = errFull(w.cfg.backlog)
	}
	w.drains() // also if the answer was lost, or there is no room
	return q, err
}
