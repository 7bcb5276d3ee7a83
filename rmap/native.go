package rmap

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
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
	s := m.sender()
	s.timed = true
	m.store = &plain{s}
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
// What it stores has the time to live of the call, or else of the handle: without one
// it is permanent.
func (m *Native[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts ...PutOption) (v V, there bool, err error) {
	return m.m.compute(ctx, k, f, opts)
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
	return m.m.rename(ctx, to, oneHash, false)
}

func (m *Native[K, V]) add(ctx context.Context, k K, delta V, opts []PutOption) (V, error) {
	return m.m.addTo(ctx, k, delta, opts)
}

func (m *Native[K, V]) base() base[K] { return m.m.base(m.TTL) }

// TTL is how long the entry of k stays: 0 if there is none, -1 if it has no end.
//
// Cost: one script call. Wire: HPTTL. Errors: as [Map.Has]. Source: RMapCacheNative.remainTimeToLive.
func (m *Native[K, V]) TTL(ctx context.Context, k K) (time.Duration, error) { return m.m.ttl(ctx, k) }

// Touch gives the entry of k the time to live of [WithTTL], of the call or else of
// the handle. WithTTL(0) makes it permanent. Without either nothing changes, as with
// [Cache.Touch]. It reports whether there is an entry.
//
// Cost: one script call. Wire: HEXISTS; HPEXPIRE, HPERSIST. Errors: as [Map.Put]. Source:
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
	var key string
	if err == nil {
		key, err = m.encodeKey(ctx, k)
	}
	if err == nil {
		there, err = writing(ctx, m.h, func() (bool, error) {
			p := plain{m.sender()}
			return engine.Yes(p.enters(ctx, touchScript, l.touched(), key, l.touched()))
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

// ComputeIfAbsent returns the value of k, and if there is none calls f and stores
// what that returns. It reports whether it was stored. f is called as the function of
// [Native.Compute] is: by one of those in the process that find nothing, and again where
// the entry came and went meanwhile. An error of f stores nothing, and is returned.
//
// Cost: as [Native.Get]; where there is nothing, as [Native.Compute] in addition. Errors: as
// [Map.Compute]. Source: RMapCacheNative.computeIfAbsent, by another protocol.
func (m *Native[K, V]) ComputeIfAbsent(ctx context.Context, k K, f func() (V, error), opts ...PutOption) (now V, stored bool, err error) {
	return m.m.computeIfAbsent(ctx, k, f, opts)
}

// Values walks the values, as [Native.All] walks the entries. Source: RMapCacheNative.values.
func (m *Native[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return m.m.walkValues(ctx, opts)
}

// RandomKeys returns up to n different keys, from 1 to 5,000, which the server draws.
//
// Cost: one command. Wire: HRANDFIELD. Errors: as [Map.Get]. Source: RMapCacheNative.randomKeys.
func (m *Native[K, V]) RandomKeys(ctx context.Context, n int) ([]K, error) {
	return m.m.randomKeys(ctx, n)
}

// RandomEntries returns the entries of up to n keys that [Native.RandomKeys] draws. A key
// that is removed in between is missing.
//
// Cost: as [Native.RandomKeys] and [Map.GetMany]. Errors: as [Map.Get]. Source: RMapCacheNative.randomEntries.
func (m *Native[K, V]) RandomEntries(ctx context.Context, n int) (map[K]V, error) {
	ks, err := m.m.randomKeys(ctx, n)
	if err != nil {
		return nil, err
	}
	return m.m.getMany(ctx, ks)
}

// Peek returns the entry of k with the times that it has, and whether there is one.
// Idle is -1: entries of a native map have no idle time.
//
// Cost: a script call. Errors: as [Map.Get]. Source: RMapCacheNative.get and remainTimeToLive.
func (m *Native[K, V]) Peek(ctx context.Context, k K) (e Timed[K, V], there bool, err error) {
	return m.m.peek(ctx, m.timed(), k)
}

// PeekMany is [Native.Peek] of those of the keys that are there. What does not decode is
// left out, and is the error beside the others. Cost: a script call for each 500 keys, or for as
// many as have about 1 MB. Errors: as [Map.Get].
func (m *Native[K, V]) PeekMany(ctx context.Context, ks ...K) (map[K]Timed[K, V], error) {
	return m.m.peekAll(ctx, m.timed(), ks)
}

// TTLMany is [Native.TTL] of those of the keys that are there. Cost: a script call for each 500 keys.
// Errors: as [Map.Has].
func (m *Native[K, V]) TTLMany(ctx context.Context, ks ...K) (map[K]time.Duration, error) {
	return m.m.ttlMany(ctx, m.timed(), ks)
}

// ExpireEntries has those of the entries that are there end in d, and returns how many
// that has changed. With [IfNotSet], [IfGreater] or [IfLess] it is about those alone.
// A load that is under way writes no entry that was given an end.
//
// Cost: a script call for each 500 keys. Errors: as [Map.Put]; the number is that of the
// calls which were answered. Source: RMapCacheNative.expireEntries, expireEntriesIfNotSet and the like.
func (m *Native[K, V]) ExpireEntries(ctx context.Context, ks []K, d time.Duration, when ...ExpireIf) (int64, error) {
	if err := engine.CheckTTL("time to live", d); err != nil {
		return 0, m.m.failed("expire entries of", err)
	}
	return m.m.expireEntries(ctx, m.timed(), "expire entries of", ks, d, when)
}

// ClearExpire takes the times to live of entries away, and returns how many had one.
//
// Cost and errors: as [Native.ExpireEntries]. Source: RMapCacheNative.clearExpire.
func (m *Native[K, V]) ClearExpire(ctx context.Context, ks ...K) (int64, error) {
	return m.m.expireEntries(ctx, m.timed(), "clear ends of", ks, 0, nil)
}

// timed is the store of a native map.
func (m *Native[K, V]) timed() *plain { return m.m.store.(*plain) }

// RenameIfAbsent is [Native.Rename] if nothing has the new name, and reports whether that is
// so and there is such a map.
//
// Cost: one script call. Errors: as [Map.Put]. Source: RMapCacheNative.renamenx.
func (m *Native[K, V]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return m.m.rename(ctx, to, oneHash, true)
}

// Copy copies the map under another name, with its times, if nothing has that, and
// reports whether that is so and there is such a map. The server does nothing else
// meanwhile, about a second for a million entries. On a cluster both names share a hash tag.
//
// Cost: one script call. Wire: COPY. Errors: as [Map.Put]. Source: RMapCacheNative.copy.
func (m *Native[K, V]) Copy(ctx context.Context, to string) (bool, error) {
	return m.m.copyTo(ctx, to, oneHash)
}

// ExpireAt is [Native.Expire] at a time, by the clock of the server. A time that has passed
// ends it at once.
//
// Cost: one script call. Wire: PEXPIREAT. Errors: as [Map.Put]. Source: RMapCacheNative.expire.
func (m *Native[K, V]) ExpireAt(ctx context.Context, at time.Time) (bool, error) {
	return m.m.expireAt(ctx, at)
}

// SizeInMemory is about how many bytes the map takes on the server, 0 if there is none.
// An ACL has to allow memory|usage.
//
// Cost: one script call. Wire: MEMORY USAGE. Errors: as [Map.Has]. Source: RMapCacheNative.sizeInMemory.
func (m *Native[K, V]) SizeInMemory(ctx context.Context) (int64, error) { return m.m.sizeInMemory(ctx) }

// FairLock is the fair lock of the entry of k, there or not, {name}:<hash of the key>:fairlock.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCacheNative.getFairLock.
func (m *Native[K, V]) FairLock(k K) *fairlock.Lock { return m.m.fairLockOf(k) }

// RWLock is the read-write lock of the entry of k, there or not, {name}:<hash of the key>:rw_lock.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCacheNative.getReadWriteLock.
func (m *Native[K, V]) RWLock(k K) *rwlock.Lock { return m.m.rwLockOf(k) }

// Semaphore is the semaphore of the entry of k, there or not, {name}:<hash of the key>:semaphore.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCacheNative.getSemaphore.
func (m *Native[K, V]) Semaphore(k K) *semaphore.Semaphore { return m.m.semaphoreOf(k) }

// PermitSemaphore is the semaphore of permits with leases of the entry of k, there or not, {name}:<hash of the key>:permitexpirablesemaphore.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCacheNative.getPermitExpirableSemaphore.
func (m *Native[K, V]) PermitSemaphore(k K) *semaphore.PermitSemaphore { return m.m.permitsOf(k) }

// Latch is the latch of the entry of k, there or not, {name}:<hash of the key>:countdownlatch. On a cluster it is an
// [ErrOption], since the names of latches have no braces there.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCacheNative.getCountDownLatch.
func (m *Native[K, V]) Latch(k K) *latch.Latch { return m.m.latchOf(k) }
