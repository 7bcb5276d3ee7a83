package rmap

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/lock"
)

// Cache is a handle on the cache of one name, which Redisson's RMapCache shares:
// a map whose entries have times to live and idle times, and that may be bounded
// and tells of what becomes of its entries, on every server. It holds nothing, so
// it may be used by any number of goroutines, and any number of handles on one
// name are the same cache.
type Cache[K comparable, V any] struct {
	m *handle[K, V]
	c *cached
}

// NewCache returns a handle. Programs outside of this module call
// rueidisson.Cache.
func NewCache[K comparable, V any](e *engine.Engine, name string, opts ...Option) *Cache[K, V] {
	m := newHandle[K, V](e, "cache", name, lifetime.cached, opts)
	c := newCached(m.sender())
	m.store = c
	m.beside.key, m.beside.value = len(c.n.Lease("")), len(lifetime{}.pack(""))
	return &Cache[K, V]{m, c}
}

// cached refuses nothing.
func (l lifetime) cached() error { return nil }

// Name is the name that the handle was made with, before any mapping.
func (m *Cache[K, V]) Name() string { return m.m.name }

// Get returns the value of k, and whether there is one that lives. It puts off
// the end of the entry's idle time.
//
// Gets of one process on one cache that come while another is on its way go out
// together. Cost: a share of two commands in one pipeline. It is a share of a script
// call in a bounded cache, on a cluster, and once a second, and one further for an
// entry with an idle time. Wire: ZSCORE, HGET; ZADD for an entry with an idle time
// and in a bounded cache. Errors: as [Map.Get]. Source: RMapCache.get.
func (m *Cache[K, V]) Get(ctx context.Context, k K) (V, bool, error) { return m.m.get(ctx, k) }

