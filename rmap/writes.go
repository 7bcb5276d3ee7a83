package rmap

import (
	"context"
	"slices"

	"github.com/rueidisson/rueidisson/internal/send"
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
func (c common[K, V]) Put(ctx context.Context, k K, v V, opts ...PutOption) error {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		_, err = send.Sent(c.m.h.e.Sender, ctx, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, c.m.store.put(ctx, []string{key, text}, l)
		})
	}
	return c.m.failedAt("put", key, err)
}

// entry returns what a write of one entry needs.
func (m *handle[K, V]) entry(ctx context.Context, k K, v V, opts []PutOption) (key, text string, l lifetime, err error) {
	if l, err = m.lifetime(opts); err == nil {
		key, text, err = m.encode(ctx, k, v)
	}
	return key, text, l, err
}

// PutMany writes entries as Put does, all with the same times. One command has up to 2,500 entries or 1 MB (of a
// [Cache] 250), which appear together. The entries of one shard of a [Sharded] appear together. After an error
// some entries may have been written.
//
// Cost: one command or script call for each part, and of a Sharded for each shard. Errors: as Put. Source: RMap.putAll;
// RMapCache.putAll keeps the times of entries that are there, as [WithKeepTTL] does.
func (c common[K, V]) PutMany(ctx context.Context, entries map[K]V, opts ...PutOption) error {
	l, err := c.m.lifetime(opts)
	var pairs []string
	if err == nil {
		pairs, err = c.m.pairs(ctx, entries)
	}
	for err == nil && len(pairs) > 0 {
		some := pairs[:cutPairs(pairs)]
		pairs = pairs[len(some):]
		_, err = writing(ctx, c.m.h, func() (struct{}, error) { return struct{}{}, c.m.store.put(ctx, some, l) })
	}
	return c.m.failed("put many into", err)
}

// Swap writes an entry as Put does, and returns what was there before.
//
// Cost: one script call. Errors: as Put, and [ErrDecode] about what was there: then it has been written. Source:
// RMap.put.
func (c common[K, V]) Swap(ctx context.Context, k K, v V, opts ...PutOption) (old V, had bool, err error) {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		old, had, err = c.m.answered(ctx, key, func() (value, error) { return c.m.store.swap(ctx, key, text, l) })
	}
	return old, had, c.m.failedAt("swap", key, err)
}

// answered makes a write that is answered with a value.
func (m *handle[K, V]) answered(ctx context.Context, key string, call func() (value, error)) (v V, there bool, err error) {
	got, err := writing(ctx, m.h, call)
	if err != nil {
		return v, false, err
	}
	return m.decode(key, got)
}

// Remove removes entries, and returns how many there were. Take returns what was there. Of a [Cache] expired
// entries are removed, too, and not counted.
//
// Cost: an HDEL for each 5,000 keys, of a [Sharded] for each shard that has keys; of a Cache a script call for
// each 500. Errors: as Put; the number is that of the commands that were answered. Source: RMap.fastRemove.
func (c common[K, V]) Remove(ctx context.Context, ks ...K) (n int64, err error) {
	texts, err := c.m.keyTexts(ctx, ks)
	if err != nil {
		return 0, c.m.failed("remove from", err)
	}
	for some := range slices.Chunk(texts, mostInOne) {
		gone, err := writing(ctx, c.m.h, func() (int64, error) { return c.m.store.remove(ctx, some) })
		if n += gone; err != nil {
			return n, c.m.failed("remove from", err)
		}
	}
	return n, nil
}

// Clear removes all entries. The bound of a [Cache] stays. No listener is told, except near caches with
// [WithAnnounce]. A [Sharded] is cleared one shard after the other, and keeps its number of shards: an entry that is
// written meanwhile may stay, and after an error some shards may be empty and others not.
//
// Cost: UNLINK, of a Sharded for each shard; a script call with WithAnnounce. Errors: as Put. Source: RMap.clear.
func (c common[K, V]) Clear(ctx context.Context) error {
	err := c.m.usable(ctx)
	if err == nil {
		_, err = writing(ctx, c.m.h, func() (struct{}, error) { return struct{}{}, c.m.store.clear(ctx) })
	}
	return c.m.failed("clear", err)
}

