package rmap

import (
	"context"
	"slices"

	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Put writes an entry, whatever was there; Swap returns that. It is sent once, because a second send could overwrite
// a write of another client in between. After [ErrOutcomeUnknown] the entry may or may not have been written. So it is
// after a ctx that ends before the answer. Call Put again where that does no harm.
//
// The entry of a [TTLMap] or a [Cache] has the times of [WithTTL] and [WithMaxIdle], of the call or else of the
// handle. Without them it is permanent, also where the entry before had an end; [WithKeepTTL] keeps that end.
//
// Cost: one command. One script call of a TTLMap with a time to live, and of a Cache. The first Put of a handle that
// finds a bound or a listener takes two. Errors: [ErrOutcomeUnknown], which [WithRequestIDs] avoids;
// [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RMap.fastPut,
// RMapCache.put and, with WithKeepTTL, RMapCache.fastPut.
func (c *common[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		_, err = send.Sent(c.m.Hub.Engine.Sender, ctx, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, c.m.Store.Put(ctx, []string{key, text}, l)
		})
	}
	return c.m.FailedAt("put", key, err)
}

// entry returns what a write of one entry needs.
func (m *handle[K, V]) entry(ctx context.Context, k K, v V, opts []PutOption) (key, text string, l mapstore.Lifetime, err error) {
	if l, err = m.lifetime(opts); err == nil {
		key, text, err = m.Encode(ctx, k, v)
	}
	return key, text, l, err
}

