package rmap

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// ListMultimap is a handle on the multimap of one name whose keys have lists of
// values, which Redisson's RListMultimap shares, and its RListMultimapCache and
// RListMultimapCacheNative, whose keys may end. Values are in the order in which
// they were put, and one may be there several times. A key is there as long as it
// has a value.
//
// What is about one key is done in one step on the server. What is about all of them
// is done 1,000 keys at a time, and is not of one moment.
//
// It holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same multimap.
type ListMultimap[K comparable, V any] struct{ multiCommon[K, V] }

// NewListMultimap returns a handle. Programs outside of this module call
// rueidisson.ListMultimap.
func NewListMultimap[K comparable, V any](e *locking.Engine, name string, opts ...MultimapOption) *ListMultimap[K, V] {
	return &ListMultimap[K, V]{multiCommonOf(newMulti[K, V](e, "list", name, keys.ListEnds, opts))}
}

// Put adds a value at the end of the list of k. One that has ended begins anew,
// without an end.
//
// Cost: one script call. Wire: HSET name key id, RPUSH {name}:id value. Errors:
// [ErrUnknown], since it is sent once, which [WithRequestIDs] avoids; [ErrOption];
// ctx's error and cause; [ErrClosed]; Redis' and the network's. Source:
// RListMultimap.put.
func (m *ListMultimap[K, V]) Put(ctx context.Context, k K, v V) error {
	_, err := m.g.put(ctx, k, v)
	return err
}

// PutAll adds values at the end of the list of k, all of them or none: up to
// 100,000. No values change nothing.
//
// Cost, wire and errors: as [ListMultimap.Put]. Source: RListMultimap.putAll.
func (m *ListMultimap[K, V]) PutAll(ctx context.Context, k K, vs ...V) error {
	_, err := m.g.put(ctx, k, vs...)
	return err
}

// Range returns the values of k from the first to the last position, both from 0, or from
// the end if they are negative. -1 is the last. A position behind the end is none. What
// does not decode is left out, and is the error beside the others.
//
// Cost: one script call, whose answer has all of them. Wire: LRANGE. Errors: as
// [ListMultimap.Get]. Source: RListMultimap.get(key).range.
func (m *ListMultimap[K, V]) Range(ctx context.Context, k K, first, last int64) ([]V, error) {
	return m.g.some(ctx, k, first, last)
}
