package multimap

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// List is a handle on the multimap of one name whose keys have lists of
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
type List[K comparable, V any] struct{ multi[K, V] }

// NewList returns a handle on the multimap of that name, whose keys have lists of values. It does no I/O.
func NewList[K comparable, V any](c Client, name string, opts ...Option) *List[K, V] {
	return &List[K, V]{newMulti[K, V](c.Engine(), "list", name, keys.ListEnds, opts)}
}

// Put adds a value at the end of the list of k. One that has ended begins anew,
// without an end.
//
// Cost: one script call. Errors: [ErrOutcomeUnknown], since it is sent once, which [WithRequestIDs] avoids;
// [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RListMultimap.put.
func (m *List[K, V]) Put(ctx context.Context, k K, v V) error {
	_, err := m.put(ctx, k, v)
	return err
}

// PutAll adds values at the end of the list of k, all of them or none: up to
// 100,000. No values change nothing.
//
// Cost, wire and errors: as [List.Put]. Source: RListMultimap.putAll.
func (m *List[K, V]) PutAll(ctx context.Context, k K, vs ...V) error {
	_, err := m.put(ctx, k, vs...)
	return err
}

// Range returns the values of k from the first to the last position. Both count from 0, or from
// the end if they are negative: -1 is the last. A position after the end has no value. Values
// that do not decode are left out; Range then returns the others together with an error.
//
// Cost: one script call, whose answer has all of them. Errors: as [List.Get]. Source:
// RListMultimap.get(key).range.
func (m *List[K, V]) Range(ctx context.Context, k K, first, last int64) (vs []V, err error) {
	key, err := m.encodeKey(ctx, k)
	var texts []string
	if err == nil {
		texts, err = send.Reading(m.e.Sender, ctx, func() ([]string, error) {
			return send.Texts(m.look(ctx, readRange, []string{key}, decimal(first), decimal(last)))
		})
	}
	if err == nil {
		vs, err = m.decode(key, texts)
	}
	return vs, m.failedAt("get", key, err)
}

// Set is a handle on the multimap of one name whose keys have sets of
// values, which Redisson's RSetMultimap shares, and its RSetMultimapCache and
// RSetMultimapCacheNative, whose keys may end. Values are equal if their bytes are,
// and in no order. A key is there as long as it has a value.
//
// What is about one key is done in one step on the server. What is about all of them
// is done 1,000 keys at a time, and is not of one moment.
//
// It holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same multimap.
type Set[K comparable, V any] struct{ multi[K, V] }

// NewSet returns a handle on the multimap of that name, whose keys have sets of values. It does no I/O.
func NewSet[K comparable, V any](c Client, name string, opts ...Option) *Set[K, V] {
	return &Set[K, V]{newMulti[K, V](c.Engine(), "set", name, keys.SetEnds, opts)}
}

// Put adds a value to the set of k, and reports whether it was not there. A set that
// has ended begins anew, without an end.
//
// Cost: one script call. Errors: [ErrOutcomeUnknown], since it is sent once, which [WithRequestIDs] avoids;
// [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RSetMultimap.put.
func (m *Set[K, V]) Put(ctx context.Context, k K, v V) (added bool, err error) {
	n, err := m.put(ctx, k, v)
	return n > 0, err
}

// PutAll adds values to the set of k, all of them or none, up to 100,000, and
// returns how many were not there. No values change nothing.
//
// Cost, wire and errors: as [Set.Put]. Source: RSetMultimap.putAll.
func (m *Set[K, V]) PutAll(ctx context.Context, k K, vs ...V) (added int64, err error) {
	return m.put(ctx, k, vs...)
}
