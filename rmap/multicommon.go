package rmap

import (
	"context"
	"iter"
	"time"
)

// multiCommon has the operations that multimaps of lists and of sets share.
type multiCommon[K comparable, V any] struct {
	entryObjects[K, V]
	g *multi[K, V]
}

func multiCommonOf[K comparable, V any](g *multi[K, V]) multiCommon[K, V] {
	return multiCommon[K, V]{entryObjects[K, V]{g.m}, g}
}

// Get returns the values of k, of a list in their order, empty if there is none. What does not decode is left
// out, and is the error beside the others.
//
// Cost: one script call. Wire: HEXISTS, ZSCORE; LRANGE or SMEMBERS. Errors: [ErrDecode], by a
// *[codec.DecodeError]; ctx's error and cause; [ErrOption]; [ErrClosed]; Redis' and
// the network's. Source: RMultimap.getAll.
func (m multiCommon[K, V]) Get(ctx context.Context, k K) ([]V, error) { return m.g.get(ctx, k) }

// Count returns how many values k has. Cost: one script call. Errors: as
// Get, but ErrDecode. Source: RMultimap.get(key).size.
func (m multiCommon[K, V]) Count(ctx context.Context, k K) (int64, error) { return m.g.count(ctx, k) }

// Has reports whether k has values. Cost: one script call. Errors: as
// Count. Source: RMultimap.containsKey.
func (m multiCommon[K, V]) Has(ctx context.Context, k K) (bool, error) {
	n, err := m.g.count(ctx, k)
	return n > 0, err
}

// HasEntry reports whether k has that value, by its bytes. Cost: one script call.
// Wire: LPOS or SISMEMBER. Errors: as Count. Source: RMultimap.containsEntry.
func (m multiCommon[K, V]) HasEntry(ctx context.Context, k K, v V) (bool, error) {
	return m.g.hasEntry(ctx, k, v)
}

// Remove removes a value of k, by its bytes, and reports whether there was one. Of a list it is the first. Cost: one
// script call. Wire: LREM or SREM. Errors: as Put.
// Source: RMultimap.remove.
func (m multiCommon[K, V]) Remove(ctx context.Context, k K, v V) (bool, error) {
	return m.g.remove(ctx, k, v)
}

// RemoveAll removes k, and returns the values that it had. Cost: one script call.
// Errors: as Put, and [ErrDecode] about what was there: then it has
// been removed. Source: RMultimap.removeAll.
func (m multiCommon[K, V]) RemoveAll(ctx context.Context, k K) ([]V, error) {
	return m.g.replace(ctx, "remove all of", k)
}

// RemoveKeys removes keys with their values, and returns how many there were. Cost:
// a script call for each 1,000 keys. Errors: as Put; the number is that
// of the calls which were answered. Source: RMultimap.fastRemove.
func (m multiCommon[K, V]) RemoveKeys(ctx context.Context, ks ...K) (int64, error) {
	return m.g.removeKeys(ctx, ks)
}

// Replace gives k other values, up to 100,000, in place of those that it had, which
// it returns. It ends when it would have. No values remove it.
//
// Cost: one script call. Errors: as RemoveAll; then the new ones
// are there. Source: RMultimap.replaceValues.
func (m multiCommon[K, V]) Replace(ctx context.Context, k K, vs ...V) (old []V, err error) {
	return m.g.replace(ctx, "replace", k, vs...)
}

// Len returns how many values all keys have together. It walks the keys: one that comes
// or goes meanwhile may count or not, and while many do some may count twice. Cost:
// HSCAN and a script call for each 500 keys. Errors: as Count.
// Source: RMultimap.size.
func (m multiCommon[K, V]) Len(ctx context.Context) (int64, error) { return m.g.length(ctx) }

// KeyLen returns how many keys there are, with those that have ended and were not swept
// yet, and those that Redisson has left without values. Cost: HLEN. Errors: as Count. Source: RMultimap.keySize.
func (m multiCommon[K, V]) KeyLen(ctx context.Context) (int64, error) { return m.g.keyLen(ctx) }

