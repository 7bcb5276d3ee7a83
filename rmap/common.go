package rmap

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
)

// entryObjects has what maps and multimaps share: a name, and the objects that belong to an entry.
type entryObjects[K comparable, V any] struct{ m *handle[K, V] }

// Name returns the name that the handle was made with, before any mapping.
func (c entryObjects[K, V]) Name() string { return c.m.name }

// Lock returns the lock of the entry of k, there or not: of a map that of RMap.getLock, which
// Redisson's compute takes, and of a multimap that of RListMultimap.getLock or RSetMultimap.getLock. It keeps no other client from the
// entry that does not ask for it: see [WithEntryLock] of maps. Its name is {name}:<hash of the key>:lock, here and in the five methods
// below with the name of the shard for that of a [Sharded]. A key that cannot be used is an [ErrOption] of the lock's operations, and so it is with the
// other objects of an entry.
func (c entryObjects[K, V]) Lock(k K) *lock.Lock { return c.m.lockOf(k) }

// FairLock returns the fair lock of the entry of k, there or not, {name}:<hash of the key>:fairlock. Source:
// RMap.getFairLock, and those of multimaps.
func (c entryObjects[K, V]) FairLock(k K) *fairlock.Lock { return c.m.fairLockOf(k) }

// RWLock returns the read-write lock of the entry of k, there or not, {name}:<hash of the key>:rw_lock. Source:
// RMap.getReadWriteLock, and those of multimaps.
func (c entryObjects[K, V]) RWLock(k K) *rwlock.Lock { return c.m.rwLockOf(k) }

// Semaphore returns the semaphore of the entry of k, there or not, {name}:<hash of the key>:semaphore. Source:
// RMap.getSemaphore, and those of multimaps.
func (c entryObjects[K, V]) Semaphore(k K) *semaphore.Semaphore { return c.m.semaphoreOf(k) }

// PermitSemaphore returns the semaphore of permits with leases of the entry of k, there or not,
// {name}:<hash of the key>:permitexpirablesemaphore. Source: RMap.getPermitExpirableSemaphore, and those of multimaps.
func (c entryObjects[K, V]) PermitSemaphore(k K) *semaphore.PermitSemaphore { return c.m.permitsOf(k) }

// Latch returns the latch of the entry of k, there or not, {name}:<hash of the key>:countdownlatch. On a cluster it
// is an [ErrOption], since the names of latches have no braces there. Source: RMap.getCountDownLatch, and those of multimaps.
func (c entryObjects[K, V]) Latch(k K) *latch.Latch { return c.m.latchOf(k) }

// common has the operations on entries, which Map, Native, Cache and Sharded share. What differs is in their comments.
type common[K comparable, V any] struct{ entryObjects[K, V] }

func commonOf[K comparable, V any](m *handle[K, V]) common[K, V] {
	return common[K, V]{entryObjects[K, V]{m}}
}

// Get returns the value of k, and whether there is an entry. An entry of a [Native] or a [Cache] that has expired
// is not there. A Get of a Cache begins the entry's idle time anew.
//
// Gets of one process on one map (of a [Sharded] on one shard) that come while another is on its way go out
// together.
//
// Cost:
//   - [Map], [Native]: a share of one command. Wire: HGET or HMGET.
//   - [Sharded]: the same. Once a second a Get waits for a GET of the name.
//   - [Cache]: a share of two commands in one pipeline. It is a share of a script call in a bounded cache, on
//     a cluster, and once a second, and one more call for an entry with an idle time. Wire: ZSCORE, HGET; ZADD for
//     an entry with an idle time and in a bounded cache.
//
// Errors: [ErrDecode], by a *[codec.DecodeError], and then it is there; ctx's error and cause; [ErrOption], also
// for another number of shards; [ErrClosed]; Redis' and the network's. Source: RMap.get.
func (c common[K, V]) Get(ctx context.Context, k K) (V, bool, error) { return c.m.get(ctx, k) }

