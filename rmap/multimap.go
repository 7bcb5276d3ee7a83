package rmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
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

func newMulti[K comparable, V any](e *engine.Engine, kind, name string, ends func(string) string, opts []MultimapOption) *multi[K, V] {
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
func (g *multi[K, V]) write(ctx context.Context, script *scripts.Script, key string, args ...string) (engine.Answer, error) {
	return g.s.write(ctx, script, g.names.of(key), append([]string{g.now(), g.names.kind, key}, args...)...)
}

// look sends a script that reads some keys.
func (g *multi[K, V]) look(ctx context.Context, script *scripts.Script, fields []string, args ...string) (engine.Answer, error) {
	return g.m.h.e.Run(ctx, script, g.names.of(fields...), append(append([]string{g.now(), g.names.kind}, fields...), args...))
}

// mostValues bounds the values of one write, which is one script call.
const mostValues = 100_000

// encode is a key and values as they are in Redis.
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
			return engine.Number(g.write(ctx, multimap.Put, key, append([]string{keys.GroupField(key)}, texts...)...))
		})
	}
	return added, g.m.failedAt("put", key, err)
}

func (g *multi[K, V]) replace(ctx context.Context, op string, k K, vs ...V) (old []V, err error) {
	key, texts, err := g.encode(ctx, k, vs)
	if err == nil {
		old, err = g.answered(ctx, key, func() (engine.Answer, error) {
			return g.write(ctx, multimap.Replace, key, append([]string{keys.GroupField(key)}, texts...)...)
		})
	}
	return old, g.m.failedAt(op, key, err)
}

// answered is a write that is answered with the values that there were.
func (g *multi[K, V]) answered(ctx context.Context, key string, call func() (engine.Answer, error)) ([]V, error) {
	texts, err := writing(ctx, g.m.h, func() ([]string, error) {
		packed, _, err := engine.Text(call())
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

// unpack is several texts, each with its length before it.
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

// values is the values of keys.
func (g *multi[K, V]) values(ctx context.Context, fields []string) ([][]string, error) {
	return reading(ctx, g.m.h, func() ([][]string, error) {
		got, err := g.look(ctx, multimap.Get, fields)
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

// counts is how many values keys have: 0 if one is not there, -1 if it is and has
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
			return engine.Yes(g.look(ctx, multimap.Has, []string{key}, texts[0]))
		})
	}
	return has, g.m.failedAt("look for", key, err)
}

func (g *multi[K, V]) remove(ctx context.Context, k K, v V) (had bool, err error) {
	key, texts, err := g.encode(ctx, k, []V{v})
	if err == nil {
		had, err = writing(ctx, g.m.h, func() (bool, error) {
			return engine.Yes(g.write(ctx, multimap.Remove, key, texts[0]))
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

// drop removes keys: all, or those of them that are empty.
func (g *multi[K, V]) drop(ctx context.Context, fields []string, which string) (int64, error) {
	return engine.Number(g.s.write(ctx, multimap.Drop, g.names.of(fields...), append([]string{g.now(), g.names.kind, which}, fields...)...))
}

func (g *multi[K, V]) keyLen(ctx context.Context) (int64, error) { return g.m.length(ctx) }

// page is some keys of a walk.
type page struct {
	fields []string
	counts []int64
}

// pages yields the keys, some at a time, with how many values each has. What has
// none, though it is there, is dropped.
func (g *multi[K, V]) pages(ctx context.Context, opts []ScanOption) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		for fields, err := range g.fields(ctx, opts) {
			p := page{fields: fields}
			if err == nil {
				p.counts, err = g.counts(ctx, fields)
			}
			if err == nil {
				g.clean(ctx, p)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// clean drops keys that were left without values. If it is not done it is done by
// the next walk, or by nobody where the user may only read.
func (g *multi[K, V]) clean(ctx context.Context, p page) {
	var empty []string
	for i, n := range p.counts {
		if n < 0 {
			empty = append(empty, p.fields[i])
		}
	}
	if len(empty) > 0 {
		_, _ = writing(ctx, g.m.h, func() (int64, error) { return g.drop(ctx, empty, "empty") })
	}
}

// fields yields the keys as they are in the hash, as they are there.
func (g *multi[K, V]) fields(ctx context.Context, opts []ScanOption) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		c, err := g.m.scanning(ctx, opts)
		for w := (walk{cursor: "0"}); err == nil; {
			var pairs []pair
			if w, pairs, err = g.m.step(ctx, g.m.store, w, c); err != nil {
				break
			}
			for some := range slices.Chunk(pairs, min(c.page, mostKeys)) {
				fields := make([]string, len(some))
				for i, p := range some {
					fields[i] = p.key
				}
				if !yield(fields, nil) {
					return
				}
			}
			if w.cursor == "0" {
				return
			}
		}
		yield(nil, err)
	}
}

func (g *multi[K, V]) length(ctx context.Context) (n int64, err error) {
	for p, err := range g.pages(ctx, nil) {
		if err != nil {
			return 0, g.m.failed("count", err)
		}
		for _, values := range p.counts {
			n += max(values, 0)
		}
	}
	return n, nil
}

func (g *multi[K, V]) keys(ctx context.Context, opts []ScanOption) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		for p, err := range g.pages(ctx, opts) {
			if err != nil {
				var none K
				yield(none, g.m.failed("walk", err))
				return
			}
			for i, field := range p.fields {
				if p.counts[i] <= 0 {
					continue
				}
				k, err := g.m.decodeKey(field)
				if !yield(k, g.m.failed("walk", err)) {
					return
				}
			}
		}
	}
}

func (g *multi[K, V]) all(ctx context.Context, opts []ScanOption) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		for fields, err := range g.fields(ctx, opts) {
			var values [][]string
			if err == nil {
				values, err = g.values(ctx, fields)
			}
			if err != nil {
				yield(Entry[K, V]{}, g.m.failed("walk", err))
				return
			}
			for i, texts := range values {
				if !g.yieldAll(fields[i], texts, yield) {
					return
				}
			}
		}
	}
}

// yieldAll yields the values of one key.
func (g *multi[K, V]) yieldAll(field string, texts []string, yield func(Entry[K, V], error) bool) bool {
	for _, text := range texts {
		e, err := g.m.decodeEntry(pair{key: field, value: value{text: text, there: true}})
		if !yield(e, g.m.failed("walk", err)) {
			return false
		}
	}
	return true
}

func (g *multi[K, V]) expire(ctx context.Context, op string, k K, d time.Duration) (there bool, err error) {
	key, err := g.m.encodeKey(ctx, k)
	ms, native := "", flag(g.m.cfg.native)
	if err == nil && op == "expire" {
		err, ms = engine.CheckTTL("time to live", d), decimal(engine.Millis(d))
	}
	if err == nil && g.m.cfg.native {
		err = g.m.h.fieldsExpire(ctx, g.m.key)
	}
	if err == nil {
		there, err = writing(ctx, g.m.h, func() (bool, error) {
			there, err := engine.Yes(g.write(ctx, multimap.Expire, key, ms, native))
			if (there || errors.Is(err, ErrUnknown)) && ms != "" && !g.m.cfg.native {
				g.sweepAt(g.m.h.e.Wall() + engine.Millis(d))
			}
			return there, err
		})
	}
	return there, g.m.failedAt(op, key, err)
}

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
		return engine.Yes(g.s.write(ctx, multimap.Finish, g.names.of()))
	})
	return there, g.m.failed(op, err)
}

