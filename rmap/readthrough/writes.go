package readthrough

import (
	"context"
	"iter"
	"slices"

	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Has reports whether there is an entry of k in Redis, as the map's Has does, with its cost and
// errors. It loads nothing.
func (l *Map[K, V]) Has(ctx context.Context, k K) (bool, error) {
	if l.bad != nil {
		return false, l.failed("look for", l.bad)
	}
	return l.m.Has(ctx, k)
}

// Len returns how many entries there are in Redis, as the map's Len does, with its cost and errors.
func (l *Map[K, V]) Len(ctx context.Context) (int64, error) {
	if l.bad != nil {
		return 0, l.failed("count", l.bad)
	}
	return l.m.Len(ctx)
}

// Put writes an entry, whatever was there, as the map's Put does, with its cost and errors. A load
// that is under way does not overwrite it.
func (l *Map[K, V]) Put(ctx context.Context, k K, v V, opts ...rmap.PutOption) error {
	if err := l.changes(ctx, "put into", k); err != nil {
		return err
	}
	defer l.written(k)
	return l.m.Put(ctx, k, v, opts...)
}

// PutMany writes entries, as the map's PutMany does, with its cost and errors.
func (l *Map[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...rmap.PutOption) error {
	ks := make([]K, 0, len(entries))
	for k := range entries {
		ks = append(ks, k)
	}
	if err := l.changes(ctx, "put many into", ks...); err != nil {
		return err
	}
	defer l.written(ks...)
	return l.m.PutMany(ctx, entries, opts...)
}

// Swap writes an entry and returns what was there before in Redis, as the map's Swap does, with its
// cost and errors. It loads nothing.
func (l *Map[K, V]) Swap(ctx context.Context, k K, v V, opts ...rmap.PutOption) (old V, had bool, err error) {
	if err = l.changes(ctx, "swap in", k); err != nil {
		return old, false, err
	}
	defer l.written(k)
	return l.m.Swap(ctx, k, v, opts...)
}

// Remove removes entries, as the map's Remove does, so that the next Get loads them. The result of
// a load under way is not written; its callers have the entry loaded again.
//
// Cost: that of the map's Remove; but of an [rmap.Cache], one command before it. Errors: as the
// map's.
func (l *Map[K, V]) Remove(ctx context.Context, ks ...K) (int64, error) {
	if err := l.removes(ctx, "remove from", ks...); err != nil {
		return 0, err
	}
	defer l.written(ks...)
	return l.m.Remove(ctx, ks...)
}

// Clear removes all entries from Redis, as the map's Clear does, with its cost and errors. What is
// loaded meanwhile may be written after it.
func (l *Map[K, V]) Clear(ctx context.Context) error {
	if l.bad != nil {
		return l.failed("clear", l.bad)
	}
	defer func() {
		l.mu.Lock()
		l.none.writes++
		l.none.until = nil
		l.mu.Unlock()
	}()
	return l.m.Clear(ctx)
}

// PutIfAbsent writes an entry if there is none in Redis, as the map's PutIfAbsent does, with its
// cost and errors. It loads nothing.
func (l *Map[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...rmap.PutOption) (now V, stored bool, err error) {
	if err = l.changes(ctx, "put if absent into", k); err != nil {
		return now, false, err
	}
	defer l.written(k)
	return l.m.PutIfAbsent(ctx, k, v, opts...)
}

// Replace writes an entry if there is one in Redis, as the map's Replace does, with its cost and
// errors. It loads nothing.
func (l *Map[K, V]) Replace(ctx context.Context, k K, v V, opts ...rmap.PutOption) (bool, error) {
	if err := l.changes(ctx, "replace in", k); err != nil {
		return false, err
	}
	defer l.written(k)
	return l.m.Replace(ctx, k, v, opts...)
}

// Take removes an entry and returns what was there in Redis, as the map's Take does. It loads
// nothing and never waits; ctx bounds the calls.
//
// Cost and errors: those of the map's Take, and what [Map.Remove] adds.
func (l *Map[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	if err = l.removes(ctx, "take from", k); err != nil {
		return v, false, err
	}
	defer l.written(k)
	return l.m.Take(ctx, k)
}

// CompareAndSwap writes an entry if what is there in Redis is old, as the map's CompareAndSwap
// does, with its cost and errors. It loads nothing.
func (l *Map[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...rmap.PutOption) (bool, error) {
	if err := l.changes(ctx, "compare and swap in", k); err != nil {
		return false, err
	}
	defer l.written(k)
	return l.m.CompareAndSwap(ctx, k, old, v, opts...)
}

// CompareAndRemove removes an entry if what is there in Redis is old, as the map's CompareAndRemove
// does. It loads nothing.
//
// Cost and errors: those of the map's CompareAndRemove, and what [Map.Remove] adds.
func (l *Map[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	if err := l.removes(ctx, "compare and remove from", k); err != nil {
		return false, err
	}
	defer l.written(k)
	return l.m.CompareAndRemove(ctx, k, old)
}

// Compute changes an entry by a function of what is there in Redis, as the map's Compute does. It
// loads nothing: an entry that is not there is none for f.
//
// Cost: that of the map's Compute, and one command where f says Delete, see [Map.Remove]. Errors:
// those of the map's Compute.
func (l *Map[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, rmap.Verdict, error), opts ...rmap.PutOption) (v V, there bool, err error) {
	if err = l.changes(ctx, "compute in", k); err != nil {
		return v, false, err
	}
	defer l.written(k)
	if f == nil || !l.voids {
		return l.m.Compute(ctx, k, f, opts...)
	}
	return l.m.Compute(ctx, k, func(old V, had bool) (V, rmap.Verdict, error) {
		v, verdict, err := f(old, had)
		if err == nil && verdict == rmap.Delete {
			err = l.void(ctx, k)
		}
		return v, verdict, err
	}, opts...)
}

// All walks the entries that are there in Redis, as the map's All does, with its cost and errors.
func (l *Map[K, V]) All(ctx context.Context, opts ...rmap.ScanOption) iter.Seq2[rmap.Entry[K, V], error] {
	if l.bad != nil {
		return func(yield func(rmap.Entry[K, V], error) bool) { yield(rmap.Entry[K, V]{}, l.failed("walk", l.bad)) }
	}
	return l.m.All(ctx, opts...)
}

// Keys walks the keys that are there in Redis, as the map's Keys does, with its cost and errors.
func (l *Map[K, V]) Keys(ctx context.Context, opts ...rmap.ScanOption) iter.Seq2[K, error] {
	if l.bad != nil {
		return func(yield func(K, error) bool) { var none K; yield(none, l.failed("walk", l.bad)) }
	}
	return l.m.Keys(ctx, opts...)
}

// Lock returns the lock of the entry of k, as the map's Lock is. A Get under the context
// of a hold of it loads under that.
func (l *Map[K, V]) Lock(k K) *lock.Lock {
	if l.m == nil {
		panic("readthrough: Lock of a Map of a nil map")
	}
	return l.m.Lock(k)
}

func (l *Map[K, V]) add(ctx context.Context, k K, delta V, opts []rmap.PutOption) (sum V, err error) {
	if err = l.changes(ctx, "add to", k); err != nil {
		return sum, err
	}
	defer l.written(k)
	return l.in.Add(ctx, k, delta, opts)
}

var _ rmap.Mapping[string, int] = (*Map[string, int])(nil)

// changes comes before a write of entries. If loads may run while an entry exists, it voids
// them, because they would not notice a write of the same value.
func (l *Map[K, V]) changes(ctx context.Context, op string, ks ...K) error {
	if l.bad != nil {
		return l.failed(op, l.bad)
	}
	if l.cfg.beta == 0 || !l.voids || ctx == nil {
		return nil
	}
	return l.failed(op, l.void(ctx, ks...))
}

// removes comes before a removal of entries: a load under way must not be written. A load that
// begins after it is not older than the call.
func (l *Map[K, V]) removes(ctx context.Context, op string, ks ...K) error {
	if l.bad != nil {
		return l.failed(op, l.bad)
	}
	if !l.voids || ctx == nil || len(ks) == 0 {
		return nil
	}
	return l.failed(op, l.void(ctx, ks...))
}

func (l *Map[K, V]) void(ctx context.Context, ks ...K) error {
	texts, err := l.h.KeyTexts(ctx, ks)
	if err != nil {
		return err
	}
	at := make(map[string][]string) // by the hash
	for _, text := range texts {
		home := l.h.Home(text)
		at[home] = append(at[home], text)
	}
	for _, texts := range at {
		for some := range slices.Chunk(texts, mapstore.MostInOne) {
			_, err = mapstore.Reading(ctx, l.h.Hub, func() (struct{}, error) { return struct{}{}, l.h.StoreOf(some[0]).Void(ctx, some) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}
