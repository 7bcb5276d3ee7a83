package rmap

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// TTLMap is a handle on the map of one name whose entries may have times to live
// that the server itself keeps, which Redisson's RMapCacheNative shares. In Redis
// it is a [Map]: what reads that reads this. It needs Redis 7.4 or Valkey 9; on
// an older server every operation is an error that wraps [errors.ErrUnsupported]
// and names the version, and nothing is written. While a cluster is upgraded, that
// is so of the names whose server is the old one still. [Cache] does without.
//
// It holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same map.
type TTLMap[K comparable, V any] struct{ wholeMap[K, V] }

// NewTTLMap returns a handle on the map of that name, whose entries may have times to live that the server keeps.
func NewTTLMap[K comparable, V any](c Client, name string, opts ...TTLMapOption) *TTLMap[K, V] {
	e := c.Engine()
	m := newHandle[K, V](e, "TTL map", name, lasting, opts)
	s := m.Sender()
	s.Timed = true
	m.Store = &mapstore.Plain{Sender: s}
	m.Ready = func(ctx context.Context) error { return fieldttl.Of(m.Hub.Engine).Check(ctx, m.Key) }
	return &TTLMap[K, V]{wholeOf(m)}
}

// Inside returns what packages nearcache, readthrough and writethrough build on. It is for this
// module, see [Mapping].
func (m *TTLMap[K, V]) Inside() mapstore.Inside[K, V, PutOption] { return m.m.Inside(m.TTL) }

// TTL returns how long the entry of k stays: 0 if there is none, -1 if it has no end.
//
// Cost: one script call. Errors: as [Map.Has]. Source: RMapCacheNative.remainTimeToLive.
func (m *TTLMap[K, V]) TTL(ctx context.Context, k K) (time.Duration, error) { return m.m.ttl(ctx, k) }

// Touch gives the entry of k the time to live of [WithTTL], of the call or else of
// the handle. WithTTL(0) makes it permanent. Without either nothing changes, as with
// [Cache.Touch]. It reports whether there is an entry.
//
// Cost: one script call. Errors: as [Map.Put]. Source: RMapCacheNative.expireEntry, clearExpire.
func (m *TTLMap[K, V]) Touch(ctx context.Context, k K, opts ...PutOption) (bool, error) {
	return m.m.touchField(ctx, k, opts)
}

func (m *handle[K, V]) ttl(ctx context.Context, k K) (left time.Duration, err error) {
	key, err := m.EncodeKey(ctx, k)
	if err == nil {
		left, err = mapstore.Reading(ctx, m.Hub, func() (time.Duration, error) {
			return send.Remainder(send.Number(m.Hub.Engine.Run(ctx, mapstore.TTLScript, []string{m.Key}, []string{key})))
		})
	}
	return left, m.FailedAt("look at", key, err)
}

func (m *handle[K, V]) touchField(ctx context.Context, k K, opts []PutOption) (there bool, err error) {
	l, err := m.lifetime(opts)
	var key string
	if err == nil {
		key, err = m.EncodeKey(ctx, k)
	}
	if err == nil {
		there, err = mapstore.Writing(ctx, m.Hub, func() (bool, error) {
			p := mapstore.Plain{Sender: m.Sender()}
			return send.Yes(p.Enters(ctx, mapstore.TouchScript, l.Touched(), key, l.Touched()))
		})
	}
	return there, m.FailedAt("touch", key, err)
}

// lasting refuses what the server has nothing for.
func lasting(l mapstore.Lifetime) error {
	if l.Idle != 0 {
		return fmt.Errorf("%w: WithMaxIdle is not supported by a TTLMap: use a Cache", ErrInvalidArgument)
	}
	return nil
}

// Peek returns the entry of k with the times that it has, and whether there is one.
// Idle is -1: entries of a TTLMap have no idle time.
//
// Cost: a script call. Errors: as [Map.Get]. Source: RMapCacheNative.get and remainTimeToLive.
func (m *TTLMap[K, V]) Peek(ctx context.Context, k K) (e Timed[K, V], there bool, err error) {
	return m.m.peek(ctx, m.timed(), k)
}

// PeekMany returns the entries of those of the keys that are there, with their times, as
// [TTLMap.Peek] does. Values that do not decode are left out; PeekMany then returns the others
// together with an error.
//
// Cost: a script call for each 500 keys, or for as many as have about 1 MB. Errors: as [Map.Get].
func (m *TTLMap[K, V]) PeekMany(ctx context.Context, ks ...K) (map[K]Timed[K, V], error) {
	return m.m.peekAll(ctx, m.timed(), ks)
}

// TTLMany returns the times to live of those of the keys that are there, as [TTLMap.TTL] does.
//
// Cost: a script call for each 500 keys. Errors: as [Map.Has].
func (m *TTLMap[K, V]) TTLMany(ctx context.Context, ks ...K) (map[K]time.Duration, error) {
	return m.m.ttlMany(ctx, m.timed(), ks)
}

// ExpireEntries has those of the entries that are there end in d, and returns how many
// that has changed. With [IfNotSet], [IfGreater] or [IfLess] it is about those alone.
// A load that is under way writes no entry that was given an end.
//
// Cost: a script call for each 500 keys. Errors: as [Map.Put]; the number is that of the
// calls which were answered. Source: RMapCacheNative.expireEntries, expireEntriesIfNotSet and the like.
func (m *TTLMap[K, V]) ExpireEntries(ctx context.Context, ks []K, d time.Duration, when ...ExpireIf) (int64, error) {
	if err := send.CheckTTL("time to live", d); err != nil {
		return 0, m.m.Failed("expire entries of", err)
	}
	return m.m.expireEntries(ctx, m.timed(), "expire entries of", ks, d, when)
}

// ClearExpire takes the times to live of entries away, and returns how many had one.
//
// Cost and errors: as [TTLMap.ExpireEntries]. Source: RMapCacheNative.clearExpire.
func (m *TTLMap[K, V]) ClearExpire(ctx context.Context, ks ...K) (int64, error) {
	return m.m.expireEntries(ctx, m.timed(), "clear ends of", ks, 0, nil)
}

// timed returns the store of a TTLMap.
func (m *TTLMap[K, V]) timed() *mapstore.Plain { return m.m.Store.(*mapstore.Plain) }