// A multimap stays for so long at least while its keys are given their times: where
// the hash has gone, nobody finds the values. Those of a key that is put meanwhile
// stay as long, and so are told again, in a second that is the last.
const (
	grace = time.Minute
	brief = time.Second
)

// endOf is in how long a multimap goes; nil: never.
type endOf func() time.Duration

// least is that in ms, at least in so long; empty: never.
func (end endOf) least(d time.Duration) string {
	if end == nil {
		return ""
	}
	return millis(max(end(), d))
}

func (g *multi[K, V]) expireAll(ctx context.Context, d time.Duration) (there bool, err error) {
	if err = engine.CheckTTL("time to live", d); err == nil {
		until := g.m.h.e.Mono() + d
		there, err = g.setTimes(ctx, func() time.Duration { return until - g.m.h.e.Mono() })
	}
	return there, g.m.failed("expire", err)
}

func (g *multi[K, V]) persistAll(ctx context.Context) (had bool, err error) {
	had, err = g.setTimes(ctx, nil)
	return had, g.m.failed("persist", err)
}

// setTimes has the hash go first, as who writes a key takes its time from there. It
// goes through the keys also where that is to stay already: an earlier call may have
// failed behind it.
func (g *multi[K, V]) setTimes(ctx context.Context, end endOf) (did bool, err error) {
	if err = g.m.usable(ctx); err != nil {
		return false, err
	}
	if did, err = g.setTime(ctx, end.least(grace)); err != nil || !did && end != nil {
		return did, err
	}
	more, err := g.setTimesOfAll(ctx, end, grace)
	if did = did || more; err != nil || end == nil {
		return did, err
	}
	if end() < grace {
		if _, err = g.setTime(ctx, end.least(brief)); err == nil {
			_, err = g.setTimesOfAll(ctx, end, brief)
		}
	}
	if err == nil {
		_, err = g.setTime(ctx, end.least(time.Millisecond))
	}
	return did, err
}

// setTimesOfAll walks the keys, and has the hash stay for so long at least.
func (g *multi[K, V]) setTimesOfAll(ctx context.Context, end endOf, least time.Duration) (did bool, err error) {
	for fields, err := range g.fields(ctx, nil) {
		var more bool
		if err == nil {
			more, err = g.setTimesOf(ctx, fields, end.least(least), end.least(time.Millisecond))
		}
		if err != nil {
			return did, err
		}
		did = did || more
	}
	return did, nil
}

// setTime is about what all keys have in common.
func (g *multi[K, V]) setTime(ctx context.Context, ms string) (bool, error) {
	return writing(ctx, g.m.h, func() (bool, error) {
		return engine.Yes(g.s.write(ctx, expireScript, g.names.of(), "2", ms))
	})
}

func (g *multi[K, V]) setTimesOf(ctx context.Context, fields []string, index, values string) (bool, error) {
	args := append([]string{index, values, flag(g.m.cfg.native)}, fields...)
	return writing(ctx, g.m.h, func() (bool, error) {
		return engine.Yes(g.s.write(ctx, multimap.ExpireAll, g.names.of(fields...), args...))
	})
}
