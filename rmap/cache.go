package rmap

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Cache is a handle on the cache of one name, which Redisson's RMapCache shares:
// a map whose entries have times to live and idle times, and that may be bounded
// and tells of what becomes of its entries, on every server. It holds nothing, so
// it may be used by any number of goroutines, and any number of handles on one
// name are the same cache.
type Cache[K comparable, V any] struct {
	wholeMap[K, V]
	c *mapstore.Cached
}

// NewCache returns a handle on the cache of that name, a map whose entries expire on every server.
func NewCache[K comparable, V any](c Client, name string, opts ...CacheOption) *Cache[K, V] {
	e := c.Engine()
	m := newHandle[K, V](e, "cache", name, nil, opts)
	on := &mapstore.Cached{Sender: m.Sender(), Names: mapcache.NamesOf(m.Key)}
	on.Names.Announced = m.Config.Announce
	m.Store, m.keysOf = on, mapstore.ObjectOf
	m.Codecs.BesideKey, m.Codecs.BesideValue = len(on.Names.Lease("")), len(mapstore.Lifetime{}.Pack(""))
	return &Cache[K, V]{wholeOf(m), on}
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
		for pair, err := range m.m.scan(ctx, opts, mapstore.ScannedTimes) {
			e := Timed[K, V]{TTL: pair.TTL, Idle: pair.Idle}
			if err == nil {
				e.Entry, err = m.m.decodeEntry(pair)
				err = core.Notice(err)
			}
			if !yield(e, m.m.Failed("walk", err)) {
				return
			}
		}
	}
}

// Touch gives the entry of k the times of [WithTTL] and [WithMaxIdle], of the call
// or else of the handle, and leaves what neither gives. WithTTL(0) takes the time to
// live away. It counts as a use, so an
// idle time begins anew. It reports whether there is an entry that lives.
//
// Cost: one script call. Errors: as [Map.Put]. Source: RMapCache.expireEntry.
func (m *Cache[K, V]) Touch(ctx context.Context, k K, opts ...PutOption) (there bool, err error) {
	l, err := m.m.lifetime(opts)
	var key string
	if err == nil {
		key, err = m.m.EncodeKey(ctx, k)
	}
	if err == nil {
		there, err = mapstore.Writing(ctx, m.m.Hub, func() (bool, error) { return m.c.Touch(ctx, key, l) })
	}
	return there, m.m.FailedAt("touch", key, err)
}

// TTL returns how long the entry of k has, by its time to live and its idle time: 0 if
// there is none that lives, -1 if it has no end. It is no use of the entry.
//
// Cost: one script call. Errors: as [Map.Has]. Source:
// RMapCache.remainTimeToLive.
func (m *Cache[K, V]) TTL(ctx context.Context, k K) (left time.Duration, err error) {
	key, err := m.m.EncodeKey(ctx, k)
	if err == nil {
		left, err = mapstore.Reading(ctx, m.m.Hub, func() (time.Duration, error) {
			on := []string{m.c.Names.Hash, m.c.Names.Times, m.c.Names.Rests}
			return send.Remainder(send.Number(m.m.Hub.Engine.Run(ctx, mapcache.TTL, on, []string{key, m.c.Now()})))
		})
	}
	return left, m.m.FailedAt("look at", key, err)
}

// Order says which entries go first where there are too many.
type Order int

const (
	// LRU is those that were not used for longest.
	LRU Order = iota
	// LFU is those that were used least.
	LFU
)

// String returns the order as Redis keeps it.
func (o Order) String() string {
	if o == LFU {
		return mapstore.LeastFrequently
	}
	return mapstore.LeastRecently
}

// SetMaxSize bounds the cache to n entries, for all clients. When others are added, the least
// recently or least frequently used entries are evicted. 0 removes the bound. Existing entries
// are put in order, as those used least. Those above the bound are evicted after the call, a
// page at a time.
//
// A bound costs each Get and each write a ZADD. Handles learn of it within a
// second; until then what they read is not noted as used.
//
// Cost: one script call. Errors: as [Map.Put]. Source: RMapCache.setMaxSize.
func (m *Cache[K, V]) SetMaxSize(ctx context.Context, n int64, by Order) error {
	_, err := m.bound(ctx, n, by, false)
	return err
}