// Keys walks the keys, in no order, as [Map.All] walks entries: what is there
// throughout comes at least once. Cost: HSCAN and a script call for each 500 keys.
// Errors: as Get. Source: RMultimap.keySet.
func (m multiCommon[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return m.g.keys(ctx, opts)
}

// All walks the entries: each value with its key, one key after the other, the values of a list in
// their order. They are of one moment if they fit in an answer, of about 1 MB and 1,000
// values, see [WithPage]. Of a key with more, values may come twice if some are taken out
// meanwhile. Otherwise it is as Keys. Cost: HSCAN for each 500 keys, and
// a script call for each answer. Source: RMultimap.entries.
func (m multiCommon[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return m.g.all(ctx, opts)
}

// Expire has k end in d, with all values that it has then, and reports whether it
// is there. A key that is removed, or has ended, and is put anew has no end. It is
// counted by the clients' clocks, as in Redisson, and swept by the clients that
// have called this, at most a second and a round trip later; with
// [WithNativeExpiry] the server does both. A plain RMultimap of Java pays no
// attention to the former.
//
// Cost: one script call. Wire: ZADD {name}:redisson_list_multimap_ttl or {name}:redisson_set_multimap_ttl; HPEXPIRE and
// PEXPIRE. Errors: as Put; with WithNativeExpiry on an older
// server one that wraps [errors.ErrUnsupported]. Source: RMultimapCache.expireKey.
func (m multiCommon[K, V]) Expire(ctx context.Context, k K, d time.Duration) (bool, error) {
	return m.g.expire(ctx, "expire", k, d)
}

// Persist has k stay, and reports whether it is there. Cost: one script call. Wire:
// ZREM; HPERSIST and PERSIST. Errors: as Expire.
func (m multiCommon[K, V]) Persist(ctx context.Context, k K) (bool, error) {
	return m.g.expire(ctx, "persist", k, 0)
}

// Clear removes all keys, as Delete does. Source: RMultimap.clear.
func (m multiCommon[K, V]) Clear(ctx context.Context) error {
	_, err := m.g.clear(ctx, "clear")
	return err
}

// Delete removes all keys with their values, 1,000 at a time, and reports whether
// there was one. What is put meanwhile may stay. After an error some are left: call
// it again. Cost: HSCAN and a script call for each 500 keys, and one more. Errors:
// as Put. Source: RMultimap.delete.
func (m multiCommon[K, V]) Delete(ctx context.Context) (bool, error) {
	return m.g.clear(ctx, "delete")
}

// Exists reports whether there is a key at all, one that KeyLen
// counts. Cost: EXISTS. Errors: as Count.
func (m multiCommon[K, V]) Exists(ctx context.Context) (bool, error) { return m.g.m.exists(ctx) }

// ExpireAll lets the whole multimap go in d, with all that is written until then,
// and reports whether there is one. Where it takes longer than d to
// tell all its keys, it goes then; values of a key that is put at that moment may stay
// a second longer, where only Redisson finds them. With [WithNativeExpiry] values go
// with their key, if that ends before. Cost: two script calls, and HSCAN and one more
// for each 1,000 keys, and all that twice where d is below a minute. Wire: PEXPIRE.
// Errors: as Put; after one, call it again, or values of keys that
// have gone take up memory. Source: RMultimap.expire.
func (m multiCommon[K, V]) ExpireAll(ctx context.Context, d time.Duration) (bool, error) {
	return m.g.expireAll(ctx, d)
}

// PersistAll lets the whole multimap stay, and reports whether it was to go; keys
// end when they would have. Cost and errors: as ExpireAll. Source:
// RMultimap.clearExpire.
func (m multiCommon[K, V]) PersistAll(ctx context.Context) (bool, error) {
	return m.g.persistAll(ctx)
}

// Remaining returns how long the whole multimap stays: 0 if there is none, -1 if it has
// no end. Cost: PTTL. Errors: as Count.
func (m multiCommon[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return m.g.m.remaining(ctx)
}

// TTL returns how long k has until it ends: 0 if there is none, -1 if it has no end.
//
// Cost: one script call. Wire: ZSCORE, HPTTL. Errors: as Count.
func (m multiCommon[K, V]) TTL(ctx context.Context, k K) (time.Duration, error) {
	return m.g.ttl(ctx, k)
}

// Values walks the values of all keys, as All walks the entries. Source:
// RMultimap.values.
func (m multiCommon[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return m.g.walkValues(ctx, opts)
}

// HasValue reports whether a key has that value, by its bytes. It walks the keys until one
// has it, and is not of one moment.
//
// Cost: HSCAN and a script call for each 500 keys, and one more for each 500 keys or 10,000
// values. The server goes through a whole list at a time. Wire: LLEN, LPOS; SISMEMBER. Errors: as
// Count. Source: RMultimap.containsValue.
func (m multiCommon[K, V]) HasValue(ctx context.Context, v V) (bool, error) {
	return m.g.hasValue(ctx, v)
}
