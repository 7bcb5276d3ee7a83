package mapstore

import (
	"context"
	"time"
)

// Base is where the entries of a map are in Redis.
type Base[K comparable] struct {
	Hub  *Hub
	Bad  error    // why the handle cannot be used
	Keys []string // its hashes: one, or one for each shard

	Beside []string // of a single hash: what else says which entries there are

	Announces bool // its writes tell near caches

	// At is in which of the hashes the entry of k is, and under which field.
	At func(k K) (i int, field string, err error)
	// Left is how long the entry of k stays, as TTL says; nil if entries of this
	// kind of map never go by themselves.
	Left func(ctx context.Context, k K) (time.Duration, error)
}

// Inside describes a map to the maps that are built on it. A map on top of another one passes the description on, and
// changes what it adds to. O is an option of one write.
type Inside[K comparable, V, O any] struct {
	Base[K]

	Handle *Handle[K, V] // of the map in Redis; nil: it cannot be loaded or written

	Whole  bool // it is one hash in Redis with nothing on top, so one step may change it and queue the change
	Writes bool // it writes its changes to a store

	Encode   func(v V) (string, error)        // a value as it is in Redis
	Lifetime func(opts []O) (Lifetime, error) // of what a write writes
	Add      func(ctx context.Context, k K, delta V, opts []O) (V, error)

	// Heard hears of a hit of a near cache, and returns for how long it need not hear of another one of k; nil: it
	// hears of none.
	Heard func(ctx context.Context, k K) time.Duration
	// Written hears of entries that were written past it; nil: it hears of none.
	Written func(ks ...K)
}
