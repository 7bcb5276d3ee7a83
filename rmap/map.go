package rmap

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Map is a handle on the map of one name, which Redisson's RMap shares. It
// holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same map. A counter is the function [Add], on a map with text values.
type Map[K comparable, V any] struct{ wholeMap[K, V] }

// New returns a handle on the map of that name.
func New[K comparable, V any](c Client, name string, opts ...MapOption) *Map[K, V] {
	e := c.Engine()
	m := newHandle[K, V](e, "map", name, staying, opts)
	m.Store = &mapstore.Plain{Sender: m.Sender()}
	return &Map[K, V]{wholeOf(m)}
}

// Inside returns what packages nearcache, readthrough and writethrough build on. It is for this
// module, see [Mapping].
func (m *Map[K, V]) Inside() mapstore.Inside[K, V, PutOption] { return m.m.Inside(nil) }

// common has the operations on entries, which Map, TTLMap, Cache and Sharded share. What differs is in their comments.
type common[K comparable, V any] struct{ entryObjects[K, V] }

func commonOf[K comparable, V any](m *handle[K, V]) common[K, V] {
	return common[K, V]{entryObjects[K, V]{m}}
}

// Mapping is what every kind of map does: [Map], [TTLMap], [Cache], [Sharded], and what packages
// nearcache, readthrough and writethrough build on any of them. Each method does what the method of
// that name of [Map] does, with its cost and errors; a kind whose method differs says so. Only this
// module implements Mapping.
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

	// Inside is for this module: packages nearcache, readthrough and writethrough are built on it.
	Inside() mapstore.Inside[K, V, PutOption]
}

var (
	_ Mapping[string, int] = (*Map[string, int])(nil)
	_ Mapping[string, int] = (*Cache[string, int])(nil)
	_ Mapping[string, int] = (*TTLMap[string, int])(nil)
	_ Mapping[string, int] = (*Sharded[string, int])(nil)
)
