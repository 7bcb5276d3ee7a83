package rmap

import (
	"context"
	"errors"
	"slices"

	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Get returns the value of k, and whether there is an entry. An entry of a [TTLMap] or a [Cache] that has expired
// is not there. A Get of a Cache begins the entry's idle time anew.
//
// Gets of one process on one map (of a [Sharded] on one shard) that come while another is on its way go out
// together.
//
// Cost:
//   - [Map], [TTLMap]: a share of one command.
//   - [Sharded]: the same. Once a second a Get waits for a GET of the name.
//   - [Cache]: a share of two commands in one pipeline. It is a share of a script call in a bounded cache, on a
//     cluster, and once a second, and one more call for an entry with an idle time.
//
// Errors: [ErrDecode], by a *[codec.DecodeError], and then it is there; ctx's error and cause; [ErrInvalidArgument], also
// for another number of shards; [ErrClosed]; Redis' and the network's. Source: RMap.get.
func (c *common[K, V]) Get(ctx context.Context, k K) (v V, there bool, err error) {
	key, err := c.m.EncodeKey(ctx, k)
	var got mapstore.Value
	if err == nil {
		got, err = c.m.Store.Get(ctx, key)
	}
	if err == nil {
		v, there, err = c.m.Decode(key, got)
	}
	return v, there, c.m.FailedAt("get", key, err)
}

// GetMany returns the entries of those of the keys that are there, as Get does. Entries that do not decode are left
// out, and are the error in addition to the others. The entries of one command are of one moment.
//
// Cost: an HMGET for each 5,000 keys, one after the other, or for as many as have about 1 MB, by the values of the
// map that were read before. The first GetMany of a map begins with few keys. Of a [Sharded] there is an HMGET
// for each shard that has keys, 32 at the same time; of a [Cache] a call for each 500 keys. Errors: as Get.
// Source: RMap.getAll.
func (c *common[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	texts, err := c.m.KeyTexts(ctx, ks)
	if err != nil {
		return nil, c.m.Failed("get many of", err)
	}
	found := make(map[K]V, len(ks))
	var undecoded []error
	for some := range slices.Chunk(texts, mapstore.MostInOne) {
		got, err := mapstore.Reading(ctx, c.m.Hub, func() ([]mapstore.Value, error) { return c.m.Store.GetMany(ctx, some) })
		if err != nil {
			return nil, c.m.Failed("get many of", err)
		}
		for i, one := range got {
			if v, there, err := c.m.Decode(some[i], one); err != nil {
				undecoded = append(undecoded, err)
			} else if there {
				found[ks[i]] = v
			}
		}
		ks = ks[len(got):]
	}
	return found, c.m.Failed("get many of", errors.Join(undecoded...))
}

// Has reports whether there is an entry of k. Of a [Cache] it counts as a use of the entry.
//
// Cost: one command, HEXISTS; of a Cache one script call. Errors: as Get, but ErrDecode. Source: RMap.containsKey.
func (c *common[K, V]) Has(ctx context.Context, k K) (there bool, err error) {
	key, err := c.m.EncodeKey(ctx, k)
	if err == nil {
		there, err = mapstore.Reading(ctx, c.m.Hub, func() (bool, error) { return c.m.Store.Has(ctx, key) })
	}
	return there, c.m.FailedAt("look for", key, err)
}

// Len returns how many entries there are. Of a [TTLMap] and a [Cache] it counts expired entries until they are
// swept. The shards of a [Sharded] are counted at different moments.
//
// Cost: one command, HLEN; of a Sharded one for each shard. Errors: as Has. Source: RMap.size.
func (c *common[K, V]) Len(ctx context.Context) (int64, error) { return c.m.length(ctx) }

func (m *handle[K, V]) length(ctx context.Context) (n int64, err error) {
	if err = m.Usable(ctx); err == nil {
		n, err = mapstore.Reading(ctx, m.Hub, func() (int64, error) { return m.Store.Length(ctx) })
	}
	return n, m.Failed("count", err)
}
