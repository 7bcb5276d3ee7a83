package rmap

import (
	"context"
	"iter"
	"time"

	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
)

// Map is a handle on the map of one name, which Redisson's RMap shares. It
// holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same map.
type Map[K comparable, V any] struct{ m *handle[K, V] }

// New returns a handle. Programs outside of this module call rueidisson.Map.
func New[K comparable, V any](e *engine.Engine, name string, opts ...Option) *Map[K, V] {
	m := newHandle[K, V](e, "map", name, lifetime.none, opts)
	m.store = &plain{m.sender()}
	return &Map[K, V]{m}
}

// Name is the name that the handle was made with, before any mapping.
func (m *Map[K, V]) Name() string { return m.m.name }

// Get returns the value of k, and whether there is one.
//
// Gets of one process on one map that come while another is on its way go out
// together. Cost: a share of one command, HGET or HMGET. Errors: [ErrDecode],
// by a *[codec.DecodeError], and then it is there; ctx's error and cause;
// [ErrOption]; [ErrClosed]; Redis' and the network's. Source: RMap.get.
func (m *Map[K, V]) Get(ctx context.Context, k K) (V, bool, error) { return m.m.get(ctx, k) }

// GetMany returns the entries of those of the keys that are there. What does not
// decode is left out, and is the error beside the others.
//
// Cost: an HMGET for each 5,000 keys, behind each other, or for as many as have about
// 1 MB, by the values of the map that were read before; those of one command are of one
// moment. The first GetMany of a map begins with few keys. Errors: as [Map.Get]. Source:
// RMap.getAll.
func (m *Map[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	return m.m.getMany(ctx, ks)
}

// Has reports whether there is an entry of k. Cost: HEXISTS. Errors: as
// [Map.Get], but ErrDecode. Source: RMap.containsKey.
func (m *Map[K, V]) Has(ctx context.Context, k K) (bool, error) { return m.m.has(ctx, k) }

// Len is how many entries there are. Cost: HLEN. Errors: as [Map.Has]. Source:
// RMap.size.
func (m *Map[K, V]) Len(ctx context.Context) (int64, error) { return m.m.length(ctx) }

// Put writes an entry, whatever was there; [Map.Swap] returns that. It is sent
// once, as another's write in between would be overwritten by a second send:
// after [ErrUnknown], which also ends a ctx that ends before the answer, it may
// or may not have been done, and may be called again where that does no harm.
//
// Cost: one command. Wire: HSET name key value. Errors: [ErrUnknown], which
// [WithRequestIDs] avoids; [ErrOption]; ctx's error and cause; [ErrClosed];
// Redis' and the network's. Source: RMap.fastPut.
func (m *Map[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	return m.m.put(ctx, k, v, opts)
}

// PutMany writes entries: in one command up to 2,500 of them or 1 MB, which
// appear together, and beyond that in several behind each other. After an error
// some may have been written.
//
// Cost: HSET for each such part. Errors: as [Map.Put]. Source: RMap.putAll.
func (m *Map[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
	return m.m.putMany(ctx, entries, opts)
}

// Swap writes an entry, and returns what was there before.
//
// Cost: one script call. Wire: HGET and HSET. Errors: as [Map.Put], and
// [ErrDecode] about what was there: then it has been written. Source: RMap.put.
func (m *Map[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	return m.m.swap(ctx, k, v, opts)
}

// Remove removes entries, and returns how many there were. [Map.Take] returns
// what was there.
//
// Cost: an HDEL for each 5,000 keys. Errors: as [Map.Put]; the number is that of
// the commands which were answered. Source: RMap.fastRemove.
func (m *Map[K, V]) Remove(ctx context.Context, ks ...K) (int64, error) { return m.m.remove(ctx, ks) }

// Clear removes all entries. Cost: UNLINK name. Errors: as [Map.Put]. Source:
// RMap.clear.
func (m *Map[K, V]) Clear(ctx context.Context) error { return m.m.clear(ctx) }

// PutIfAbsent writes an entry if there is none, and returns what is there now
// and whether it was written.
//
// Cost: one script call. Wire: HGET and HSET. Errors: as [Map.Put], and
// [ErrDecode] about what is there. Source: RMap.putIfAbsent.
func (m *Map[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	return m.m.putIfAbsent(ctx, k, v, opts)
}

// Replace writes an entry if there is one, and reports whether there was.
//
// Cost: one script call. Wire: HEXISTS and HSET. Errors: as [Map.Put]. Source:
// RMap.fastReplace.
func (m *Map[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (bool, error) {
	return m.m.replace(ctx, k, v, opts)
}

// Take removes an entry and returns it, and whether there was one.
//
// Cost: one script call. Wire: HGET and HDEL. Errors: as [Map.Put], and
// [ErrDecode] about what was there: then it has been removed. Source:
// RMap.remove.
func (m *Map[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	return m.m.take(ctx, k)
}

// CompareAndSwap writes an entry if what is there has the bytes of old, and
// reports whether it has. Bytes are compared, not values: a codec may have
// several for one value, as msgpack has for a map, and Java's doubles are
// spelled in its own way. [Map.Compute] works for every type.
//
// Cost: one script call. Wire: HGET and HSET. Errors: as [Map.Put]. Source:
// RMap.replace(key, old, new).
func (m *Map[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (bool, error) {
	return m.m.compareAndSwap(ctx, k, old, v, opts)
}

// CompareAndRemove removes an entry if what is there has the bytes of old, and
// reports whether it has; see [Map.CompareAndSwap].
//
// Cost: one script call. Wire: HGET and HDEL. Errors: as [Map.Put]. Source:
// RMap.remove(key, value).
func (m *Map[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	return m.m.compareAndRemove(ctx, k, old)
}

// Compute changes an entry by a function of what is there, in one step: f gets
// the value and whether there is one, and its [Verdict] says what becomes of it.
// Compute returns what is there then. An error of f changes nothing, and is
// returned. What is stored has the times of opts, or else of the handle.
//
// Computes of one process on one entry queue, and all that wait are applied to
// one read and written by one write. f is called again if somebody else has
// written meanwhile, perhaps on another goroutine than that of its caller, while
// other callers wait: it should be short, change nothing else, and not use the
// same entry. A panic of f goes on in its caller, and if f ends its goroutine, as
// FailNow of a test does, its caller's ends. If ctx ends before f was called it
// never is; if it ends later, that is an [ErrUnknown].
//
// If the write fails, its error is the error of all functions that saw what it did
// not write, also of those that returned an error of their own or panicked.
//
// Writes of others never get lost, except those that Java's compute overwrites:
// see [WithEntryLock].
//
// Cost: HGET and one script call, for all that wait. Wire: HGET, and HSET or
// HDEL. Errors: f's; [ErrDecode]; as [Map.Put]. Source: RMap.compute, by another
// protocol.
func (m *Map[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts ...PutOption) (v V, there bool, err error) {
	return m.m.compute(ctx, k, f, opts)
}

// All walks the entries, in no order. What is there throughout comes at least
// once, perhaps twice, and if the map moves to another server meanwhile the walk
// begins anew there; what is written or removed meanwhile may come or not. An
// entry that does not decode is an [ErrDecode], and the walk goes on; another
// error ends it. It holds nothing on the server, so it may be left at any time.
//
// Cost: a script call, and if that is not all, an HSCAN for each 500 entries, with a
// script call behind it which asks the server who it is. Of large entries fewer come at
// once: an answer has about 1 MB, see [WithPage]. Errors: as [Map.Get]. Source:
// RMap.entrySet.
func (m *Map[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return m.m.all(ctx, opts)
}

// Keys walks the keys, as [Map.All] does the entries, by script calls. The server does
// not send the values; before Redis 7.4 and Valkey 8 it reads them. Source: RMap.keySet.
func (m *Map[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return m.m.allKeys(ctx, opts)
}

// Lock is the lock of the entry of k, there or not: that of RMap.getLock, which
// Redisson's compute takes. It holds nobody back who does not ask for it: see
// [WithEntryLock]. Its name is {name}:<hash of the key>:lock.
func (m *Map[K, V]) Lock(k K) *lock.Lock { return m.m.lockOf(k) }

// Delete deletes the map, and reports whether there was one. Cost: UNLINK.
// Errors: as [Map.Put]. Source: RMap.delete.
func (m *Map[K, V]) Delete(ctx context.Context) (bool, error) { return m.m.deleteAll(ctx) }

// Exists reports whether there is an entry at all. Cost: EXISTS. Errors: as
// [Map.Has]. Source: RMap.isExists.
func (m *Map[K, V]) Exists(ctx context.Context) (bool, error) { return m.m.exists(ctx) }

// Expire lets the whole map go in d, with all that is written until then, and
// reports whether there is one. A map that was removed, cleared or is empty, and
// is written anew, has no such time.
//
// Cost: one script call. Wire: PEXPIRE. Errors: as [Map.Put]. Source:
// RMap.expire.
func (m *Map[K, V]) Expire(ctx context.Context, d time.Duration) (bool, error) {
	return m.m.expire(ctx, d)
}

// Persist lets the map stay, and reports whether it was to go. Cost: one script
// call. Wire: PERSIST. Errors: as [Map.Put]. Source: RMap.clearExpire.
func (m *Map[K, V]) Persist(ctx context.Context) (bool, error) { return m.m.persist(ctx) }

// Remaining is how long the map stays: 0 if there is none, -1 if it has no end.
// Cost: PTTL. Errors: as [Map.Has]. Source: RMap.remainTimeToLive.
func (m *Map[K, V]) Remaining(ctx context.Context) (time.Duration, error) { return m.m.remaining(ctx) }

// Rename gives the map another name, over a map that has it, and reports whether
// there was one. The handle stays one on the old name. On a cluster both names
// share a hash tag, such as a:{1} and b:{1}. The locks of entries are those of
// the name.
//
// Cost: one script call. Wire: RENAME. Errors: as [Map.Put]. Source:
// RMap.rename.
func (m *Map[K, V]) Rename(ctx context.Context, to string) (bool, error) {
	return m.m.rename(ctx, to, oneHash, false)
}

func (m *Map[K, V]) add(ctx context.Context, k K, delta V, opts []PutOption) (V, error) {
	return m.m.addTo(ctx, k, delta, opts)
}

func (m *Map[K, V]) base() base[K] { return m.m.base(nil) }

// ComputeIfAbsent returns the value of k, and if there is none calls f and stores
// what that returns. It reports whether it was stored. f is called as the function of
// [Map.Compute] is: by one of those in the process that find nothing, and again where
// the entry came and went meanwhile. An error of f stores nothing, and is returned.
//
// Cost: as [Map.Get]; where there is nothing, as [Map.Compute] in addition. Errors: as
// [Map.Compute]. Source: RMap.computeIfAbsent, by another protocol.
func (m *Map[K, V]) ComputeIfAbsent(ctx context.Context, k K, f func() (V, error), opts ...PutOption) (now V, stored bool, err error) {
	return m.m.computeIfAbsent(ctx, k, f, opts)
}

// Values walks the values, as [Map.All] walks the entries. Source: RMap.values.
func (m *Map[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return m.m.walkValues(ctx, opts)
}

// RandomKeys returns up to n different keys, from 1 to 5,000, which the server draws.
//
// Cost: one command. Wire: HRANDFIELD. Errors: as [Map.Get]. Source: RMap.randomKeys.
func (m *Map[K, V]) RandomKeys(ctx context.Context, n int) ([]K, error) {
	return m.m.randomKeys(ctx, n)
}

// RandomEntries returns the entries of up to n keys that [Map.RandomKeys] draws. A key
// that is removed in between is missing.
//
// Cost: as [Map.RandomKeys] and [Map.GetMany]. Errors: as [Map.Get]. Source: RMap.randomEntries.
func (m *Map[K, V]) RandomEntries(ctx context.Context, n int) (map[K]V, error) {
	ks, err := m.m.randomKeys(ctx, n)
	if err != nil {
		return nil, err
	}
	return m.m.getMany(ctx, ks)
}

// RenameIfAbsent is [Map.Rename] if nothing has the new name, and reports whether that is
// so and there is such a map.
//
// Cost: one script call. Errors: as [Map.Put]. Source: RMap.renamenx.
func (m *Map[K, V]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return m.m.rename(ctx, to, oneHash, true)
}

// Copy copies the map under another name, with its times, if nothing has that, and
// reports whether that is so and there is such a map. The server does nothing else
// meanwhile, about a second for a million entries. On a cluster both names share a hash tag.
//
// Cost: one script call. Wire: COPY. Errors: as [Map.Put]. Source: RMap.copy.
func (m *Map[K, V]) Copy(ctx context.Context, to string) (bool, error) {
	return m.m.copyTo(ctx, to, oneHash)
}

// ExpireAt is [Map.Expire] at a time, by the clock of the server. A time that has passed
// ends it at once.
//
// Cost: one script call. Wire: PEXPIREAT. Errors: as [Map.Put]. Source: RMap.expire.
func (m *Map[K, V]) ExpireAt(ctx context.Context, at time.Time) (bool, error) {
	return m.m.expireAt(ctx, at)
}

// SizeInMemory is about how many bytes the map takes on the server, 0 if there is none.
// An ACL has to allow memory|usage.
//
// Cost: one script call. Wire: MEMORY USAGE. Errors: as [Map.Has]. Source: RMap.sizeInMemory.
func (m *Map[K, V]) SizeInMemory(ctx context.Context) (int64, error) { return m.m.sizeInMemory(ctx) }

// FairLock is the fair lock of the entry of k, there or not, {name}:<hash of the key>:fairlock.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMap.getFairLock.
func (m *Map[K, V]) FairLock(k K) *fairlock.Lock { return m.m.fairLockOf(k) }

// RWLock is the read-write lock of the entry of k, there or not, {name}:<hash of the key>:rw_lock.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMap.getReadWriteLock.
func (m *Map[K, V]) RWLock(k K) *rwlock.Lock { return m.m.rwLockOf(k) }

// Semaphore is the semaphore of the entry of k, there or not, {name}:<hash of the key>:semaphore.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMap.getSemaphore.
func (m *Map[K, V]) Semaphore(k K) *semaphore.Semaphore { return m.m.semaphoreOf(k) }

// PermitSemaphore is the semaphore of permits with leases of the entry of k, there or not, {name}:<hash of the key>:permitexpirablesemaphore.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMap.getPermitExpirableSemaphore.
func (m *Map[K, V]) PermitSemaphore(k K) *semaphore.PermitSemaphore { return m.m.permitsOf(k) }

// Latch is the latch of the entry of k, there or not, {name}:<hash of the key>:countdownlatch. On a cluster it is an
// [ErrOption], since the names of latches have no braces there.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMap.getCountDownLatch.
func (m *Map[K, V]) Latch(k K) *latch.Latch { return m.m.latchOf(k) }
