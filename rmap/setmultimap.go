package rmap

import (
	"context"
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

// SetMultimap is a handle on the multimap of one name whose keys have sets of
// values, which Redisson's RSetMultimap shares, and its RSetMultimapCache and
// RSetMultimapCacheNative, whose keys may end. Values are equal if their bytes are,
// and in no order. A key is there as long as it has a value.
//
// What is about one key is done in one step on the server. What is about all of them
// is done 1,000 keys at a time, and is not of one moment.
//
// It holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same multimap.
type SetMultimap[K comparable, V any] struct{ g *multi[K, V] }

// NewSetMultimap returns a handle. Programs outside of this module call
// rueidisson.SetMultimap.
func NewSetMultimap[K comparable, V any](e *engine.Engine, name string, opts ...MultimapOption) *SetMultimap[K, V] {
	return &SetMultimap[K, V]{newMulti[K, V](e, "set", name, keys.SetEnds, opts)}
}

// Name is the name that the handle was made with, before any mapping.
func (m *SetMultimap[K, V]) Name() string { return m.g.m.name }

// Put adds a value to the set of k, and reports whether it was not there. A set that
// has ended begins anew, without an end.
//
// Cost: one script call. Wire: HSET name key id, SADD {name}:id value. Errors:
// [ErrUnknown], since it is sent once, which [WithRequestIDs] avoids; [ErrOption];
// ctx's error and cause; [ErrClosed]; Redis' and the network's. Source:
// RSetMultimap.put.
func (m *SetMultimap[K, V]) Put(ctx context.Context, k K, v V) (added bool, err error) {
	n, err := m.g.put(ctx, k, v)
	return n > 0, err
}

// PutAll adds values to the set of k, all of them or none, up to 100,000, and
// returns how many were not there. No values change nothing.
//
// Cost, wire and errors: as [SetMultimap.Put]. Source: RSetMultimap.putAll.
func (m *SetMultimap[K, V]) PutAll(ctx context.Context, k K, vs ...V) (added int64, err error) {
	return m.g.put(ctx, k, vs...)
}

// Get returns the set of k, empty if there is none. What does not decode is left
// out, and is the error beside the others.
//
// Cost: one script call. Wire: HEXISTS, ZSCORE, SMEMBERS. Errors: [ErrDecode], by a
// *[codec.DecodeError]; ctx's error and cause; [ErrOption]; [ErrClosed]; Redis' and
// the network's. Source: RSetMultimap.getAll.
func (m *SetMultimap[K, V]) Get(ctx context.Context, k K) ([]V, error) { return m.g.get(ctx, k) }

// Count is how many values k has. Cost: one script call. Errors: as
// [SetMultimap.Get], but ErrDecode. Source: RSetMultimap.get(key).size.
func (m *SetMultimap[K, V]) Count(ctx context.Context, k K) (int64, error) { return m.g.count(ctx, k) }

// Has reports whether k has values. Cost: one script call. Errors: as
// [SetMultimap.Count]. Source: RSetMultimap.containsKey.
func (m *SetMultimap[K, V]) Has(ctx context.Context, k K) (bool, error) {
	n, err := m.g.count(ctx, k)
	return n > 0, err
}

// HasEntry reports whether k has that value, by its bytes. Cost: one script call.
// Wire: SISMEMBER. Errors: as [SetMultimap.Count]. Source: RSetMultimap.containsEntry.
func (m *SetMultimap[K, V]) HasEntry(ctx context.Context, k K, v V) (bool, error) {
	return m.g.hasEntry(ctx, k, v)
}

// Remove removes a value of k, by its bytes, and reports whether it was there. Cost:
// one script call. Wire: SREM. Errors: as [SetMultimap.Put]. Source:
// RSetMultimap.remove.
func (m *SetMultimap[K, V]) Remove(ctx context.Context, k K, v V) (bool, error) {
	return m.g.remove(ctx, k, v)
}

// RemoveAll removes k, and returns the values that it had. Cost: one script call.
// Errors: as [SetMultimap.Put], and [ErrDecode] about what was there: then it has
// been removed. Source: RSetMultimap.removeAll.
func (m *SetMultimap[K, V]) RemoveAll(ctx context.Context, k K) ([]V, error) {
	return m.g.replace(ctx, "remove all of", k)
}

// RemoveKeys removes keys with their values, and returns how many there were. Cost:
// a script call for each 1,000 keys. Errors: as [SetMultimap.Put]; the number is that
// of the calls which were answered. Source: RSetMultimap.fastRemove.
func (m *SetMultimap[K, V]) RemoveKeys(ctx context.Context, ks ...K) (int64, error) {
	return m.g.removeKeys(ctx, ks)
}

// Replace gives k other values, up to 100,000, in place of those that it had, which
// it returns. It ends when it would have. No values remove it.
//
// Cost: one script call. Errors: as [SetMultimap.RemoveAll]; then the new ones
// are there. Source: RSetMultimap.replaceValues.
func (m *SetMultimap[K, V]) Replace(ctx context.Context, k K, vs ...V) (old []V, err error) {
	return m.g.replace(ctx, "replace", k, vs...)
}

// Len is how many values all keys have together. It walks the keys: one that comes
// or goes meanwhile may count or not, and while many do some may count twice. Cost:
// HSCAN and a script call for each 500 keys. Errors: as [SetMultimap.Count].
// Source: RSetMultimap.size.
func (m *SetMultimap[K, V]) Len(ctx context.Context) (int64, error) { return m.g.length(ctx) }

// KeyLen is how many keys there are, with those that have ended and were not swept
// yet, and those that Redisson has left without values. Cost: HLEN. Errors: as [SetMultimap.Count]. Source: RSetMultimap.keySize.
func (m *SetMultimap[K, V]) KeyLen(ctx context.Context) (int64, error) { return m.g.keyLen(ctx) }

// Keys walks the keys, in no order, as [Map.All] walks entries: what is there
// throughout comes at least once. Cost: HSCAN and a script call for each 500 keys.
// Errors: as [SetMultimap.Get]. Source: RSetMultimap.keySet.
func (m *SetMultimap[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return m.g.keys(ctx, opts)
}

// All walks the entries: each value with its key, those of one key behind each other.
// They are of one moment if they fit in an answer, of about 1 MB and 1,000 values, see
// [WithPage]. Of a key with more, values may come twice. Otherwise it is as
// [SetMultimap.Keys]. Cost: HSCAN for each 500 keys, and a script call for each answer.
// Source: RSetMultimap.entries.
func (m *SetMultimap[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return m.g.all(ctx, opts)
}

// Expire has k end in d, with all values that it has then, and reports whether it
// is there. A key that is removed, or has ended, and is put anew has no end. It is
// counted by the clients' clocks, as in Redisson, and swept by the clients that
// have called this, at most a second and a round trip later; with
// [WithNativeExpiry] the server does both. A plain RSetMultimap of Java pays no
// attention to the former.
//
// Cost: one script call. Wire: ZADD {name}:redisson_set_multimap_ttl; HPEXPIRE and
// PEXPIRE. Errors: as [SetMultimap.Put]; with WithNativeExpiry on an older
// server one that wraps [errors.ErrUnsupported]. Source: RSetMultimapCache.expireKey.
func (m *SetMultimap[K, V]) Expire(ctx context.Context, k K, d time.Duration) (bool, error) {
	return m.g.expire(ctx, "expire", k, d)
}

// Persist has k stay, and reports whether it is there. Cost: one script call. Wire:
// ZREM; HPERSIST and PERSIST. Errors: as [SetMultimap.Expire].
func (m *SetMultimap[K, V]) Persist(ctx context.Context, k K) (bool, error) {
	return m.g.expire(ctx, "persist", k, 0)
}

// Lock is the lock of k, there or not, as [Map.Lock]. Source: RSetMultimap.getLock.
func (m *SetMultimap[K, V]) Lock(k K) *lock.Lock { return m.g.m.lockOf(k) }

// Clear removes all keys, as [SetMultimap.Delete] does. Source: RSetMultimap.clear.
func (m *SetMultimap[K, V]) Clear(ctx context.Context) error {
	_, err := m.g.clear(ctx, "clear")
	return err
}

// Delete removes all keys with their values, 1,000 at a time, and reports whether
// there was one. What is put meanwhile may stay. After an error some are left: call
// it again. Cost: HSCAN and a script call for each 500 keys, and one more. Errors:
// as [SetMultimap.Put]. Source: RSetMultimap.delete.
func (m *SetMultimap[K, V]) Delete(ctx context.Context) (bool, error) {
	return m.g.clear(ctx, "delete")
}

// Exists reports whether there is a key at all, one that [SetMultimap.KeyLen]
// counts. Cost: EXISTS. Errors: as [SetMultimap.Count].
func (m *SetMultimap[K, V]) Exists(ctx context.Context) (bool, error) { return m.g.m.exists(ctx) }

// ExpireAll lets the whole multimap go in d, with all that is written until then,
// and reports whether there is one. Where it takes longer than d to
// tell all its keys, it goes then; values of a key that is put at that moment may stay
// a second longer, where only Redisson finds them. With [WithNativeExpiry] values go
// with their key, if that ends before. Cost: two script calls, and HSCAN and one more
// for each 1,000 keys, and all that twice where d is below a minute. Wire: PEXPIRE.
// Errors: as [SetMultimap.Put]; after one, call it again, or values of keys that
// have gone take up memory. Source: RSetMultimap.expire.
func (m *SetMultimap[K, V]) ExpireAll(ctx context.Context, d time.Duration) (bool, error) {
	return m.g.expireAll(ctx, d)
}

// PersistAll lets the whole multimap stay, and reports whether it was to go; keys
// end when they would have. Cost and errors: as [SetMultimap.ExpireAll]. Source:
// RSetMultimap.clearExpire.
func (m *SetMultimap[K, V]) PersistAll(ctx context.Context) (bool, error) { return m.g.persistAll(ctx) }

// Remaining is how long the whole multimap stays: 0 if there is none, -1 if it has
// no end. Cost: PTTL. Errors: as [SetMultimap.Count].
func (m *SetMultimap[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return m.g.m.remaining(ctx)
}

// TTL is how long k has until it ends: 0 if there is none, -1 if it has no end.
//
// Cost: one script call. Wire: ZSCORE, HPTTL. Errors: as [SetMultimap.Count].
func (m *SetMultimap[K, V]) TTL(ctx context.Context, k K) (time.Duration, error) {
	return m.g.ttl(ctx, k)
}

// Values walks the values of all keys, as [SetMultimap.All] walks the entries. Source:
// RSetMultimap.values.
func (m *SetMultimap[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return m.g.walkValues(ctx, opts)
}

// HasValue reports whether a key has that value, by its bytes. It walks the keys until one
// has it, and is not of one moment.
//
// Cost: HSCAN and a script call for each 500 keys. Errors: as [SetMultimap.Count]. Source:
// RSetMultimap.containsValue.
func (m *SetMultimap[K, V]) HasValue(ctx context.Context, v V) (bool, error) {
	return m.g.hasValue(ctx, v)
}

// FairLock is the fair lock of the entry of k, there or not, {name}:<hash of the key>:fairlock.
// A key that cannot be used is an [ErrOption] of its operations. Source: RSetMultimap.getFairLock.
func (m *SetMultimap[K, V]) FairLock(k K) *fairlock.Lock { return m.g.m.fairLockOf(k) }

// RWLock is the read-write lock of the entry of k, there or not, {name}:<hash of the key>:rw_lock.
// A key that cannot be used is an [ErrOption] of its operations. Source: RSetMultimap.getReadWriteLock.
func (m *SetMultimap[K, V]) RWLock(k K) *rwlock.Lock { return m.g.m.rwLockOf(k) }

// Semaphore is the semaphore of the entry of k, there or not, {name}:<hash of the key>:semaphore.
// A key that cannot be used is an [ErrOption] of its operations. Source: RSetMultimap.getSemaphore.
func (m *SetMultimap[K, V]) Semaphore(k K) *semaphore.Semaphore { return m.g.m.semaphoreOf(k) }

// PermitSemaphore is the semaphore of permits with leases of the entry of k, there or not, {name}:<hash of the key>:permitexpirablesemaphore.
// A key that cannot be used is an [ErrOption] of its operations. Source: RSetMultimap.getPermitExpirableSemaphore.
func (m *SetMultimap[K, V]) PermitSemaphore(k K) *semaphore.PermitSemaphore {
	return m.g.m.permitsOf(k)
}

// Latch is the latch of the entry of k, there or not, {name}:<hash of the key>:countdownlatch. On a cluster it is an
// [ErrOption], since the names of latches have no braces there.
// A key that cannot be used is an [ErrOption] of its operations. Source: RSetMultimap.getCountDownLatch.
func (m *SetMultimap[K, V]) Latch(k K) *latch.Latch { return m.g.m.latchOf(k) }