// PutIfAbsent writes an entry as Put does if there is none, and returns what is there now and whether it was
// written. Of a [Cache] an entry that is there counts as used.
//
// Cost: one script call. Errors: as Put, and [ErrDecode] about what is there. Source: RMap.putIfAbsent.
func (c common[K, V]) PutIfAbsent(ctx context.Context, k K, v V, opts ...PutOption) (now V, stored bool, err error) {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		var there bool
		now, there, err = c.m.answered(ctx, key, func() (value, error) { return c.m.store.putIfAbsent(ctx, key, text, l) })
		if stored = err == nil && !there; stored {
			now = v
		}
	}
	return now, stored, c.m.failedAt("put if absent", key, err)
}

// Replace writes an entry if there is one, and reports whether there was. Of a [Cache] it leaves the times that the
// entry has, except those that the call or the handle gives; the idle time begins anew.
//
// Cost: one script call. Errors: as Put. Source: RMap.fastReplace.
func (c common[K, V]) Replace(ctx context.Context, k K, v V, opts ...PutOption) (done bool, err error) {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		done, err = writing(ctx, c.m.h, func() (bool, error) { return c.m.store.replace(ctx, key, text, l) })
	}
	return done, c.m.failedAt("replace", key, err)
}

// Take removes an entry and returns it, and whether there was one. An expired entry of a [Cache] is left to the sweeper.
//
// Cost: one script call. Errors: as Put, and [ErrDecode] about what was there: then it has been removed. Source:
// RMap.remove.
func (c common[K, V]) Take(ctx context.Context, k K) (v V, had bool, err error) {
	key, err := c.m.encodeKey(ctx, k)
	if err == nil {
		v, had, err = c.m.answered(ctx, key, func() (value, error) { return c.m.store.take(ctx, key) })
	}
	return v, had, c.m.failedAt("take", key, err)
}

// CompareAndSwap writes an entry if what is there has the bytes of old, and reports whether it has. It compares
// bytes, not values. A codec may have several texts for one value, as msgpack has for a map, and Java writes doubles
// in a way of its own. Compute works for every type. The times of the entry are as Replace leaves them.
//
// Cost: one script call. Errors: as Put. Source: RMap.replace(key, old, new).
func (c common[K, V]) CompareAndSwap(ctx context.Context, k K, old, v V, opts ...PutOption) (done bool, err error) {
	key, text, l, err := c.m.entry(ctx, k, v, opts)
	if err == nil {
		done, err = c.m.change(ctx, key, old, value{text: text, there: true}, l)
	}
	return done, c.m.failedAt("compare and swap", key, err)
}

// CompareAndRemove removes an entry if what is there has the bytes of old, and reports whether it has; see
// CompareAndSwap.
//
// Cost: one script call. Errors: as Put. Source: RMap.remove(key, value).
func (c common[K, V]) CompareAndRemove(ctx context.Context, k K, old V) (done bool, err error) {
	key, err := c.m.encodeKey(ctx, k)
	if err == nil {
		done, err = c.m.change(ctx, key, old, value{}, c.m.cfg.entries)
	}
	return done, c.m.failedAt("compare and remove", key, err)
}

func (m *handle[K, V]) change(ctx context.Context, key string, old V, to value, l lifetime) (bool, error) {
	was, err := m.codecs.Value(old)
	if err != nil {
		return false, err
	}
	return writing(ctx, m.h, func() (bool, error) {
		_, done, err := m.store.change(ctx, key, value{text: was, there: true}, to, l, nil)
		return done, err
	})
}