// GetMany returns the entries of those of the keys that are there, as Get does. Entries that do not decode are left
// out, and are the error in addition to the others. The entries of one command are of one moment.
//
// Cost: an HMGET for each 5,000 keys, one after the other, or for as many as have about 1 MB, by the values of the
// map that were read before. The first GetMany of a map begins with few keys. Of a [Sharded] there is an HMGET
// for each shard that has keys, 32 at the same time; of a [Cache] a call for each 500 keys. Errors: as Get.
// Source: RMap.getAll.
func (c common[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	return c.m.getMany(ctx, ks)
}

// Has reports whether there is an entry of k. Of a [Cache] it counts as a use of the entry.
//
// Cost: one command, HEXISTS; of a Cache one script call. Errors: as Get, but ErrDecode. Source: RMap.containsKey.
func (c common[K, V]) Has(ctx context.Context, k K) (bool, error) { return c.m.has(ctx, k) }

// Len returns how many entries there are. Of a [Native] and a [Cache] it counts expired entries until they are
// swept. The shards of a [Sharded] are counted at different moments.
//
// Cost: one command, HLEN; of a Sharded one for each shard. Errors: as Has. Source: RMap.size.
func (c common[K, V]) Len(ctx context.Context) (int64, error) { return c.m.length(ctx) }

// Put writes an entry, whatever was there; Swap returns that. It is sent once, because a second send could overwrite
// a write of another client in between. After [ErrUnknown] the entry may or may not have been written. So it is
// after a ctx that ends before the answer. Call Put again where that does no harm.
//
// The entry of a [Native] or a [Cache] has the times of [WithTTL] and [WithMaxIdle], of the call or else of the
// handle. Without them it is permanent, also where the entry before had an end; [WithKeepTTL] keeps that end.
//
// Cost: one command. One script call of a Native with a time to live, and of a Cache. The first Put of a handle
// that finds a bound or a listener takes two. Wire: HSET name key value; HPEXPIRE of a Native; of a Cache ZADD or ZREM
// of the entry's times, and the lease of a load of the entry ends. Errors: [ErrUnknown], which [WithRequestIDs]
// avoids; [ErrOption]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RMap.fastPut,
// RMapCache.put and, with WithKeepTTL, RMapCache.fastPut.
func (c common[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	return c.m.put(ctx, k, v, opts)
}

// PutMany writes entries as Put does, all with the same times. One command has up to 2,500 entries or 1 MB (of a
// [Cache] 250), which appear together. The entries of one shard of a [Sharded] appear together. After an error
// some entries may have been written.
//
// Cost: one command or script call for each part, and of a Sharded for each shard. Errors: as Put. Source: RMap.putAll;
// RMapCache.putAll keeps the times of entries that are there, as [WithKeepTTL] does.
func (c common[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
	return c.m.putMany(ctx, entries, opts)
}

// Swap writes an entry as Put does, and returns what was there before.
//
// Cost: one script call. Wire: HGET and HSET. Errors: as Put, and [ErrDecode] about what was there: then it has
// been written. Source: RMap.put.
func (c common[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	return c.m.swap(ctx, k, v, opts)
}

// Remove removes entries, and returns how many there were. Take returns what was there. Of a [Cache] expired
// entries are removed, too, and not counted.
//
// Cost: an HDEL for each 5,000 keys, of a [Sharded] for each shard that has keys; of a Cache a script call for
// each 500. Errors: as Put; the number is that of the commands that were answered. Source: RMap.fastRemove.
func (c common[K, V]) Remove(ctx context.Context, ks ...K) (int64, error) {
	return c.m.remove(ctx, ks)
}

// Clear removes all entries. The bound of a [Cache] stays. No listener is told, except near caches with
// [WithAnnounce]. A [Sharded] is cleared one shard after the other, and keeps its number of shards: an entry that is
// written meanwhile may stay, and after an error some shards may be empty and others not.
//
// Cost: UNLINK, of a Sharded for each shard; a script call with WithAnnounce. Errors: as Put. Source: RMap.clear.
func (c common[K, V]) Clear(ctx context.Context) error { return c.m.clear(ctx) }

// PutIfAbsent writes an entry as Put does if there is none, and returns what is there now and whether it was
// written. Of a [Cache] an entry that is there counts as used.
//
// Cost: one script call. Wire: HGET and HSET. Errors: as Put, and [ErrDecode] about what is there. Source:
// RMap.putIfAbsent.
func (c common[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	return c.m.putIfAbsent(ctx, k, v, opts)
}

// Replace writes an entry if there is one, and reports whether there was. Of a [Cache] it leaves the times that the
// entry has, except those that the call or the handle gives; the idle time begins anew.
//
// Cost: one script call. Wire: HEXISTS and HSET. Errors: as Put. Source: RMap.fastReplace.
func (c common[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (bool, error) {
	return c.m.replace(ctx, k, v, opts)
}

// Take removes an entry and returns it, and whether there was one. An expired entry of a [Cache] is left to the sweeper.
//
// Cost: one script call. Wire: HGET and HDEL. Errors: as Put, and [ErrDecode] about what was there: then it has
// been removed. Source: RMap.remove.
func (c common[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	return c.m.take(ctx, k)
}

// CompareAndSwap writes an entry if what is there has the bytes of old, and reports whether it has. It compares
// bytes, not values. A codec may have several texts for one value, as msgpack has for a map, and Java writes doubles
// in a way of its own. Compute works for every type. The times of the entry are as Replace leaves them.
//
// Cost: one script call. Wire: HGET and HSET. Errors: as Put. Source: RMap.replace(key, old, new).
func (c common[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (bool, error) {
	return c.m.compareAndSwap(ctx, k, old, v, opts)
}

// CompareAndRemove removes an entry if what is there has the bytes of old, and reports whether it has; see
// CompareAndSwap.
//
// Cost: one script call. Wire: HGET and HDEL. Errors: as Put. Source: RMap.remove(key, value).
func (c common[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	return c.m.compareAndRemove(ctx, k, old)
}

// Compute changes an entry by a function of what is there, in one step: f gets
// the value and whether there is one, and its [Verdict] says what becomes of it.
// Compute returns what is there then. An error of f changes nothing, and is
// returned. A new entry has the times of opts, or else of the handle. A changed entry of a [Cache] has those that Replace
// would leave it.
//
// Computes of one process on one entry queue, and all that wait are applied to
// one read and written by one write. f is called again if another client has
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
// Cost: HGET and one script call, for all that wait; of a Cache two script calls. Wire: HGET, and HSET or
// HDEL. Errors: f's; [ErrDecode]; as Put. Source: RMap.compute, by another
// protocol.
func (c common[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts ...PutOption) (v V, there bool, err error) {
	return c.m.compute(ctx, k, f, opts)
}

// ComputeIfAbsent returns the value of k, and if there is none calls f and stores
// what that returns. It reports whether it was stored. f is called as the function of
// Compute is: for one of the callers in the process that find nothing, and again where
// the entry came and went meanwhile. An error of f stores nothing, and is returned.
//
// Cost: as Get; where there is nothing, as Compute in addition. Errors: as
// Compute. Source: RMap.computeIfAbsent, by another protocol.
func (c common[K, V]) ComputeIfAbsent(ctx context.Context, k K, f func() (V, error), opts ...PutOption) (now V, stored bool, err error) {
	return c.m.computeIfAbsent(ctx, k, f, opts)
}

// All walks the entries, in no order; those of a [Sharded] one shard after the other. An entry that is there throughout
// comes at least once, perhaps twice. If the map moves to another server meanwhile, the walk
// begins anew there. An entry that is written or removed meanwhile may come or not. Expired entries do not come. An
// entry that does not decode is an [ErrDecode], and the walk goes on; another
// error ends it. The walk holds nothing on the server, so it may be left at any time. It is no use of the entries of a [Cache].
//
// Cost: a script call, and if that is not all, an HSCAN for each 500 entries, followed by a
// script call which asks the server who it is; of a Cache a script call for each 500. Of large entries fewer come at
// once: an answer has about 1 MB, see [WithPage]. Errors: as Get. Source:
// RMap.entrySet.
func (c common[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return c.m.all(ctx, opts)
}

// Keys walks the keys, as All does the entries, by script calls. The server does
// not send the values; before Redis 7.4 and Valkey 8 it reads them. Source: RMap.keySet.
func (c common[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return c.m.allKeys(ctx, opts)
}

// Values walks the values, as All walks the entries. Source: RMap.values.
func (c common[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return c.m.walkValues(ctx, opts)
}

// RandomKeys returns up to n different keys, from 1 to 5,000, which the server draws. Each shard of a [Sharded] gives
// its share by its size. Of a [Cache] expired keys are left out, so that there may be fewer than n of many.
//
// Cost: one command, and of a Cache a script call for each 500 keys; of a Sharded an HLEN and an HRANDFIELD for each shard.
// Wire: HRANDFIELD. Errors: as Get. Source: RMap.randomKeys.
func (c common[K, V]) RandomKeys(ctx context.Context, n int) ([]K, error) {
	return c.m.randomKeys(ctx, n)
}

// RandomEntries returns the entries of up to n keys that RandomKeys draws. A key
// that is removed in between is missing. It is no use of the entries of a [Cache].
//
// Cost: as RandomKeys and GetMany. Errors: as Get. Source: RMap.randomEntries.
func (c common[K, V]) RandomEntries(ctx context.Context, n int) (map[K]V, error) {
	ks, err := c.m.randomKeys(ctx, n)
	if err != nil {
		return nil, err
	}
	return c.m.getMany(ctx, ks)
}

func (c common[K, V]) add(ctx context.Context, k K, delta V, opts []PutOption) (V, error) {
	return c.m.addTo(ctx, k, delta, opts)
}