// GetMany returns those of the entries that are there and live, as
// [Cache.Get] does. What does not decode is left out, and is the error beside the
// others.
//
// Cost: for each 500 keys as [Cache.Get], behind each other. Errors: as [Map.Get].
// Source: RMapCache.getAll.
func (m *Cache[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	return m.m.getMany(ctx, ks)
}

// Has reports whether there is an entry of k that lives, and counts as a use of
// it. Cost: one script call. Errors: as [Map.Has]. Source: RMapCache.containsKey.
func (m *Cache[K, V]) Has(ctx context.Context, k K) (bool, error) { return m.m.has(ctx, k) }

// Len is how many entries there are, with those that have expired and were not
// swept yet. Cost: HLEN. Errors: as [Map.Has]. Source: RMapCache.size.
func (m *Cache[K, V]) Len(ctx context.Context) (int64, error) { return m.m.length(ctx) }

// Put writes an entry, whatever was there, with the times of [WithTTL] and
// [WithMaxIdle], of the call or else of the handle. Without them the entry stays for
// ever, also where the one before had an end: Redisson's fastPut keeps that, and so
// does [WithKeepTTL]. It is sent once; see [Map.Put].
//
// Cost: one script call; two for the first one of a handle that finds a bound or
// somebody who listens. Wire: HSET; ZADD or ZREM of the entry's times; the lease
// of who loads the entry ends. Errors: as [Map.Put]. Source: RMapCache.put;
// with WithKeepTTL fastPut.
func (m *Cache[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	return m.m.put(ctx, k, v, opts)
}

// PutMany writes entries as [Cache.Put] does, up to 250 of them in one script
// call, which appear together. After an error some may have been written.
//
// Errors: as [Map.Put]. Source: RMapCache.putAll, which keeps the times of entries that
// are there, as [WithKeepTTL] does.
func (m *Cache[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
	return m.m.putMany(ctx, entries, opts)
}

// Swap writes an entry as [Cache.Put] does, and returns what lived there before.
//
// Cost: one script call. Errors: as [Map.Swap]. Source: RMapCache.put.
func (m *Cache[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	return m.m.swap(ctx, k, v, opts)
}

// Remove removes entries, and returns how many there were that lived. Those that
// had expired go, too.
//
// Cost: a script call for each 500 keys. Errors: as [Map.Remove]. Source:
// RMapCache.fastRemove.
func (m *Cache[K, V]) Remove(ctx context.Context, ks ...K) (int64, error) { return m.m.remove(ctx, ks) }

// Clear removes all entries. A bound stays, and nobody is told but, with [WithAnnounce], near
// caches. Cost: UNLINK of four keys, or a script call that tells. Errors: as [Map.Clear]. Source: RMapCache.clear.
func (m *Cache[K, V]) Clear(ctx context.Context) error { return m.m.clear(ctx) }

// PutIfAbsent writes an entry as [Cache.Put] does if there is none that lives,
// and returns what is there now and whether it was written. What is there counts
// as used.
//
// Cost: one script call. Errors: as [Map.PutIfAbsent]. Source:
// RMapCache.putIfAbsent.
func (m *Cache[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	return m.m.putIfAbsent(ctx, k, v, opts)
}

// Replace writes an entry if there is one that lives, and reports whether there
// was. It leaves the times that the entry has, but for those that the call or the
// handle gives; its idle time begins anew.
//
// Cost: one script call. Errors: as [Map.Replace]. Source: RMapCache.fastReplace.
func (m *Cache[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (bool, error) {
	return m.m.replace(ctx, k, v, opts)
}

// Take removes an entry and returns it, and whether there was one that lived.
// One that had expired is left to the sweeper.
//
// Cost: one script call. Errors: as [Map.Take]. Source: RMapCache.remove.
func (m *Cache[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	return m.m.take(ctx, k)
}

// CompareAndSwap writes an entry if what lives there has the bytes of old, and
// reports whether it has; see [Map.CompareAndSwap]. The times of the entry are as
// [Cache.Replace] leaves them.
//
// Cost: one script call. Errors: as [Map.CompareAndSwap]. Source:
// RMapCache.replace(key, old, new).
func (m *Cache[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (bool, error) {
	return m.m.compareAndSwap(ctx, k, old, v, opts)
}

// CompareAndRemove removes an entry if what lives there has the bytes of old, and
// reports whether it has; see [Map.CompareAndSwap].
//
// Cost: one script call. Errors: as [Map.CompareAndRemove]. Source:
// RMapCache.remove(key, value).
func (m *Cache[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (bool, error) {
	return m.m.compareAndRemove(ctx, k, old)
}

// Compute changes an entry by a function of what lives there, as [Map.Compute]
// does. An entry that comes by it has the times of the call, or else of the handle;
// one that is changed has those that [Cache.Replace] would leave it.
//
// Cost: two script calls, for all that wait. Errors: as [Map.Compute]. Source:
// RMapCache.compute, by another protocol.
func (m *Cache[K, V]) Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts ...PutOption) (v V, there bool, err error) {
	return m.m.compute(ctx, k, f, opts)
}

// All walks the entries that live, as [Map.All] does. It is no use of them.
//
// Cost: a script call for each 500 entries, see [WithPage]. Errors: as
// [Map.All]. Source: RMapCache.entrySet.
func (m *Cache[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return m.m.all(ctx, opts)
}

// Timed is an entry of a [Cache] and how long it has.
type Timed[K comparable, V any] struct {
	Entry[K, V]
	TTL  time.Duration // what is left of its time to live; -1: it has none
	Idle time.Duration // what is left until it was not used for too long; -1: it has no idle time
}

// AllTimed walks the entries that live, as [Cache.All] does, each with the times
// that it had left when its page was read.
//
// Cost: as [Cache.All]. Errors: as [Map.All].
func (m *Cache[K, V]) AllTimed(ctx context.Context, opts ...ScanOption) iter.Seq2[Timed[K, V], error] {
	return func(yield func(Timed[K, V], error) bool) {
		for pair, err := range m.m.scan(ctx, opts, scannedTimes) {
			e := Timed[K, V]{TTL: pair.ttl, Idle: pair.idle}
			if err == nil {
				e.Entry, err = m.m.decodeEntry(pair)
			}
			if !yield(e, m.m.failed("walk", err)) {
				return
			}
		}
	}
}

// Keys walks the keys, as [Cache.All] does the entries. Source: RMapCache.keySet.
func (m *Cache[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return m.m.allKeys(ctx, opts)
}

// Lock is the lock of the entry of k; see [Map.Lock].
func (m *Cache[K, V]) Lock(k K) *lock.Lock { return m.m.lockOf(k) }

// Touch gives the entry of k the times of [WithTTL] and [WithMaxIdle], of the call
// or else of the handle, and leaves what neither gives. WithTTL(0) takes the time to
// live away. It counts as a use, so an
// idle time begins anew. It reports whether there is an entry that lives.
//
// Cost: one script call. Wire: ZADD, and HSET for another idle time. Errors: as
// [Map.Put]. Source: RMapCache.expireEntry.
func (m *Cache[K, V]) Touch(ctx context.Context, k K, opts ...PutOption) (there bool, err error) {
	l, err := m.m.lifetime(opts)
	var key string
	if err == nil {
		key, err = m.m.encodeKey(ctx, k)
	}
	if err == nil {
		there, err = writing(ctx, m.m.h, func() (bool, error) { return m.c.touch(ctx, key, l) })
	}
	return there, m.m.failedAt("touch", key, err)
}

// TTL is how long the entry of k has, by its time to live and its idle time: 0 if
// there is none that lives, -1 if it has no end. It is no use of the entry.
//
// Cost: one script call. Errors: as [Map.Has]. Source:
// RMapCache.remainTimeToLive.
func (m *Cache[K, V]) TTL(ctx context.Context, k K) (left time.Duration, err error) {
	key, err := m.m.encodeKey(ctx, k)
	if err == nil {
		left, err = reading(ctx, m.m.h, func() (time.Duration, error) { return m.c.ttl(ctx, key) })
	}
	return left, m.m.failedAt("look at", key, err)
}

// Order says which entries go first where there are too many.
type Order int

const (
	// LRU is those that were not used for longest.
	LRU Order = iota
	// LFU is those that were used least.
	LFU
)

// String is the order as Redis keeps it.
func (o Order) String() string {
	if o == LFU {
		return "LFU"
	}
	return "LRU"
}

// SetMaxSize bounds the cache, for everybody, to n entries: the least recently or
// least frequently used go when others come. 0 is no bound. Entries that are
// there already are put in order, as those used least, and what is too much goes,
// behind the call and a page at a time.
//
// A bound costs each Get and each write a ZADD. Handles learn of it within a
// second; until then what they read is not noted as used.
//
// Cost: one script call. Wire: hash {name}:redisson_options, max-size and mode.
// Errors: as [Map.Put]. Source: RMapCache.setMaxSize.
func (m *Cache[K, V]) SetMaxSize(ctx context.Context, n int64, by Order) error {
	_, err := m.bound(ctx, n, by, false)
	return err
}

// SetMaxSizeIfAbsent is [Cache.SetMaxSize] unless somebody has set a bound before, also
// one of 0. It reports whether it was set.
//
// Cost: one script call. Errors: as [Map.Put]. Source: RMapCache.trySetMaxSize.
func (m *Cache[K, V]) SetMaxSizeIfAbsent(ctx context.Context, n int64, by Order) (bool, error) {
	return m.bound(ctx, n, by, true)
}

// MaxSize returns the bound of the cache, 0 for none, and which entries go first. Cost:
// HMGET. Errors: as [Map.Has]. Redisson does not return it.
func (m *Cache[K, V]) MaxSize(ctx context.Context) (n int64, by Order, err error) {
	return m.most(ctx, maxSize)
}

// SetMaxBytes bounds the cache to n bytes of keys and values, for everybody who writes by
// this library: the least recently or least frequently used entries go when others come.
// 0 is no bound by bytes. The cache may have a bound of entries, too ([Cache.SetMaxSize]);
// both have one order, which is the one that was set last.
//
// What counts of an entry is its key and its value as the server has them, and 16 bytes.
// The server takes about 60 to 150 bytes more for each; see [Cache.SizeInMemory].
// An entry that is larger than the bound is written, and evicted at once.
//
// Each write counts what it changes. It keeps the bound exactly where all who write use
// this library, but for entries that were there before the bound: they are counted from a
// sample of 1,000, which is wrong by 3 % where sizes vary by as much as their mean, and go
// behind the call and a page at a time. What else changes the cache, such as Redisson, does not see the bound, and is
// not bound by it: what it writes counts when a sample has shown it. After a write the sweeper
// looks at a sample of 100 entries, once in two seconds, and moves the count a
// sixteenth of the way to it: most of what was not counted is within a minute. The count then
// is wrong by about 2 % where sizes vary by as much as their mean, and by ten times that if
// they vary ten times as much. A cache of up to 100 entries is counted exactly.
//
// A bound costs each Get a ZADD, and each write that, HSTRLEN and HSET, and HSTRLEN of what
// it evicts: a write that evicts takes the server 1.7 times as long as under SetMaxSize. Handles learn of it within a second; until then what they read is not noted as
// used.
//
// Cost: one script call. Wire: hash {name}:redisson_options, rueidisson-max-bytes,
// rueidisson-bytes and mode. Errors: as [Map.Put]. Redisson has no such bound.
func (m *Cache[K, V]) SetMaxBytes(ctx context.Context, n int64, by Order) error {
	_, err := m.bounds(ctx, n, 1<<50, "bytes", by, func() (bool, error) { return m.c.boundBytes(ctx, n, by) })
	return err
}

// MaxBytes returns the bound by bytes, 0 for none, and which entries go first. Cost:
// HMGET. Errors: as [Map.Has].
func (m *Cache[K, V]) MaxBytes(ctx context.Context) (n int64, by Order, err error) {
	return m.most(ctx, maxBytes)
}

func (m *Cache[K, V]) most(ctx context.Context, field string) (n int64, by Order, err error) {
	if err = m.m.usable(ctx); err == nil {
		var b bounded
		b, err = reading(ctx, m.m.h, func() (bounded, error) { return m.c.most(ctx, field) })
		n, by = b.n, b.by
	}
	return n, by, m.m.failed("look at the bound of", err)
}

func (m *Cache[K, V]) bound(ctx context.Context, n int64, by Order, ifAbsent bool) (did bool, err error) {
	// Java reads it as an int.
	return m.bounds(ctx, n, math.MaxInt32, "entries", by, func() (bool, error) { return m.c.bound(ctx, n, by, ifAbsent) })
}

// bounds sets a bound.
func (m *Cache[K, V]) bounds(ctx context.Context, n, most int64, of string, by Order, set func() (bool, error)) (did bool, err error) {
	err = m.m.usable(ctx)
	switch {
	case err != nil:
	case n < 0 || n > most:
		err = fmt.Errorf("%w: a bound of %d %s: from 0 to %d", ErrOption, n, of, most)
	case by != LRU && by != LFU:
		err = fmt.Errorf("%w: order %d is neither LRU nor LFU", ErrOption, by)
	default:
		did, err = writing(ctx, m.m.h, set)
	}
	return did, m.m.failed("bound", err)
}

// Delete deletes the cache with its bound, and reports whether there was one. Who
// listens goes on hearing of it, a moment later, as long as a process with this
// library does. Cost: UNLINK, with [WithAnnounce] a script call. Errors: as [Map.Put]. Source:
// RMapCache.delete.
func (m *Cache[K, V]) Delete(ctx context.Context) (bool, error) { return m.m.deleteAll(ctx) }

// Exists reports whether there is an entry at all, living or not swept yet. Cost:
// EXISTS. Errors: as [Map.Has]. Source: RMapCache.isExists.
func (m *Cache[K, V]) Exists(ctx context.Context) (bool, error) { return m.m.exists(ctx) }

// Expire lets the whole cache go in d, with all that is written until then, and
// reports whether there is one; see [Map.Expire]. Nobody is told but, with [WithAnnounce], near
// caches.
//
// Cost: one script call. Wire: PEXPIRE of all keys, and a member
// redisson__expiretag in the sorted sets. Errors: as [Map.Put]. Source:
// RMapCache.expire.
func (m *Cache[K, V]) Expire(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = engine.CheckTTL("time to live", d); err == nil {
		there, err = m.setTime(ctx, decimal(engine.Millis(d)))
	}
	return there, m.m.failed("expire", err)
}

// Persist lets the whole cache stay, and reports whether it was to go. Cost: one
// script call. Wire: PERSIST. Errors: as [Map.Put]. Source: RMapCache.clearExpire.
func (m *Cache[K, V]) Persist(ctx context.Context) (had bool, err error) {
	had, err = m.setTime(ctx, "")
	return had, m.m.failed("persist", err)
}

func (m *Cache[K, V]) setTime(ctx context.Context, ms string) (bool, error) {
	if err := m.m.usable(ctx); err != nil {
		return false, err
	}
	return writing(ctx, m.m.h, func() (bool, error) { return m.c.expire(ctx, ms) })
}

// Remaining is how long the whole cache stays: 0 if there is none, -1 if it has no
// end. Cost: PTTL. Errors: as [Map.Has]. Source: RMapCache.remainTimeToLive.
func (m *Cache[K, V]) Remaining(ctx context.Context) (time.Duration, error) {
	return m.m.remaining(ctx)
}

// Rename gives the cache another name, with its bound, as [Map.Rename] does. Who
// listens hears of the old name. What expires under the new one is swept by those
// who use that.
func (m *Cache[K, V]) Rename(ctx context.Context, to string) (bool, error) {
	return m.m.rename(ctx, to, objectOf, false)
}

func (m *Cache[K, V]) add(ctx context.Context, k K, delta V, opts []PutOption) (V, error) {
	return m.m.addTo(ctx, k, delta, opts)
}

// base has the ends of entries told, too, which may be moved where no entry is
// written. Idle times are not: each read moves them.
func (m *Cache[K, V]) base() base[K] {
	b := m.m.base(m.TTL)
	b.beside = []string{keys.MapTimes(m.m.key)}
	return b
}

var _ mapping[string, int] = (*Cache[string, int])(nil)

// ComputeIfAbsent returns the value of k, and if there is none calls f and stores
// what that returns. It reports whether it was stored. f is called as the function of
// [Cache.Compute] is: by one of those in the process that find nothing, and again where
// the entry came and went meanwhile. An error of f stores nothing, and is returned.
//
// Cost: as [Cache.Get]; where there is nothing, as [Cache.Compute] in addition. Errors: as
// [Map.Compute]. Source: RMapCache.computeIfAbsent, by another protocol.
func (m *Cache[K, V]) ComputeIfAbsent(ctx context.Context, k K, f func() (V, error), opts ...PutOption) (now V, stored bool, err error) {
	return m.m.computeIfAbsent(ctx, k, f, opts)
}

// Values walks the values, as [Cache.All] walks the entries. Source: RMapCache.values.
func (m *Cache[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return m.m.walkValues(ctx, opts)
}

// RandomKeys returns up to n different keys, from 1 to 5,000, which the server draws.
// Those that have expired and were not swept yet are left out, so that there may be
// fewer than n of many.
//
// Cost: one command, and a script call for each 500 keys. Wire: HRANDFIELD. Errors: as [Map.Get]. Source: RMapCache.randomKeys.
func (m *Cache[K, V]) RandomKeys(ctx context.Context, n int) ([]K, error) {
	return m.m.randomKeys(ctx, n)
}

// RandomEntries returns the entries of up to n keys that [Cache.RandomKeys] draws. A key
// that is removed in between is missing. It is no use of the entries.
//
// Cost: as [Cache.RandomKeys] and [Cache.PeekMany]. Errors: as [Map.Get]. Source: RMapCache.randomEntries.
func (m *Cache[K, V]) RandomEntries(ctx context.Context, n int) (map[K]V, error) {
	ks, err := m.m.randomKeys(ctx, n)
	if err != nil {
		return nil, err
	}
	seen, err := m.PeekMany(ctx, ks...)
	all := make(map[K]V, len(seen))
	for k, e := range seen {
		all[k] = e.Value
	}
	return all, err
}

// Peek returns the entry of k with the times that it has, and whether there is one.
// It is no use of the entry, so that its idle time goes on.
//
// Cost: a script call. Errors: as [Map.Get]. Source: RMapCache.getWithTTLOnly.
func (m *Cache[K, V]) Peek(ctx context.Context, k K) (e Timed[K, V], there bool, err error) {
	return m.m.peek(ctx, m.c, k)
}

// PeekMany is [Cache.Peek] of those of the keys that are there. What does not decode is
// left out, and is the error beside the others. Cost: a script call for each 500 keys, or for as
// many as have about 1 MB. Errors: as [Map.Get].
func (m *Cache[K, V]) PeekMany(ctx context.Context, ks ...K) (map[K]Timed[K, V], error) {
	return m.m.peekAll(ctx, m.c, ks)
}

// TTLMany is [Cache.TTL] of those of the keys that are there. Cost: a script call for each 500 keys.
// Errors: as [Map.Has].
func (m *Cache[K, V]) TTLMany(ctx context.Context, ks ...K) (map[K]time.Duration, error) {
	return m.m.ttlMany(ctx, m.c, ks)
}

// ExpireEntries has those of the entries that are there end in d, and returns how many
// that has changed. With [IfNotSet], [IfGreater] or [IfLess] it is about those alone.
//
// Cost: a script call for each 500 keys. Errors: as [Map.Put]; the number is that of the
// calls which were answered. Source: RMapCache.expireEntries, expireEntriesIfNotSet and the like.
func (m *Cache[K, V]) ExpireEntries(ctx context.Context, ks []K, d time.Duration, when ...ExpireIf) (int64, error) {
	if err := engine.CheckTTL("time to live", d); err != nil {
		return 0, m.m.failed("expire entries of", err)
	}
	return m.m.expireEntries(ctx, m.c, "expire entries of", ks, d, when)
}

// ClearExpire takes the times to live of entries away, and returns how many had one. Idle
// times stay.
//
// Cost and errors: as [Cache.ExpireEntries]. Source: RMapCache.expireEntry without a time.
func (m *Cache[K, V]) ClearExpire(ctx context.Context, ks ...K) (int64, error) {
	return m.m.expireEntries(ctx, m.c, "clear ends of", ks, 0, nil)
}
