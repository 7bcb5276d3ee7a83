package rmap

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// SetMultimap is a handle on the multimap of one name whose keys have sets of
// values, which Redisson's RSetMultimap shares, and its RSetMultimapCache and
// RSetMultimapCacheNative, whose keys may end. Values are equal if their bytes are,
// and in no order. A key is there as long as it has a value.
//
// What is about one key is done in one step on the server. What is about all of them
// is done 1,000 keys at a time, and is not of one moment.
//
// It holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same multimap.
type SetMultimap[K comparable, V any] struct{ multiCommon[K, V] }

// NewSetMultimap returns a handle. Programs outside of this module call
// rueidisson.SetMultimap.
func NewSetMultimap[K comparable, V any](e *locking.Engine, name string, opts ...MultimapOption) *SetMultimap[K, V] {
	return &SetMultimap[K, V]{multiCommonOf(newMulti[K, V](e, "set", name, keys.SetEnds, opts))}
}

// Put adds a value to the set of k, and reports whether it was not there. A set that
// has ended begins anew, without an end.
//
// Cost: one script call. Wire: HSET name key id, SADD {name}:id value. Errors:
// [ErrUnknown], since it is sent once, which [WithRequestIDs] avoids; [ErrOption];
// ctx's error and cause; [ErrClosed]; Redis' and the network's. Source:
// RSetMultimap.put.
func (m *SetMultimap[K, V]) Put(ctx context.Context, k K, v V) (added bool, err error) {
	n, err := m.g.put(ctx, k, v)
	return n > 0, err
}

// PutAll adds values to the set of k, all of them or none, up to 100,000, and
// returns how many were not there. No values change nothing.
//
// Cost, wire and errors: as [SetMultimap.Put]. Source: RSetMultimap.putAll.
func (m *SetMultimap[K, V]) PutAll(ctx context.Context, k K, vs ...V) (added int64, err error) {
	return m.g.put(ctx, k, vs...)
}
