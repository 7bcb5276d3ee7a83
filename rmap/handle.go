package rmap

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// handle adds to a [mapstore.Handle] what only the kinds of this package need.
type handle[K comparable, V any] struct {
	mapstore.Handle[K, V]

	// keysOf returns the keys of a map of this kind that has this key.
	keysOf func(key string) []string
	// can refuses lifetimes that entries of this kind of map cannot have; nil: they can have all.
	can func(mapstore.Lifetime) error
}

// applied is an option of one of the kinds.
type applied interface {
	comparable
	applyHandle(*mapstore.Config) error
}

// newHandle checks the options of a handle and does no I/O. The store is made of what is known
// then.
func newHandle[K comparable, V any, O applied](e *locking.Engine, kind, name string, can func(mapstore.Lifetime) error, opts []O) *handle[K, V] {
	cfg, err := object.Options(mapstore.Config{}, opts, O.applyHandle)
	return &handle[K, V]{mapstore.New[K, V](e, kind, name, cfg, err), func(key string) []string { return []string{key} }, can}
}

// lifetime returns how long what a write writes lives.
func (m *handle[K, V]) lifetime(opts []PutOption) (mapstore.Lifetime, error) {
	if len(opts) == 0 {
		return m.Config.Entries, nil
	}
	l, err := object.Options(m.Config.Entries, opts, PutOption.applyPut)
	if err == nil && m.can != nil {
		err = m.can(l)
	}
	return l, err
}

// Inside returns what a map with one hash is made of.
func (m *handle[K, V]) Inside(left func(ctx context.Context, k K) (time.Duration, error)) mapstore.Inside[K, V, PutOption] {
	in := m.spread([]string{m.Key}, func(k K) (int, string, error) {
		field, err := m.Codecs.Key(k)
		return 0, field, err
	})
	in.Whole, in.Left = true, left
	return in
}

// spread returns what a map with these hashes is made of.
func (m *handle[K, V]) spread(keys []string, at func(k K) (int, string, error)) mapstore.Inside[K, V, PutOption] {
	entries := commonOf(m)
	return mapstore.Inside[K, V, PutOption]{
		Base:   mapstore.Base[K]{Hub: m.Hub, Bad: m.Bad, Keys: keys, Announces: m.Config.Announce, At: at},
		Handle: &m.Handle, Encode: m.Codecs.Value, Lifetime: m.lifetime, Add: entries.add,
	}
}
