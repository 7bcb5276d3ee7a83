package rmap

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/lock"
)

// Native is a handle on the map of one name whose entries may have times to live
// that the server itself keeps, which Redisson's RMapCacheNative shares. In Redis
// it is a [Map]: what reads that reads this. It needs Redis 7.4 or Valkey 9; on
// an older server every operation is an error that wraps [errors.ErrUnsupported]
// and names the version, and nothing is written. While a cluster is upgraded, that
// is so of the names whose server is the old one still. [Cache] does without.
//
// It holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same map.
type Native[K comparable, V any] struct{ m *handle[K, V] }

// NewNative returns a handle. Programs outside of this module call
// rueidisson.Native.
func NewNative[K comparable, V any](e *engine.Engine, name string, opts ...Option) *Native[K, V] {
	m := newHandle[K, V](e, "native map", name, lifetime.native, opts)
	m.store = &plain{m.sender()}
	m.ready = func(ctx context.Context) error { return m.h.fieldsExpire(ctx, m.key) }
	return &Native[K, V]{m}
}

// Name is the name that the handle was made with, before any mapping.
func (m *Native[K, V]) Name() string { return m.m.name }

// Get returns the value of k, and whether there is one, as [Map.Get] does. Nothing
// that has gone is there.
func (m *Native[K, V]) Get(ctx context.Context, k K) (V, bool, error) { return m.m.get(ctx, k) }

