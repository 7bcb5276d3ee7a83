package writethrough

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// WithWriteMany has [Map.PutMany], [Map.Remove] and [Map.Clear] hand up to n
// changes to one call of write, as Redisson hands over a whole putAll. Such a call is made
// under the locks of all its entries, and its context ends when one of them is lost. An
// entry that is locked elsewhere comes with a later call. An error of write changes nothing
// of its call in the map, and ends the operation. The other operations hand over one change.
// It is for a Map that writes through. n is from 1 to 1000.
func WithWriteMany(n int) Option {
	return option(func(c *config) error {
		c.many = n
		if n < 1 || n > 1000 {
			return fmt.Errorf("%w: %d changes of one call: from 1 to 1000", ErrInvalidArgument, n)
		}
		return nil
	})
}

// part is one of several changes.
type part[K comparable, V any] struct {
	Change[K, V]
	key  string
	hold *lock.Hold
}

// throughMany makes changes by few calls of the writer, and returns how many of the entries
// were there.
func (w *Map[K, V]) throughMany(ctx context.Context, op string, changes []Change[K, V], opts []rmap.PutOption) (n int64, err error) {
	_, err = w.in.Lifetime(opts)
	var rest []part[K, V]
	if err == nil {
		rest, err = w.partsOf(ctx, changes)
	}
	for err == nil && len(rest) > 0 {
		var some []part[K, V]
		if some, rest, err = w.lockSome(ctx, rest); err == nil {
			var there int64
			there, err = w.throughSome(ctx, op, some, opts)
			n += there
		}
	}
	return n, w.h.Failed(op, err)
}

// partsOf returns changes, of each entry the last, that the map can have.
func (w *Map[K, V]) partsOf(ctx context.Context, changes []Change[K, V]) (all []part[K, V], err error) {
	at := make(map[string]int)
	for _, c := range changes {
		p := part[K, V]{Change: c}
		if p.key, err = w.h.EncodeKey(ctx, c.Key); err == nil && !c.Removed {
			_, err = w.h.Codecs.Value(c.Value)
		}
		if err != nil {
			return nil, err
		}
		if i, there := at[p.key]; there {
			all[i] = p
			continue
		}
		at[p.key] = len(all)
		all = append(all, p)
	}
	return all, nil
}

// lockSome takes the locks of as many entries as one call may have, without waiting; if
// all of them are somebody else's, it waits for one.
func (w *Map[K, V]) lockSome(ctx context.Context, all []part[K, V]) (some, rest []part[K, V], err error) {
	tried := min(w.cfg.many, len(all))
	mapstore.FewAtATime(tried, func(i int) {
		if hold, err := w.m.Lock(all[i].Key).TryLock(ctx); err == nil {
			all[i].hold = hold
		}
	})
	rest = append(rest, all[tried:]...)
	for _, p := range all[:tried] {
		if p.hold != nil {
			some = append(some, p)
		} else {
			rest = append(rest, p)
		}
	}
	if len(some) > 0 {
		return some, rest, nil
	}
	first := rest[0]
	first.hold, err = w.m.Lock(first.Key).Lock(ctx)
	return []part[K, V]{first}, rest[1:], err
}

// throughSome changes the store by one call, and then the map, under the locks of the
// entries, which it gives back.
func (w *Map[K, V]) throughSome(ctx context.Context, op string, some []part[K, V], opts []rmap.PutOption) (there int64, err error) {
	defer mapstore.FewAtATime(len(some), func(i int) { _ = some[i].hold.Unlock(ctx) })
	changes, texts, held := make([]Change[K, V], len(some)), make([]string, len(some)), ctx
	for i, p := range some {
		changes[i], texts[i], held = p.Change, p.key, p.hold.Context(held)
	}
	if changes[0].Removed {
		was, err := w.h.Store.GetMany(ctx, texts)
		if err != nil {
			return 0, err
		}
		for _, v := range was {
			if v.There {
				there++
			}
		}
	}
	told := core.Write{Changes: len(changes), Attempt: 1}
	err = w.timed(&told, func() error {
		bounded, cancel := context.WithTimeoutCause(held, w.cfg.timeout, errTimeout)
		defer cancel()
		return w.write(bounded, changes)
	})
	w.tell(ctx, told)
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var failures []error
	mapstore.FewAtATime(len(some), func(i int) {
		p, verdict := some[i], rmap.Store
		if p.Removed {
			verdict = rmap.Delete
		}
		if err := w.followed(ctx, p.hold, p.Key, p.key, p.Value, verdict, false, opts); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failures = append(failures, w.h.FailedAt(op, p.key, err))
		}
	})
	return there, errors.Join(failures...)
}
