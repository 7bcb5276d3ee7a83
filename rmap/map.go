package rmap

import (
	"context"
	"iter"
	"time"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/lock"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Map is a handle on the map of one name, which Redisson's RMap shares. It
// holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same map.
type Map[K comparable, V any] struct{ wholeMap[K, V] }

// New returns a handle on the map of that name.
func New[K comparable, V any](c Client, name string, opts ...MapOption) *Map[K, V] {
	e := c.Engine()
	m := newHandle[K, V](e, "map", name, lifetime.none, opts)
	m.store = &plain{m.sender()}
	return &Map[K, V]{wholeOf(m)}
}

func (m *Map[K, V]) base() base[K] { return m.m.base(nil) }

// common has the operations on entries, which Map, TTLMap, Cache and Sharded share. What differs is in their comments.
type common[K comparable, V any] struct{ entryObjects[K, V] }

func commonOf[K comparable, V any](m *handle[K, V]) common[K, V] {
	return common[K, V]{entryObjects[K, V]{m}}
}

// Mapping is what every kind of map does: [Map], [TTLMap], [Cache], [Sharded], and [Near], [Loading] and [Writing], which are
// built on any of them. Only this package implements it.
type Mapping[K comparable, V any] interface {
	Name() string

	Get(ctx context.Context, k K) (V, bool, error)
	GetMany(ctx context.Context, ks ...K) (map[K]V, error)
	Has(ctx context.Context, k K) (bool, error)
	Len(ctx context.Context) (int64, error)

	Put(ctx context.Context, k K, v V, opts ...PutOption) error
	PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error
	Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error)
	Remove(ctx context.Context, ks ...K) (int64, error)
	Clear(ctx context.Context) error

	PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error)
	Replace(ctx context.Context, k K, v V, opts ...PutOption) (bool, error)
	Take(ctx context.Context, k K) (v V, had bool, err error)
	CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (bool, error)
	CompareAndRemove(ctx context.Context, k K, old V) (bool, error)
	Compute(ctx context.Context, k K, f func(old V, had bool) (V, Verdict, error), opts ...PutOption) (v V, there bool, err error)

	All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error]
	Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error]

	Lock(k K) *lock.Lock
	Check(ctx context.Context) error
	add(ctx context.Context, k K, delta V, opts []PutOption) (V, error)

	// base is what it stands on in Redis: of what is built on another one, that
	// one's.
	base() base[K]
}

// base is where the entries of a map are in Redis.
type base[K comparable] struct {
	h    *hub
	bad  error    // why the handle cannot be used
	keys []string // its hashes: one, or one for each shard

	beside []string // of a single hash: what else says which entries there are

	announces bool // its writes tell near caches

	// at is in which of the hashes the entry of k is, and under which field.
	at func(k K) (i int, field string, err error)
	// left is how long the entry of k stays, as TTL says; nil if entries of this
	// kind of map never go by themselves.
	left func(ctx context.Context, k K) (time.Duration, error)
}

// base returns that of a map with one hash.
func (m *handle[K, V]) base(left func(ctx context.Context, k K) (time.Duration, error)) base[K] {
	return base[K]{h: m.h, bad: m.bad, keys: []string{m.key}, announces: m.cfg.announce, left: left, at: func(k K) (int, string, error) {
		field, err := m.codecs.Key(k)
		return 0, field, err
	}}
}

var (
	_ Mapping[string, int] = (*Map[string, int])(nil)
	_ Mapping[string, int] = (*Cache[string, int])(nil)
	_ Mapping[string, int] = (*TTLMap[string, int])(nil)
	_ Mapping[string, int] = (*Sharded[string, int])(nil)
)
