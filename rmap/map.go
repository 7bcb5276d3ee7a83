package rmap

import "github.com/rueidisson/rueidisson/internal/locking"

// Map is a handle on the map of one name, which Redisson's RMap shares. It
// holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same map.
type Map[K comparable, V any] struct{ wholeMap[K, V] }

// New returns a handle. Programs outside of this module call rueidisson.Map.
func New[K comparable, V any](e *locking.Engine, name string, opts ...Option) *Map[K, V] {
	m := newHandle[K, V](e, "map", name, lifetime.none, opts)
	m.store = &plain{m.sender()}
	return &Map[K, V]{wholeOf(m)}
}

func (m *Map[K, V]) base() base[K] { return m.m.base(nil) }
