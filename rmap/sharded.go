package rmap

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
)

// Sharded is a handle on the sharded map of one name: a map of n hashes that
// spread over the slots of a cluster, and so over its servers. Which hash an entry
// is in follows from its key. It is this library's alone: Redisson has none, and
// what takes its name for that of another map is refused by the server.
//
// All handles on one name are made with the same n. The name holds it, and every
// operation of a handle with another one is an [ErrOption] that says both numbers;
// a handle looks there again when it has not for a second. The number can be
// changed only when nobody uses the map: [Sharded.Delete] it, wait a second, and
// write it anew.
//
// What is about one entry is as of a [Map]. What is about several is done in
// their hashes one by one, 32 of them at the same time, and is not of one moment.
//
// It holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same map.
type Sharded[K comparable, V any] struct {
	m *handle[K, V]
	s *sharded
}

// most shards: there are so many slots.
const slots = 16384

// NewSharded returns a handle. Programs outside of this module call
// rueidisson.Sharded.
func NewSharded[K comparable, V any](e *engine.Engine, name string, n int, opts ...Option) *Sharded[K, V] {
	m := newHandle[K, V](e, "sharded map", name, lifetime.none, opts)
	m.cfg.shards = n
	s := &sharded{m.sender(), n}
	m.store = s
	switch {
	case m.bad != nil:
	case n < 1 || n > slots:
		m.bad = fmt.Errorf("%w: %d shards: from 1 to %d", ErrOption, n, slots)
	case e.Cluster() && keys.Spreads(m.key) != nil:
		m.bad = fmt.Errorf("%w: the shards of a map %q would not spread: on a cluster its name has no braces", ErrOption, m.key)
	}
	if m.bad != nil {
		s.n = 1
	}
	return &Sharded[K, V]{m, s}
}

// Name is the name that the handle was made with, before any mapping.
func (m *Sharded[K, V]) Name() string { return m.m.name }

// Shards is the number of hashes that the handle was made with.
func (m *Sharded[K, V]) Shards() int { return m.m.cfg.shards }

// Get returns the value of k, and whether there is one, as [Map.Get] does; Gets
// share an HMGET with those of the same shard. Once a second one of them waits for
// a GET of the name. Errors: as [Map.Get], and ErrOption for another number of
// shards.
func (m *Sharded[K, V]) Get(ctx context.Context, k K) (V, bool, error) { return m.m.get(ctx, k) }