// GetMany returns the entries of those of the keys that are there, as
// [Map.GetMany] does.
func (m *Native[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	return m.m.getMany(ctx, ks)
}

// Has reports whether there is an entry of k, as [Map.Has] does.
func (m *Native[K, V]) Has(ctx context.Context, k K) (bool, error) { return m.m.has(ctx, k) }

// Len is how many entries there are, and those that have gone and that the server
// has not swept yet. Cost: HLEN. Errors: as [Map.Has]. Source:
// RMapCacheNative.size.
func (m *Native[K, V]) Len(ctx context.Context) (int64, error) { return m.m.length(ctx) }

// Put writes an entry, whatever was there, as [Map.Put] does. Without [WithTTL]
// or [WithKeepTTL] it makes the entry permanent.
//
// Cost: one command; with a time to live, one script call. Wire: HSET, HPEXPIRE.
// Errors: as [Map.Put]. Source: RMapCacheNative.fastPut.
func (m *Native[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	return m.m.put(ctx, k, v, opts)
}

// PutMany writes entries, as [Map.PutMany] does, all with the same time to live.
//
// Cost: as [Map.PutMany]; with a time to live, script calls. Source:
// RMapCacheNative.putAll.
func (m *Native[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
	return m.m.putMany(ctx, entries, opts)
}

// Swap writes an entry, and returns what was there before, as [Map.Swap] does.
// Source: RMapCacheNative.put.
func (m *Native[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	return m.m.swap(ctx, k, v, opts)
}

// Remove removes entries, and returns how many there were, as [Map.Remove] does.
func (m *Native[K, V]) Remove(ctx context.Context, ks ...K) (int64, error) {
	return m.m.remove(ctx, ks)
}

// Clear removes all entries, as [Map.Clear] does.
func (m *Native[K, V]) Clear(ctx context.Context) error { return m.m.clear(ctx) }

// PutIfAbsent writes an entry if there is none, as [Map.PutIfAbsent] does. Source:
// RMapCacheNative.putIfAbsent.
func (m *Native[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	return m.m.putIfAbsent(ctx, k, v, opts)
}

// Replace writes an entry if there is one, as [Map.Replace] does.
func (m *Native[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (bool, error) {
	return m.m.replace(ctx, k, v, opts)
}

// Take removes an entry and returns it, as [Map.Take] does.
func (m *Native[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	return m.m.take(ctx, k)
}

// CompareAndSwap writes an entry if what is there has the bytes of old, as
// [Map.CompareAndSwap] does.
func (m *Native[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (bool, error) {
	return m.m.compareAndSwap(ctx, k, old, v, opts)
}

// CompareAndRemove removes an entry if what is there has the bytes of old, as
// [Map.CompareAndRemove] does.
func (m *Native[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	return m.m.compareAndRemove(ctx, k, old)
}

// Compute changes an entry by a function of what is there, as [Map.Compute] does.
// What it stores has the time to live of the handle: without one it is permanent.
func (m *Native[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error)) (v V, there bool, err error) {
	return m.m.compute(ctx, k, f)
}

// All walks the entries, as [Map.All] does. What has gone does not come.
func (m *Native[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return m.m.all(ctx, opts)
}

// Keys walks the keys, as [Map.Keys] does.
func (m *Native[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return m.m.allKeys(ctx, opts)
}

// Lock is the lock of the entry of k, there or not, as [Map.Lock].
func (m *Native[K, V]) Lock(k K) *lock.Lock { return m.m.lockOf(k) }

// Delete deletes the map, as [Map.Delete] does.
func (m *Native[K, V]) Delete(ctx context.Context) (bool, error) { return m.m.deleteAll(ctx) }

// Exists reports whether there is an entry at all, as [Map.Exists] does.
func (m *Native[K, V]) Exists(ctx context.Context) (bool, error) { return m.m.exists(ctx) }

// Expire lets the whole map go in d, as [Map.Expire] does; entries may go before.
func (m *Native[K, V]) Expire(ctx context.Context, d time.Duration) (bool, error) {
	return m.m.expire(ctx, d)
}

// Persist lets the map stay, as [Map.Persist] does; entries go when they would
// have.
func (m *Native[K, V]) Persist(ctx context.Context) (bool, error) { return m.m.persist(ctx) }

// Remaining is how long the map stays, as [Map.Remaining].
func (m *Native[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return m.m.remaining(ctx)
}

// Rename gives the map another name, as [Map.Rename] does. Entries keep their
// times to live.
func (m *Native[K, V]) Rename(ctx context.Context, to string) (bool, error) {
	return m.m.rename(ctx, to, func(key string) []string { return []string{key} })
}

func (m *Native[K, V]) add(ctx context.Context, k K, delta V) (V, error) {
	return m.m.addTo(ctx, k, delta)
}

func (m *Native[K, V]) base() base[K] { return m.m.base(m.TTL) }

// TTL is how long the entry of k stays: 0 if there is none, -1 if it has no end.
//
// Cost: one script call. Wire: HPTTL. Errors: as [Map.Has]. Source: RMapCacheNative.remainTimeToLive.
func (m *Native[K, V]) TTL(ctx context.Context, k K) (time.Duration, error) { return m.m.ttl(ctx, k) }

// Touch gives an entry another time to live, that of [WithTTL] or else of the
// handle, and makes it permanent without either. It reports whether there is one.
//
// Cost: one script call. Wire: HPEXPIRE, HPERSIST. Errors: as [Map.Put]. Source:
// RMapCacheNative.expireEntry, clearExpire.
func (m *Native[K, V]) Touch(ctx context.Context, k K, opts ...PutOption) (bool, error) {
	return m.m.touchField(ctx, k, opts)
}

func (m *handle[K, V]) ttl(ctx context.Context, k K) (left time.Duration, err error) {
	key, err := m.encodeKey(ctx, k)
	if err == nil {
		left, err = reading(ctx, m.h, func() (time.Duration, error) {
			return engine.Remainder(engine.Number(m.h.e.Run(ctx, ttlScript, []string{m.key}, []string{key})))
		})
	}
	return left, m.failedAt("look at", key, err)
}

func (m *handle[K, V]) touchField(ctx context.Context, k K, opts []PutOption) (there bool, err error) {
	l, err := m.lifetime(opts)
	if err == nil && l.keep {
		err = fmt.Errorf("%w: nothing would change with WithKeepTTL", ErrOption)
	}
	var key string
	if err == nil {
		key, err = m.encodeKey(ctx, k)
	}
	if err == nil {
		there, err = writing(ctx, m.h, func() (bool, error) {
			s := m.sender()
			return engine.Yes(s.write(ctx, touchScript, s.keys(), s.tellOne(key, key, l.text())...))
		})
	}
	return there, m.failedAt("touch", key, err)
}

// native refuses what the server has nothing for.
func (l lifetime) native() error {
	if l.idle != 0 {
		return fmt.Errorf("%w: the entries of a native map have no idle time: those of a Cache have", ErrOption)
	}
	return nil
}
