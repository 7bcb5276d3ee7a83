package rmap

import (
	"context"
	"time"
)

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

// inside is what a map is made of, for what is built on it. Of what is built on another map it is that one's, changed
// where it adds something.
type inside[K comparable, V any] struct {
	base[K]

	handle *handle[K, V] // of the map in Redis; nil: it cannot be loaded or written

	whole  bool // it is one hash in Redis with nothing on top, so one step may change it and queue the change
	writes bool // it writes its changes to a store

	encode func(v V) (string, error) // a value as it is in Redis
	add    func(ctx context.Context, k K, delta V, opts []PutOption) (V, error)

	// heard hears of a hit of a near cache, and returns for how long it need not hear of another one of k; nil: it
	// hears of none.
	heard func(ctx context.Context, k K) time.Duration
	// written hears of entries that were written past it; nil: it hears of none.
	written func(ks ...K)
}

// inside returns what a map with one hash is made of.
func (m *handle[K, V]) inside(left func(ctx context.Context, k K) (time.Duration, error)) inside[K, V] {
	in := m.spread([]string{m.key}, func(k K) (int, string, error) {
		field, err := m.codecs.Key(k)
		return 0, field, err
	})
	in.whole, in.left = true, left
	return in
}

// spread returns what a map with these hashes is made of.
func (m *handle[K, V]) spread(keys []string, at func(k K) (int, string, error)) inside[K, V] {
	return inside[K, V]{
		base:   base[K]{h: m.h, bad: m.bad, keys: keys, announces: m.cfg.announce, at: at},
		handle: m, encode: m.codecs.Value, add: commonOf(m).add,
	}
}