// SetMaxSizeIfAbsent sets the bound, as [Cache.SetMaxSize] does, unless a bound was set before,
// also one of 0. It reports whether it was set.
//
// Cost: one script call. Errors: as [Map.Put]. Source: RMapCache.trySetMaxSize.
func (m *Cache[K, V]) SetMaxSizeIfAbsent(ctx context.Context, n int64, by Order) (bool, error) {
	return m.bound(ctx, n, by, true)
}

// MaxSize returns the bound of the cache, 0 for none, and which entries go first. Cost:
// HMGET. Errors: as [Map.Has]. Redisson does not return it.
func (m *Cache[K, V]) MaxSize(ctx context.Context) (n int64, by Order, err error) {
	return m.most(ctx, mapstore.MaxSize)
}

// SetMaxBytes bounds the cache to n bytes of keys and values, for all writers that use this
// library. When others are added, the least recently or least frequently used entries are
// evicted. 0 removes the bound by bytes. The cache may have a bound of entries, too
// ([Cache.SetMaxSize]); both have one order, which is the one that was set last.
//
// An entry counts as its key and its value as the server has them, and 16 bytes.
// The server takes about 60 to 150 bytes more for each; see [Cache.SizeInMemory].
// An entry that is larger than the bound is written, and evicted at once.
//
// Each write counts what it changes. It keeps the bound exactly if all writers use this
// library, except for entries that existed before the bound. Those are counted from a sample of
// 1,000, which is wrong by 3 % if sizes vary by as much as their mean. They are evicted after
// the call, a page at a time.
//
// Other writers, such as Redisson, do not see the bound and are not bound by it: what they
// write counts when a sample has shown it. After a write the sweeper looks at a sample of 100
// entries, once in two seconds, and moves the count a sixteenth of the way to it. So most of
// what was not counted is counted within a minute. The count then is wrong by about 2 % if sizes
// vary by as much as their mean, and by ten times that if they vary ten times as much. A cache
// of up to 100 entries is counted exactly.
//
// A bound costs each Get a ZADD, and each write a ZADD, HSTRLEN and HSET, and HSTRLEN of what
// it evicts. A write that evicts takes the server 1.7 times as long as under SetMaxSize.
// Handles learn of it within a second; until then what they read is not noted as used.
//
// Cost: one script call. Errors: as [Map.Put]. Redisson has no such bound.
func (m *Cache[K, V]) SetMaxBytes(ctx context.Context, n int64, by Order) error {
	_, err := m.bounds(ctx, n, 1<<50, "bytes", by, func() (bool, error) {
		on := []string{m.c.Names.Options, m.c.Names.Accesses, m.c.Names.Hash}
		_, err := m.m.Hub.Engine.RunBriefly(ctx, mapcache.SetBytes, on, []string{mapstore.Decimal(n), by.String()})
		m.c.Knows.Store(nil)
		m.c.Hub.Sweeper.Expect(&m.c.Names, m.c.Hub.Engine.Wall()) // which sees to what is too much
		return err == nil, err
	})
	return err
}

// MaxBytes returns the bound by bytes, 0 for none, and which entries go first. Cost:
// HMGET. Errors: as [Map.Has].
func (m *Cache[K, V]) MaxBytes(ctx context.Context) (n int64, by Order, err error) {
	return m.most(ctx, mapstore.MaxBytes)
}

func (m *Cache[K, V]) most(ctx context.Context, field string) (n int64, by Order, err error) {
	if err = m.m.Usable(ctx); err == nil {
		var b mapstore.Bounded
		b, err = mapstore.Reading(ctx, m.m.Hub, func() (mapstore.Bounded, error) { return m.c.Most(ctx, field) })
		if n = b.Most; b.By == LFU.String() {
			by = LFU
		}
	}
	return n, by, m.m.Failed("look at the bound of", err)
}

