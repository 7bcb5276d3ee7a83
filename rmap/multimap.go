package rmap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/multimap"
)

// multi is a multimap, of lists or of sets: a hash with a field for each key, and
// a key of Redis for the values of each.
type multi[K comparable, V any] struct {
	m     *handle[K, V]
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
	all := make([]Option, len(opts))
	for i, o := range opts {
		if o != nil {
			all[i] = option(o.applyMultimap)
		}
	}
	m := newHandle[K, V](e, kind+" multimap", name, lifetime.grouped, all)
	if m.bad == nil && (m.cfg.entryLock || m.cfg.announce) {
		m.bad = fmt.Errorf("%w: WithEntryLock and WithAnnounce are for maps: a multimap has no Compute, and no near caches", ErrOption)
	}
	names := multiNames{m.key, ends(m.key), kind}
	m.store = &grouped{plain{m.sender()}, names}
	return &multi[K, V]{m, m.sender(), names}
}

func (g *multi[K, V]) now() string { return decimal(g.m.h.e.Wall()) }

// write sends a script that changes one key.
func (g *multi[K, V]) write(ctx context.Context, script *scripts.Script, key string, args ...string) (send.Answer, error) {
	return g.s.write(ctx, script, g.names.of(key), append([]string{g.now(), g.names.kind, key}, args...)...)
}

// look sends a script that reads some keys.
func (g *multi[K, V]) look(ctx context.Context, script send.Operation, fields []string, args ...string) (send.Answer, error) {
	return g.m.h.e.Run(ctx, script, g.names.of(fields...), append(append([]string{g.now(), g.names.kind}, fields...), args...))
}

// mostValues bounds the values of one write, which is one script call.
const mostValues = 100_000

// encode returns a key and values as they are in Redis.
func (g *multi[K, V]) encode(ctx context.Context, k K, vs []V) (key string, texts []string, err error) {
	if key, err = g.m.encodeKey(ctx, k); err != nil {
		return key, nil, err
	}
	if len(vs) > mostValues {
		return key, nil, fmt.Errorf("%w: %d values at once, of at most %d", ErrOption, len(vs), mostValues)
	}
	size := 0
	texts = make([]string, len(vs))
	for i, v := range vs {
		if texts[i], err = g.m.encodeValue(v); err != nil {
			return key, nil, err
		}
		size += len(texts[i])
	}
	if err = g.m.h.e.Fits(size); err != nil {
		err = fmt.Errorf("values: %w", err)
	}
	return key, texts, err
}

// put returns how many of the values were not there.
func (g *multi[K, V]) put(ctx context.Context, k K, vs ...V) (added int64, err error) {
	key, texts, err := g.encode(ctx, k, vs)
	if err == nil && len(texts) > 0 {
		added, err = writing(ctx, g.m.h, func() (int64, error) {
			return send.Number(g.write(ctx, multimap.Put, key, append([]string{keys.GroupField(key)}, texts...)...))
		})
	}
	return added, g.m.failedAt("put", key, err)
}

func (g *multi[K, V]) replace(ctx context.Context, op string, k K, vs ...V) (old []V, err error) {
	key, texts, err := g.encode(ctx, k, vs)
	if err == nil {
		old, err = g.answered(ctx, key, func() (send.Answer, error) {
			return g.write(ctx, multimap.Replace, key, append([]string{keys.GroupField(key)}, texts...)...)
		})
	}
	return old, g.m.failedAt(op, key, err)
}

// answered makes a write that is answered with the values that there were.
func (g *multi[K, V]) answered(ctx context.Context, key string, call func() (send.Answer, error)) ([]V, error) {
	texts, err := writing(ctx, g.m.h, func() ([]string, error) {
		packed, _, err := send.Text(call())
		if err != nil {
			return nil, err
		}
		return unpack(packed)
	})
	if err != nil {
		return nil, err
	}
	return g.decode(key, texts)
}

// unpack returns several texts, each with its length before it.
func unpack(packed string) (texts []string, err error) {
	for packed != "" {
		digits, rest, _ := strings.Cut(packed, ":")
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || n > len(rest) {
			return nil, fmt.Errorf("%w: values without their lengths", ErrDecode)
		}
		texts, packed = append(texts, rest[:n]), rest[n:]
	}
	return texts, nil
}

