package rmap

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/send"
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
func (c common[K, V]) Get(ctx context.Context, k K) (v V, there bool, err error) {
	key, err := c.m.encodeKey(ctx, k)
	var got value
	if err == nil {
		got, err = c.m.store.get(ctx, key)
	}
	if err == nil {
		v, there, err = c.m.decode(key, got)
	}
	return v, there, c.m.failedAt("get", key, err)
}

func (p *plain) get(ctx context.Context, key string) (value, error) {
	return p.h.gets.Do(ctx, p.key, getAsk{key, p.h.sizeOf(p.key)})
}

// getAsk is one Get. Those of one map that come while others are under way go
// out together.
type getAsk struct {
	key  string
	size *atomic.Int64 // of a value of the map, about
}

type getCall = combine.Call[getAsk, value]

// What goes out together is bounded: the server does nothing else meanwhile,
// and the first of them waits for the last.
const (
	mostGets  = 256
	firstGets = 10
	mostRead  = 256 << 10 // bytes, by what the values of the map were so far
)

// cut returns how many waiting reads go out together. They are few while the sizes of the map's
// values are not known.
func cut(waiting int, size *atomic.Int64) int {
	n := min(waiting, mostGets)
	if size := size.Load(); size > 0 {
		return min(n, max(1, int(mostRead/size)))
	}
	return min(n, firstGets)
}

// sendGets reads the entries of a batch: one by HGET, several by HMGET.
func (h *hub) sendGets(name string, _ int, batch []*getCall) (err error) {
	if err = h.e.Open(); err != nil {
		return err
	}
	size := batch[0].Ask.size
	if len(batch) == 1 {
		batch[0].Answer, err = found(h.e.Run(context.Background(), send.Expect(readOne, size.Load()), []string{name}, []string{batch[0].Ask.key}))
	} else {
		fields := make([]string, len(batch))
		for i, c := range batch {
			fields[i] = c.Ask.key
		}
		var got []value
		got, err = values(h.e.Run(context.Background(), readMany, []string{name}, fields))
		for i := range got {
			batch[i].Answer = got[i]
		}
	}
	if err == nil {
		measure(size, batch)
	}
	return err
}

// measure smooths the size of the values of a map. Flights that land at the same
// time may lose one of their measures, which does no harm.
func measure[A any](size *atomic.Int64, batch []*combine.Call[A, value]) {
	sum, there := 0, 0
	for _, c := range batch {
		if c.Answer.there {
			sum, there = sum+len(c.Answer.text), there+1
		}
	}
	smooth(size, sum, there)
}

// sizes is for how many maps the sizes of their values are kept apart. Others
// share them, as the memory of a process must not grow with every name.
const sizes = 256

func (h *hub) sizeOf(name string) *atomic.Int64 {
	return &h.sizes[maphash.String(h.seed, name)%sizes]
}

// GetMany returns the entries of those of the keys that are there, as Get does. Entries that do not decode are left
// out, and are the error in addition to the others. The entries of one command are of one moment.
//
// Cost: an HMGET for each 5,000 keys, one after the other, or for as many as have about 1 MB, by the values of the
// map that were read before. The first GetMany of a map begins with few keys. Of a [Sharded] there is an HMGET
// for each shard that has keys, 32 at the same time; of a [Cache] a call for each 500 keys. Errors: as Get.
// Source: RMap.getAll.
func (c common[K, V]) GetMany(ctx context.Context, ks ...K) (map[K]V, error) {
	texts, err := c.m.keyTexts(ctx, ks)
	if err != nil {
		return nil, c.m.failed("get many of", err)
	}
	found := make(map[K]V, len(ks))
	var undecoded []error
	for some := range slices.Chunk(texts, mostInOne) {
		got, err := reading(ctx, c.m.h, func() ([]value, error) { return c.m.store.getMany(ctx, some) })
		if err != nil {
			return nil, c.m.failed("get many of", err)
		}
		for i, one := range got {
			if v, there, err := c.m.decode(some[i], one); err != nil {
				undecoded = append(undecoded, err)
			} else if there {
				found[ks[i]] = v
			}
		}
		ks = ks[len(got):]
	}
	return found, c.m.failed("get many of", errors.Join(undecoded...))
}

// mostInOne bounds what one command takes.
const mostInOne = 5000

// keyTexts returns keys as they are in Redis, if the handle can be used.
func (m *handle[K, V]) keyTexts(ctx context.Context, ks []K) ([]string, error) {
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	return m.codecs.KeyTexts(ks)
}

func (p *plain) getMany(ctx context.Context, keys []string) ([]value, error) {
	return p.readSome(ctx, keys, mostInOne, func(some []string) ([]value, error) {
		return values(p.h.e.Run(ctx, send.Expect(readMany, p.expects(len(some))), []string{p.key}, some))
	})
}

// readSome reads values. It asks for as many at once as an answer takes, judged by the map's
// values so far. While none is known it asks for one, and then for four times as many.
func (s *sender) readSome(ctx context.Context, names []string, most int, read func(some []string) ([]value, error)) ([]value, error) {
	all, size := make([]value, 0, len(names)), s.h.sizeOf(s.key)
	upTo := most
	if size.Load() == 0 {
		upTo = 1
	}
	for ; len(names) > 0; upTo = min(most, upTo*hashscan.MostGrowth) {
		if ctx.Err() != nil {
			return nil, core.ContextError(ctx)
		}
		if err := s.h.e.Open(); err != nil {
			return nil, err
		}
		n := min(upTo, len(names))
		if size := size.Load(); size > 0 {
			n = min(n, int(max(hashscan.MostBytes/size, 1)))
		}
		got, err := read(names[:n])
		if err != nil {
			return nil, err
		}
		bytes, there := 0, 0
		for _, v := range got {
			if v.there {
				bytes, there = bytes+len(v.text), there+1
			}
		}
		smooth(size, bytes, there)
		all, names = append(all, got...), names[n:]
	}
	return all, nil
}

// expects returns how many bytes so many values of the map have, as far as is known.
func (s *sender) expects(n int) int64 { return int64(n) * s.h.sizeOf(s.key).Load() }

// smooth takes n values of so many bytes into their size.
func smooth(size *atomic.Int64, bytes, n int) {
	if n == 0 {
		return
	}
	old, now := size.Load(), int64(max(bytes/n, 1))
	if now > old {
		size.Store(now) // a large batch is late at once
		return
	}
	size.Store(old - (old-now)/8)
}

// Has reports whether there is an entry of k. Of a [Cache] it counts as a use of the entry.
//
// Cost: one command, HEXISTS; of a Cache one script call. Errors: as Get, but ErrDecode. Source: RMap.containsKey.
func (c common[K, V]) Has(ctx context.Context, k K) (there bool, err error) {
	key, err := c.m.encodeKey(ctx, k)
	if err == nil {
		there, err = reading(ctx, c.m.h, func() (bool, error) { return c.m.store.has(ctx, key) })
	}
	return there, c.m.failedAt("look for", key, err)
}

// Len returns how many entries there are. Of a [TTLMap] and a [Cache] it counts expired entries until they are
// swept. The shards of a [Sharded] are counted at different moments.
//
// Cost: one command, HLEN; of a Sharded one for each shard. Errors: as Has. Source: RMap.size.
func (c common[K, V]) Len(ctx context.Context) (int64, error) { return c.m.length(ctx) }

func (m *handle[K, V]) length(ctx context.Context) (n int64, err error) {
	if err = m.usable(ctx); err == nil {
		n, err = reading(ctx, m.h, func() (int64, error) { return m.store.length(ctx) })
	}
	return n, m.failed("count", err)
}