func (m *Cache[K, V]) bound(ctx context.Context, n int64, by Order, ifAbsent bool) (did bool, err error) {
	// Java reads it as an int.
	return m.bounds(ctx, n, math.MaxInt32, "entries", by, func() (bool, error) { return m.c.Bound(ctx, n, by.String(), ifAbsent) })
}

// bounds sets a bound.
func (m *Cache[K, V]) bounds(ctx context.Context, n, most int64, of string, by Order, set func() (bool, error)) (did bool, err error) {
	err = m.m.Usable(ctx)
	switch {
	case err != nil:
	case n < 0 || n > most:
		err = fmt.Errorf("%w: a bound of %d %s: from 0 to %d", ErrInvalidArgument, n, of, most)
	case by != LRU && by != LFU:
		err = fmt.Errorf("%w: order %d is neither LRU nor LFU", ErrInvalidArgument, by)
	default:
		did, err = mapstore.Writing(ctx, m.m.Hub, set)
	}
	return did, m.m.Failed("bound", err)
}

// Inside returns what packages nearcache, readthrough and writethrough build on. It is for this
// module, see [Mapping]. It has the ends of entries told, too, which may be moved where no entry is
// written. Idle times are not: each read moves them.
func (m *Cache[K, V]) Inside() mapstore.Inside[K, V, PutOption] {
	in := m.m.Inside(m.TTL)
	in.Beside = []string{keys.MapTimes(m.m.Key)}
	return in
}

var _ Mapping[string, int] = (*Cache[string, int])(nil)

// RandomEntries returns the entries of up to n keys that [Cache.RandomKeys] draws. A key
// that is removed in between is missing. It is no use of the entries.
//
// Cost: as [Cache.RandomKeys] and [Cache.PeekMany]. Errors: as [Map.Get]. Source: RMapCache.randomEntries.
func (m *Cache[K, V]) RandomEntries(ctx context.Context, n int) (map[K]V, error) {
	ks, err := m.RandomKeys(ctx, n)
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

// Peek returns the entry of k with its times, and whether there is one.
// It does not count as a use of the entry, so its idle time continues.
//
// Cost: a script call. Errors: as [Map.Get]. Source: RMapCache.getWithTTLOnly.
func (m *Cache[K, V]) Peek(ctx context.Context, k K) (e Timed[K, V], there bool, err error) {
	return m.m.peek(ctx, m.c, k)
}

// PeekMany returns the entries of those of the keys that are there, with their times, as
// [Cache.Peek] does. Values that do not decode are left out; PeekMany then returns the others
// together with an error.
//
// Cost: a script call for each 500 keys, or for as many as have about 1 MB. Errors: as [Map.Get].
func (m *Cache[K, V]) PeekMany(ctx context.Context, ks ...K) (map[K]Timed[K, V], error) {
	return m.m.peekAll(ctx, m.c, ks)
}

// TTLMany returns the times to live of those of the keys that are there, as [Cache.TTL] does.
//
// Cost: a script call for each 500 keys. Errors: as [Map.Has].
func (m *Cache[K, V]) TTLMany(ctx context.Context, ks ...K) (map[K]time.Duration, error) {
	return m.m.ttlMany(ctx, m.c, ks)
}

// ExpireEntries has those of the entries that are there end in d, and returns how many
// that has changed. With [IfNotSet], [IfGreater] or [IfLess] it is about those alone.
//
// Cost: a script call for each 500 keys. Errors: as [Map.Put]; the number is that of the
// calls which were answered. Source: RMapCache.expireEntries, expireEntriesIfNotSet and the like.
func (m *Cache[K, V]) ExpireEntries(ctx context.Context, ks []K, d time.Duration, when ...ExpireIf) (int64, error) {
	if err := send.CheckTTL("time to live", d); err != nil {
		return 0, m.m.Failed("expire entries of", err)
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