// decode leaves out what does not decode, and tells of it.
func (g *multi[K, V]) decode(key string, texts []string) ([]V, error) {
	vs := make([]V, 0, len(texts))
	var undecoded []error
	for _, text := range texts {
		v, _, err := g.m.decode(key, value{text: text, there: true})
		if err != nil {
			undecoded = append(undecoded, err)
		} else {
			vs = append(vs, v)
		}
	}
	return vs, errors.Join(undecoded...)
}

func (g *multi[K, V]) get(ctx context.Context, k K) (vs []V, err error) {
	key, err := g.m.encodeKey(ctx, k)
	var texts [][]string
	if err == nil {
		texts, err = g.values(ctx, []string{key})
	}
	if err == nil {
		vs, err = g.decode(key, texts[0])
	}
	return vs, g.m.failedAt("get", key, err)
}

// values returns the values of keys.
func (g *multi[K, V]) values(ctx context.Context, fields []string) ([][]string, error) {
	return reading(ctx, g.m.h, func() ([][]string, error) {
		got, err := g.look(ctx, readValues, fields)
		if err != nil {
			return nil, err
		}
		parts, err := got.ToArray()
		if err != nil {
			return nil, err
		}
		all := make([][]string, len(parts))
		for i := range parts {
			if all[i], err = parts[i].AsStrSlice(); err != nil {
				return nil, err
			}
		}
		return all, nil
	})
}

// counts returns how many values keys have: 0 if one is not there, -1 if it is and has
// none.
func (g *multi[K, V]) counts(ctx context.Context, fields []string) ([]int64, error) {
	return reading(ctx, g.m.h, func() ([]int64, error) {
		got, err := g.look(ctx, multimap.Counts, fields)
		if err != nil {
			return nil, err
		}
		return got.AsIntSlice()
	})
}

func (g *multi[K, V]) count(ctx context.Context, k K) (n int64, err error) {
	key, err := g.m.encodeKey(ctx, k)
	if err == nil {
		var all []int64
		if all, err = g.counts(ctx, []string{key}); err == nil {
			n = max(all[0], 0)
		}
	}
	return n, g.m.failedAt("count", key, err)
}

func (g *multi[K, V]) hasEntry(ctx context.Context, k K, v V) (has bool, err error) {
	key, texts, err := g.encode(ctx, k, []V{v})
	if err == nil {
		has, err = reading(ctx, g.m.h, func() (bool, error) {
			return send.Yes(g.look(ctx, multimap.Has, []string{key}, texts[0]))
		})
	}
	return has, g.m.failedAt("look for", key, err)
}

func (g *multi[K, V]) remove(ctx context.Context, k K, v V) (had bool, err error) {
	key, texts, err := g.encode(ctx, k, []V{v})
	if err == nil {
		had, err = writing(ctx, g.m.h, func() (bool, error) {
			return send.Yes(g.write(ctx, multimap.Remove, key, texts[0]))
		})
	}
	return had, g.m.failedAt("remove from", key, err)
}

func (g *multi[K, V]) removeKeys(ctx context.Context, ks []K) (n int64, err error) {
	texts, err := g.m.keyTexts(ctx, ks)
	slices.Sort(texts)
	texts = slices.Compact(texts) // each counts once
	for some := range slices.Chunk(texts, mostKeys) {
		if err != nil {
			break
		}
		var gone int64
		gone, err = writing(ctx, g.m.h, func() (int64, error) { return g.drop(ctx, some, "all") })
		n += gone
	}
	return n, g.m.failed("remove keys of", err)
}

// mostKeys bounds the keys of one script call.
const mostKeys = 1000

// drop removes keys with their values.
func (g *multi[K, V]) drop(ctx context.Context, fields []string, which string) (int64, error) {
	return send.Number(g.s.write(ctx, multimap.Drop, g.names.of(fields...), append([]string{g.now(), g.names.kind, which}, fields...)...))
}

func (g *multi[K, V]) keyLen(ctx context.Context) (int64, error) { return g.m.length(ctx) }

// clear removes all keys, and reports whether there was one.
func (g *multi[K, V]) clear(ctx context.Context, op string) (there bool, err error) {
	for fields, err := range g.fields(ctx, nil) {
		var n int64
		if err == nil {
			n, err = writing(ctx, g.m.h, func() (int64, error) { return g.drop(ctx, fields, "all") })
		}
		if err != nil {
			return there, g.m.failed(op, err)
		}
		there = there || n > 0
	}
	_, err = writing(ctx, g.m.h, func() (bool, error) {
		return send.Yes(g.s.write(ctx, multimap.Finish, g.names.of()))
	})
	return there, g.m.failed(op, err)
}