// PutMany writes entries as Put does, all with the same times. One command has up to 2,500 entries or 1 MB (of a
// [Cache] 250), which appear together. The entries of one shard of a [Sharded] appear together. After an error
// some entries may have been written.
//
// Cost: one command or script call for each part, and of a Sharded for each shard. Errors: as Put. Source: RMap.putAll;
// RMapCache.putAll keeps the times of entries that are there, as [WithKeepTTL] does.
func (c *common[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
	l, err := c.m.lifetime(opts)
	var pairs []string
	if err == nil {
		pairs, err = c.m.Pairs(ctx, entries)
	}
	for err == nil && len(pairs) > 0 {
		some := pairs[:mapstore.CutPairs(pairs)]
		pairs = pairs[len(some):]
		_, err = mapstore.Writing(ctx, c.m.Hub, func() (struct{}, error) { return struct{}{}, c.m.Store.Put(ctx, some, l) })
	}
	return c.m.Failed("put many into", err)
}

// Swap writes an entry as Put does, and returns what was there before.
//
// Cost: one script call. Errors: as Put, and [ErrDecode] about what was there: then it has been written. Source:
// RMap.put.
func (c *common[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		old, had, err = c.m.answered(ctx, key, func() (mapstore.Value, error) { return c.m.Store.Swap(ctx, key, text, l) })
	}
	return old, had, c.m.FailedAt("swap", key, err)
}

// answered makes a write that is answered with a value.
func (m *handle[K, V]) answered(ctx context.Context, key string, call func() (mapstore.Value, error)) (v V, there bool, err error) {
	got, err := mapstore.Writing(ctx, m.Hub, call)
	if err != nil {
		return v, false, err
	}
	return m.Decode(key, got)
}

// Remove removes entries, and returns how many there were. Take returns what was there. Of a [Cache] expired
// entries are removed, too, and not counted.
//
// Cost: an HDEL for each 5,000 keys, of a [Sharded] for each shard that has keys; of a Cache a script call for
// each 500. Errors: as Put; the number is that of the commands that were answered. Source: RMap.fastRemove.
func (c *common[K, V]) Remove(ctx context.Context, ks ...K) (n int64, err error) {
	texts, err := c.m.KeyTexts(ctx, ks)
	if err != nil {
		return 0, c.m.Failed("remove from", err)
	}
	for some := range slices.Chunk(texts, mapstore.MostInOne) {
		gone, err := mapstore.Writing(ctx, c.m.Hub, func() (int64, error) { return c.m.Store.Remove(ctx, some) })
		if n += gone; err != nil {
			return n, c.m.Failed("remove from", err)
		}
	}
	return n, nil
}

// Clear removes all entries. The bound of a [Cache] stays. No listener is told, except near caches with
// [WithAnnounce]. A [Sharded] is cleared one shard after the other, and keeps its number of shards: an entry that is
// written meanwhile may stay, and after an error some shards may be empty and others not.
//
// Cost: UNLINK, of a Sharded for each shard; a script call with WithAnnounce. Errors: as Put. Source: RMap.clear.
func (c *common[K, V]) Clear(ctx context.Context) error {
	err := c.m.Usable(ctx)
	if err == nil {
		_, err = mapstore.Writing(ctx, c.m.Hub, func() (struct{}, error) { return struct{}{}, c.m.Store.Clear(ctx) })
	}
	return c.m.Failed("clear", err)
}

// PutIfAbsent writes an entry as Put does if there is none, and returns what is there now and whether it was
// written. Of a [Cache] an entry that is there counts as used.
//
// Cost: one script call. Errors: as Put, and [ErrDecode] about what is there. Source: RMap.putIfAbsent.
func (c *common[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		var there bool
		now, there, err = c.m.answered(ctx, key, func() (mapstore.Value, error) { return c.m.Store.PutIfAbsent(ctx, key, text, l) })
		if stored = err == nil && !there; stored {
			now = v
		}
	}
	return now, stored, c.m.FailedAt("put if absent", key, err)
}

// Replace writes an entry if there is one, and reports whether there was. Of a [Cache] it leaves the times that the
// entry has, except those that the call or the handle gives; the idle time begins anew.
//
// Cost: one script call. Errors: as Put. Source: RMap.fastReplace.
func (c *common[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (done bool, err error) {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		done, err = mapstore.Writing(ctx, c.m.Hub, func() (bool, error) { return c.m.Store.Replace(ctx, key, text, l) })
	}
	return done, c.m.FailedAt("replace", key, err)
}

// Take removes an entry and returns it, and whether there was one. An expired entry of a [Cache] is left to the sweeper.
//
// Cost: one script call. Errors: as Put, and [ErrDecode] about what was there: then it has been removed. Source:
// RMap.remove.
func (c *common[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	key, err := c.m.EncodeKey(ctx, k)
	if err == nil {
		v, had, err = c.m.answered(ctx, key, func() (mapstore.Value, error) { return c.m.Store.Take(ctx, key) })
	}
	return v, had, c.m.FailedAt("take", key, err)
}

// CompareAndSwap writes an entry if what is there has the bytes of old, and reports whether it has. It compares
// bytes, not values. A codec may have several texts for one value, as msgpack has for a map, and Java writes doubles
// in a way of its own. Compute works for every type. The times of the entry are as Replace leaves them.
//
// Cost: one script call. Errors: as Put. Source: RMap.replace(key, old, new).
func (c *common[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (done bool, err error) {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		done, err = c.m.change(ctx, key, old, mapstore.Value{Text: text, There: true}, l)
	}
	return done, c.m.FailedAt("compare and swap", key, err)
}

// CompareAndRemove removes an entry if what is there has the bytes of old, and reports whether it has; see
// CompareAndSwap.
//
// Cost: one script call. Errors: as Put. Source: RMap.remove(key, value).
func (c *common[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (done bool, err error) {
	key, err := c.m.EncodeKey(ctx, k)
	if err == nil {
		done, err = c.m.change(ctx, key, old, mapstore.Value{}, c.m.Config.Entries)
	}
	return done, c.m.FailedAt("compare and remove", key, err)
}

func (m *handle[K, V]) change(ctx context.Context, key string, old V, to mapstore.Value, l mapstore.Lifetime) (bool, error) {
	was, err := m.Codecs.Value(old)
	if err != nil {
		return false, err
	}
	return mapstore.Writing(ctx, m.Hub, func() (bool, error) {
		_, done, err := m.Store.Change(ctx, key, mapstore.Value{Text: was, There: true}, to, l, nil)
		return done, err
	})
}
