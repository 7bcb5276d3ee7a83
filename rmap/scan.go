package rmap

import (
	"context"
	"iter"
	"slices"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// Entry is one entry of a map.
type Entry[K comparable, V any] struct {
	Key   K // of the entry
	Value V // that Get of the key returns
}

// A ScanOption changes one iteration.
type ScanOption interface{ applyScan(*scanConfig) error }

type scanConfig struct {
	hashscan.Config
	what mapstore.Scanned
}

// WithMatch leaves out entries whose keys do not match a glob, as the server
// does. It is for maps with text as keys, see [codec.Text]; on others the walk yields
// [ErrInvalidArgument].
func WithMatch(glob string) ScanOption {
	return scanOption(func(c *scanConfig) error { c.Match = glob; return nil })
}

// WithPage sets about how many entries the server is asked for at once, from 1
// to 100,000. The default is 500, and more than 2000 are asked for as 2000. It asks
// for fewer where they are large, so that an answer has about 1 MB at most, or one
// entry. What one answer brings is in memory at a time.
func WithPage(n int) ScanOption {
	return scanOption(func(c *scanConfig) error { return c.SetPage(n) })
}

type scanOption func(*scanConfig) error

func (o scanOption) applyScan(c *scanConfig) error { return o(c) }

// All walks the entries, in no order; those of a [Sharded] one shard after the other. An entry
// that exists throughout comes at least once, perhaps twice. If the map moves to another server
// meanwhile, the walk begins anew there. An entry that is written or removed meanwhile may come
// or not. Expired entries do not come. If an entry does not decode, All yields [ErrDecode], which
// wraps rueidisson.ErrNotice too, and the walk continues; another error ends it. The walk holds nothing on the server, so it may be
// left at any time. It does not count as a use of the entries of a [Cache].
//
// Cost: a script call, and if that is not all, an HSCAN for each 500 entries, followed by a
// script call which asks the server who it is; of a Cache a script call for each 500. Of large entries fewer come at
// once: an answer has about 1 MB, see [WithPage]. Errors: as Get. Source:
// RMap.entrySet.
func (c *common[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		for pair, err := range c.m.scan(ctx, opts, mapstore.ScannedEntries) {
			var e Entry[K, V]
			if err == nil {
				e, err = c.m.decodeEntry(pair)
				err = core.Notice(err)
			}
			if !yield(e, c.m.Failed("walk", err)) {
				return
			}
		}
	}
}

// Keys walks the keys, as All does the entries, by script calls. The server does
// not send the values; before Redis 7.4 and Valkey 8 it reads them. Source: RMap.keySet.
func (c *common[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		for pair, err := range c.m.scan(ctx, opts, mapstore.ScannedKeys) {
			var k K
			if err == nil {
				k, err = c.m.Codecs.DecodeKey(pair.Key)
				err = core.Notice(err)
			}
			if !yield(k, c.m.Failed("walk", err)) {
				return
			}
		}
	}
}

// Values walks the values, as All walks the entries. Source: RMap.values.
func (c *common[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for e, err := range c.All(ctx, opts...) {
			if !yield(e.Value, err) {
				return
			}
		}
	}
}

func (m *handle[K, V]) decodeEntry(p mapstore.Pair) (e Entry[K, V], err error) {
	if e.Key, err = m.Codecs.DecodeKey(p.Key); err == nil {
		e.Value, _, err = m.Decode(p.Key, p.Value)
	}
	return e, err
}

// scan yields entries, or keys alone, hash by hash and page by page. An error of
// the server is the last.
func (m *handle[K, V]) scan(ctx context.Context, opts []ScanOption, what mapstore.Scanned) iter.Seq2[mapstore.Pair, error] {
	return func(yield func(mapstore.Pair, error) bool) {
		c, err := m.scanning(ctx, opts)
		if err != nil {
			yield(mapstore.Pair{}, err)
			return
		}
		c.what = what
		parts := slices.Values([]mapstore.Store{m.Store})
		if s, is := m.Store.(mapstore.Spread); is {
			parts = s.Parts()
		}
		for part := range parts {
			if !m.scanPart(ctx, part, c, yield) {
				return
			}
		}
	}
}

// scanPart reports whether the walk continues after that hash.
func (m *handle[K, V]) scanPart(ctx context.Context, part mapstore.Store, c scanConfig, yield func(mapstore.Pair, error) bool) bool {
	for w := hashscan.Begin(); ; {
		var pairs []mapstore.Pair
		var err error
		if w, pairs, err = m.step(ctx, part, w, c); err != nil {
			yield(mapstore.Pair{}, err)
			return false
		}
		for _, p := range pairs {
			if !yield(p, nil) {
				return false
			}
		}
		if w.Over() {
			return true
		}
	}
}

// step returns the next page.
func (m *handle[K, V]) step(ctx context.Context, part mapstore.Store, w hashscan.Walk, c scanConfig) (_ hashscan.Walk, pairs []mapstore.Pair, err error) {
	w, err = w.Step(c.Config, func(a hashscan.Ask) (hashscan.Page, error) {
		if err := m.Usable(ctx); err != nil {
			return hashscan.Page{}, err
		}
		p, err := mapstore.Reading(ctx, m.Hub, func() (mapstore.ScanPage, error) { return part.Scan(ctx, mapstore.Asked{Ask: a, What: c.what}) })
		pairs = p.Pairs
		return p.Page, err
	}, func() (string, error) {
		return mapstore.Reading(ctx, m.Hub, func() (string, error) { return part.Server(ctx) })
	})
	return w, pairs, err
}

func (m *handle[K, V]) scanning(ctx context.Context, opts []ScanOption) (scanConfig, error) {
	c := scanConfig{hashscan.Config{Page: hashscan.DefaultPage}, mapstore.ScannedEntries}
	if err := m.Usable(ctx); err != nil {
		return c, err
	}
	if err := object.Apply(&c, opts, ScanOption.applyScan); err != nil {
		return c, err
	}
	return c, c.Check(codec.IsText(m.Codecs.Keys))
}