// GetMany returns the entries of those of the keys that are there, as
// [Map.GetMany] does, those of one shard and one command of one moment.
//
// Cost: an HMGET for each shard that there are keys of, 32 at the same time, for
// each 5,000 keys.
func (m *Sharded[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	return m.m.getMany(ctx, ks)
}

// Has reports whether there is an entry of k, as [Map.Has] does.
func (m *Sharded[K, V]) Has(ctx context.Context, k K) (bool, error) { return m.m.has(ctx, k) }

// Len is how many entries there are. Shards are counted at different moments, so
// that an entry which is moved from one key to another may be counted twice, or not
// at all. Cost: an HLEN for each shard.
func (m *Sharded[K, V]) Len(ctx context.Context) (int64, error) { return m.m.length(ctx) }

// Put writes an entry, whatever was there, as [Map.Put] does.
func (m *Sharded[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	return m.m.put(ctx, k, v, opts)
}

// PutMany writes entries: those of one shard together, up to 2,500 entries or 1 MB
// of all. After an error some may have been written, of any shards.
//
// Cost: an HSET for each shard, for each such part. Errors: as [Map.Put].
func (m *Sharded[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
	return m.m.putMany(ctx, entries, opts)
}

// Swap writes an entry, and returns what was there before, as [Map.Swap] does.
func (m *Sharded[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	return m.m.swap(ctx, k, v, opts)
}

// Remove removes entries, and returns how many there were, as [Map.Remove] does.
// Cost: an HDEL for each shard that there are keys of, for each 5,000 keys.
func (m *Sharded[K, V]) Remove(ctx context.Context, ks ...K) (int64, error) {
	return m.m.remove(ctx, ks)
}

// Clear removes all entries, a shard at a time: an entry that is written meanwhile
// may stay or go. After an error some shards may be empty and others not. The
// number of shards stays. Cost: an UNLINK for each shard. Errors: as [Map.Put].
func (m *Sharded[K, V]) Clear(ctx context.Context) error { return m.m.clear(ctx) }

// PutIfAbsent writes an entry if there is none, as [Map.PutIfAbsent] does.
func (m *Sharded[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	return m.m.putIfAbsent(ctx, k, v, opts)
}

// Replace writes an entry if there is one, as [Map.Replace] does.
func (m *Sharded[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (bool, error) {
	return m.m.replace(ctx, k, v, opts)
}

// Take removes an entry and returns it, as [Map.Take] does.
func (m *Sharded[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	return m.m.take(ctx, k)
}

// CompareAndSwap writes an entry if what is there has the bytes of old, as
// [Map.CompareAndSwap] does.
func (m *Sharded[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (bool, error) {
	return m.m.compareAndSwap(ctx, k, old, v, opts)
}

// CompareAndRemove removes an entry if what is there has the bytes of old, as
// [Map.CompareAndRemove] does.
func (m *Sharded[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	return m.m.compareAndRemove(ctx, k, old)
}

// Compute changes an entry by a function of what is there, as [Map.Compute] does.
func (m *Sharded[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts ...PutOption) (v V, there bool, err error) {
	return m.m.compute(ctx, k, f, opts)
}

// All walks the entries, a shard behind the other, each as [Map.All] does.
func (m *Sharded[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return m.m.all(ctx, opts)
}

// Keys walks the keys, as [Sharded.All] does the entries.
func (m *Sharded[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return m.m.allKeys(ctx, opts)
}

// Lock is the lock of the entry of k, there or not, as [Map.Lock]. Its name is
// {name:shard}:<hash of the key>:lock.
func (m *Sharded[K, V]) Lock(k K) *lock.Lock { return m.m.lockOf(k) }

// Delete deletes the map, shard by shard, and at last the number of them. It
// reports whether there was one. After an error some shards may have gone, and the
// number stands: call it again. What is written meanwhile may stay.
//
// Cost: an UNLINK for each shard, and one more. Errors: as [Map.Put].
func (m *Sharded[K, V]) Delete(ctx context.Context) (bool, error) { return m.delete(ctx) }

// Exists reports whether there is an entry at all. Cost: an EXISTS for each shard.
// Errors: as [Map.Has].
func (m *Sharded[K, V]) Exists(ctx context.Context) (bool, error) { return m.exists(ctx) }

// Expire lets each shard that has entries go in d, with all that is written to it
// until then, and reports whether there is one. A shard that is empty now, and is
// written to later, stays: repeat Expire if entries are added meanwhile.
//
// Cost: a script call for each shard, and one more; a PTTL for each shard two, four
// and five seconds later. Wire: PEXPIRE. Errors: as [Map.Put]; after one, some shards
// may go.
func (m *Sharded[K, V]) Expire(ctx context.Context, d time.Duration) (bool, error) {
	return m.expire(ctx, d)
}

// Persist lets all shards stay, and reports whether one was to go. Cost: a script
// call for each shard, and one more. Wire: PERSIST. Errors: as [Map.Put].
func (m *Sharded[K, V]) Persist(ctx context.Context) (bool, error) { return m.persist(ctx) }

// Remaining is how long the shard that stays longest does: 0 if there is none, -1
// if one has no end. Cost: a PTTL for each shard. Errors: as [Map.Has].
func (m *Sharded[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return m.remaining(ctx)
}

// Rename gives the map another name, over a sharded map that has it and as many
// shards, and reports whether there was one. The handle stays one on the old name.
// On a cluster the shards of another name are in other slots: there it is an
// [ErrOption].
//
// Cost: one script call, two exchanges before it, and a PTTL behind it; of a map that
// is to go what [Sharded.Expire] does later. Wire: RENAME. Errors: as [Map.Put].
func (m *Sharded[K, V]) Rename(ctx context.Context, to string) (bool, error) {
	return m.under(ctx, "rename", to, true, renameScript, flag(false))
}

// RenameIfAbsent is [Sharded.Rename] if nothing has the new name, and reports whether
// that is so and there is such a map. Cost and errors: as [Sharded.Rename].
func (m *Sharded[K, V]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return m.under(ctx, "rename", to, false, renameScript, flag(true))
}

// Copy copies the map under another name if nothing has that, as [Map.Copy] does, and
// reports whether that is so and there is such a map. On a cluster it is an [ErrOption],
// as [Sharded.Rename] is.
//
// Cost and errors: as [Sharded.Rename]. Wire: COPY.
func (m *Sharded[K, V]) Copy(ctx context.Context, to string) (bool, error) {
	return m.under(ctx, "copy", to, false, copyScript)
}

// ExpireAt is [Sharded.Expire] at a time, by the clock of this process: at once if that has
// passed. One that is not after 1970, or is too far ahead, is an [ErrOption].
func (m *Sharded[K, V]) ExpireAt(ctx context.Context, at time.Time) (bool, error) {
	return m.expireAt(ctx, at)
}

// SizeInMemory is about how many bytes the map takes on its servers, 0 if there is none.
// An ACL has to allow memory|usage.
//
// Cost: a script call for each shard, and one more. Wire: MEMORY USAGE. Errors: as
// [Map.Has].
func (m *Sharded[K, V]) SizeInMemory(ctx context.Context) (int64, error) {
	return m.sizeInMemory(ctx)
}

func (m *Sharded[K, V]) add(ctx context.Context, k K, delta V, opts []PutOption) (V, error) {
	return m.m.addTo(ctx, k, delta, opts)
}

func (m *Sharded[K, V]) base() base[K] {
	return base[K]{h: m.m.h, bad: m.m.bad, keys: m.s.object()[1:], announces: m.m.cfg.announce, at: func(k K) (int, string, error) {
		field, err := m.m.keyText(k)
		return keys.ShardOf(field, m.s.n), field, err
	}}
}

// ComputeIfAbsent returns the value of k, and if there is none calls f and stores
// what that returns. It reports whether it was stored. f is called as the function of
// [Sharded.Compute] is: by one of those in the process that find nothing, and again where
// the entry came and went meanwhile. An error of f stores nothing, and is returned.
//
// Cost: as [Sharded.Get]; where there is nothing, as [Sharded.Compute] in addition. Errors: as
// [Map.Compute]. Source: RMap.computeIfAbsent, by another protocol.
func (m *Sharded[K, V]) ComputeIfAbsent(ctx context.Context, k K, f func() (V, error), opts ...PutOption) (now V, stored bool, err error) {
	return m.m.computeIfAbsent(ctx, k, f, opts)
}

// Values walks the values, as [Sharded.All] walks the entries. Source: RMap.values.
func (m *Sharded[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return m.m.walkValues(ctx, opts)
}

// RandomKeys returns up to n different keys, from 1 to 5,000, which the server draws.
// Each shard gives as many as fall to it by its size.
//
// Cost: an HLEN and an HRANDFIELD for each shard. Errors: as [Map.Get]. Source: RMap.randomKeys.
func (m *Sharded[K, V]) RandomKeys(ctx context.Context, n int) ([]K, error) {
	return m.m.randomKeys(ctx, n)
}

// RandomEntries returns the entries of up to n keys that [Sharded.RandomKeys] draws. A key
// that is removed in between is missing.
//
// Cost: as [Sharded.RandomKeys] and [Map.GetMany]. Errors: as [Map.Get]. Source: RMap.randomEntries.
func (m *Sharded[K, V]) RandomEntries(ctx context.Context, n int) (map[K]V, error) {
	ks, err := m.m.randomKeys(ctx, n)
	if err != nil {
		return nil, err
	}
	return m.m.getMany(ctx, ks)
}

// FairLock is the fair lock of the entry of k, there or not, {name}:<hash of the key>:fairlock.
// A key that cannot be used is an [ErrOption] of its operations.
func (m *Sharded[K, V]) FairLock(k K) *fairlock.Lock { return m.m.fairLockOf(k) }

// RWLock is the read-write lock of the entry of k, there or not, {name}:<hash of the key>:rw_lock.
// A key that cannot be used is an [ErrOption] of its operations.
func (m *Sharded[K, V]) RWLock(k K) *rwlock.Lock { return m.m.rwLockOf(k) }

// Semaphore is the semaphore of the entry of k, there or not, {name}:<hash of the key>:semaphore.
// A key that cannot be used is an [ErrOption] of its operations.
func (m *Sharded[K, V]) Semaphore(k K) *semaphore.Semaphore { return m.m.semaphoreOf(k) }

// PermitSemaphore is the semaphore of permits with leases of the entry of k, there or not, {name}:<hash of the key>:permitexpirablesemaphore.
// A key that cannot be used is an [ErrOption] of its operations.
func (m *Sharded[K, V]) PermitSemaphore(k K) *semaphore.PermitSemaphore { return m.m.permitsOf(k) }

// Latch is the latch of the entry of k, there or not, {name}:<hash of the key>:countdownlatch. On a cluster it is an
// [ErrOption], since the names of latches have no braces there.
// A key that cannot be used is an [ErrOption] of its operations.
func (m *Sharded[K, V]) Latch(k K) *latch.Latch { return m.m.latchOf(k) }
