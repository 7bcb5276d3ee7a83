package rmap

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
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
type ListMultimap[K comparable, V any] struct{ multi[K, V] }

// NewListMultimap returns a handle on the multimap of that name, whose keys have lists of values.
func NewListMultimap[K comparable, V any](c Client, name string, opts ...MultimapOption) *ListMultimap[K, V] {
	e := c.Engine()
	return &ListMultimap[K, V]{*newMulti[K, V](e, "list", name, keys.ListEnds, opts)}
}

// Put adds a value at the end of the list of k. One that has ended begins anew,
// without an end.
//
// Cost: one script call. Errors: [ErrOutcomeUnknown], since it is sent once, which [WithRequestIDs] avoids;
// [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RListMultimap.put.
func (m *ListMultimap[K, V]) Put(ctx context.Context, k K, v V) error {
	_, err := m.put(ctx, k, v)
	return err
}

// PutAll adds values at the end of the list of k, all of them or none: up to
// 100,000. No values change nothing.
//
// Cost, wire and errors: as [ListMultimap.Put]. Source: RListMultimap.putAll.
func (m *ListMultimap[K, V]) PutAll(ctx context.Context, k K, vs ...V) error {
	_, err := m.put(ctx, k, vs...)
	return err
}

// Range returns the values of k from the first to the last position. Both count from 0, or from
// the end if they are negative: -1 is the last. A position after the end has no value. Values
// that do not decode are left out; Range then returns the others together with an error.
//
// Cost: one script call, whose answer has all of them. Errors: as [ListMultimap.Get]. Source:
// RListMultimap.get(key).range.
func (m *ListMultimap[K, V]) Range(ctx context.Context, k K, first, last int64) (vs []V, err error) {
	key, err := m.m.encodeKey(ctx, k)
	var texts []string
	if err == nil {
		texts, err = reading(ctx, m.m.h, func() ([]string, error) {
			return send.Texts(m.look(ctx, readRange, []string{key}, decimal(first), decimal(last)))
		})
	}
	if err == nil {
		vs, err = m.decode(key, texts)
	}
	return vs, m.m.failedAt("get", key, err)
}

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
type SetMultimap[K comparable, V any] struct{ multi[K, V] }

// NewSetMultimap returns a handle on the multimap of that name, whose keys have sets of values.
func NewSetMultimap[K comparable, V any](c Client, name string, opts ...MultimapOption) *SetMultimap[K, V] {
	e := c.Engine()
	return &SetMultimap[K, V]{*newMulti[K, V](e, "set", name, keys.SetEnds, opts)}
}

// Put adds a value to the set of k, and reports whether it was not there. A set that
// has ended begins anew, without an end.
//
// Cost: one script call. Errors: [ErrOutcomeUnknown], since it is sent once, which [WithRequestIDs] avoids;
// [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RSetMultimap.put.
func (m *SetMultimap[K, V]) Put(ctx context.Context, k K, v V) (added bool, err error) {
	n, err := m.put(ctx, k, v)
	return n > 0, err
}

// PutAll adds values to the set of k, all of them or none, up to 100,000, and
// returns how many were not there. No values change nothing.
//
// Cost, wire and errors: as [SetMultimap.Put]. Source: RSetMultimap.putAll.
func (m *SetMultimap[K, V]) PutAll(ctx context.Context, k K, vs ...V) (added int64, err error) {
	return m.put(ctx, k, vs...)
}

// multi is a multimap, of lists or of sets: a hash with a field for each key, and a key of Redis for the values of each.
// It has the operations that both share.
type multi[K comparable, V any] struct {
	entryObjects[K, V]
	s     sender
	names multiNames
}

// multiNames are the keys of a multimap.
type multiNames struct {
	index, ends, kind string // kind is list or set
}

func (n multiNames) of(fields ...string) []string {
	all := make([]string, 2, 3+len(fields))
	all[0], all[1] = n.index, n.ends
	for _, field := range fields {
		all = append(all, keys.Values(n.index, field))
	}
	return all
}

// grouped is the hash of a multimap, for walks.
type grouped struct {
	plain
	names multiNames
}

// object has the keys that there are, and how the others are called.
func (g *grouped) object() []string {
	return []string{g.names.index, g.names.ends, keys.ValuesOf(g.names.index, "<hash of a key>")}
}

func newMulti[K comparable, V any](e *locking.Engine, kind, name string, ends func(string) string, opts []MultimapOption) *multi[K, V] {
	m := newHandle[K, V](e, kind+" multimap", name, nil, opts)
	names := multiNames{m.key, ends(m.key), kind}
	m.store = &grouped{plain{m.sender()}, names}
	return &multi[K, V]{entryObjects[K, V]{m}, m.sender(), names}
}

func (m *multi[K, V]) now() string { return decimal(m.m.h.e.Wall()) }

// write sends a script that changes one key.
func (m *multi[K, V]) write(ctx context.Context, script *scripts.Script, key string, args ...string) (send.Answer, error) {
	return m.s.write(ctx, script, m.names.of(key), append([]string{m.now(), m.names.kind, key}, args...)...)
}

// look sends a script that reads some keys.
func (m *multi[K, V]) look(ctx context.Context, script send.Operation, fields []string, args ...string) (send.Answer, error) {
	return m.m.h.e.Run(ctx, script, m.names.of(fields...), append(append([]string{m.now(), m.names.kind}, fields...), args...))
}

// KeyLen returns how many keys there are, with those that have ended and were not swept
// yet, and those that Redisson has left without values. Cost: HLEN. Errors: as Count. Source: RMultimap.keySize.
func (m *multi[K, V]) KeyLen(ctx context.Context) (int64, error) { return m.m.length(ctx) }

// Exists reports whether there is a key at all, one that KeyLen
// counts. Cost: EXISTS. Errors: as Count.
func (m *multi[K, V]) Exists(ctx context.Context) (bool, error) { return m.m.exists(ctx) }
