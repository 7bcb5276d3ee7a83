package rmap

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Entry is one entry of a map.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
}

// A ScanOption changes one iteration.
type ScanOption interface{ applyScan(*scanConfig) error }

type scanConfig struct {
	match string
	page  int
	what  scanned
}

// scanned is what a walk asks for.
type scanned int

const (
	scannedKeys scanned = iota
	scannedEntries
	scannedTimes // entries of a cache, with the times that they have left
)

// asked is a page of a walk that the server is asked for.
type asked struct {
	scanConfig
	cursor string
	count  int   // entries to ask for first
	last   int64 // bytes of the page before
}

// scanPage is the answer.
type scanPage struct {
	next   string // "0" at the end
	pairs  []pair
	passed int64    // entries that the server went through
	bytes  int64    // that it read
	server string   // that answered; empty: it did not say
	left   []string // fields for whose values the page had no room
}

// fetch reads the entries for which the page had no room, each by a request of its own.
func (p *scanPage) fetch(read func(key string) (pair, error)) error {
	for _, key := range p.left {
		one, err := read(key)
		if err != nil {
			return err
		}
		if one.there {
			p.pairs = append(p.pairs, one)
			p.bytes += int64(len(one.text))
		}
	}
	return nil
}

// WithMatch leaves out entries whose keys do not match a glob, as the server
// does. It is for maps with text as keys, see [codec.Text]; on others the walk yields
// [ErrInvalidArgument].
func WithMatch(glob string) ScanOption {
	return scanOption(func(c *scanConfig) error { c.match = glob; return nil })
}

// mostPage bounds how long the server is busy with one page.
const mostPage = 100_000

// WithPage sets about how many entries the server is asked for at once, from 1
// to 100,000. The default is 500, and more than 2000 are asked for as 2000. It asks
// for fewer where they are large, so that an answer has about 1 MB at most, or one
// entry. What one answer brings is in memory at a time.
func WithPage(n int) ScanOption {
	return scanOption(func(c *scanConfig) error {
		if n < 1 || n > mostPage {
			return fmt.Errorf("%w: a page of %d entries: from 1 to %d", ErrInvalidArgument, n, mostPage)
		}
		c.page = n
		return nil
	})
}

type scanOption func(*scanConfig) error

func (o scanOption) applyScan(c *scanConfig) error { return o(c) }

// All walks the entries, in no order; those of a [Sharded] one shard after the other. An entry
// that exists throughout comes at least once, perhaps twice. If the map moves to another server
// meanwhile, the walk begins anew there. An entry that is written or removed meanwhile may come
// or not. Expired entries do not come. If an entry does not decode, All yields [ErrDecode] and
// the walk continues; another error ends it. The walk holds nothing on the server, so it may be
// left at any time. It does not count as a use of the entries of a [Cache].
//
// Cost: a script call, and if that is not all, an HSCAN for each 500 entries, followed by a
// script call which asks the server who it is; of a Cache a script call for each 500. Of large entries fewer come at
// once: an answer has about 1 MB, see [WithPage]. Errors: as Get. Source:
// RMap.entrySet.
func (c common[K, V]) All(ctx context.Context, opts ...ScanOption) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		for pair, err := range c.m.scan(ctx, opts, scannedEntries) {
			var e Entry[K, V]
			if err == nil {
				e, err = c.m.decodeEntry(pair)
			}
			if !yield(e, c.m.failed("walk", err)) {
				return
			}
		}
	}
}

// Keys walks the keys, as All does the entries, by script calls. The server does
// not send the values; before Redis 7.4 and Valkey 8 it reads them. Source: RMap.keySet.
func (c common[K, V]) Keys(ctx context.Context, opts ...ScanOption) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		for pair, err := range c.m.scan(ctx, opts, scannedKeys) {
			var k K
			if err == nil {
				k, err = c.m.decodeKey(pair.key)
			}
			if !yield(k, c.m.failed("walk", err)) {
				return
			}
		}
	}
}

// Values walks the values, as All walks the entries. Source: RMap.values.
func (c common[K, V]) Values(ctx context.Context, opts ...ScanOption) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for e, err := range c.All(ctx, opts...) {
			if !yield(e.Value, err) {
				return
			}
		}
	}
}

func (m *handle[K, V]) decodeEntry(p pair) (e Entry[K, V], err error) {
	if e.Key, err = m.decodeKey(p.key); err == nil {
		e.Value, _, err = m.decode(p.key, p.value)
	}
	return e, err
}

func (m *handle[K, V]) decodeKey(key string) (K, error) {
	k, err := codec.Decode(m.keys, key)
	if err != nil {
		return k, m.undecoded(key, key, fmt.Errorf("as a key: %w", err))
	}
	return k, nil
}

// scan yields entries, or keys alone, hash by hash and page by page. An error of
// the server is the last.
func (m *handle[K, V]) scan(ctx context.Context, opts []ScanOption, what scanned) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		c, err := m.scanning(ctx, opts)
		if err != nil {
			yield(pair{}, err)
			return
		}
		c.what = what
		parts := slices.Values([]store{m.store})
		if s, is := m.store.(spread); is {
			parts = s.parts()
		}
		for part := range parts {
			if !m.scanPart(ctx, part, c, yield) {
				return
			}
		}
	}
}

// scanPart reports whether the walk continues after that hash.
func (m *handle[K, V]) scanPart(ctx context.Context, part store, c scanConfig, yield func(pair, error) bool) bool {
	for w := begin(); ; {
		var pairs []pair
		var err error
		if w, pairs, err = m.step(ctx, part, w, c); err != nil {
			yield(pair{}, err)
			return false
		}
		for _, p := range pairs {
			if !yield(p, nil) {
				return false
			}
		}
		if w.cursor == "0" {
			return true
		}
	}
}

// walk is how far an iteration has come, and on which server: a cursor means
// nothing to another one, which would pass over entries.
type walk struct {
	cursor, server string
	count          int   // entries that the next page begins with
	bytes          int64 // of the last one
}

func begin() walk { return walk{cursor: "0", count: 1} }

// A page is bounded by what the server reads for it, and so by its time for one
// request. It has one entry at least.
const (
	mostPageBytes = 1 << 20
	mostPassed    = 2000
	mostGrowth    = 4
)

// count returns how many entries may be asked for after a page: as many as have a page's
// bytes if they are like those of that one, and at most four times as many as it had.
func (p scanPage) count(c scanConfig) int {
	n := min(int64(c.page), mostGrowth*max(p.passed, 1))
	if p.bytes > 0 {
		n = min(n, mostPageBytes*p.passed/p.bytes)
	}
	return int(max(n, 1))
}

// expecting returns how the next page is read. A large page is read on a connection of its own,
// so that no other command waits for a walk.
func (p scanPage) expecting(op send.Operation) send.Operation {
	if p.bytes < mostPageBytes/4 {
		return op
	}
	return send.Expect(op, max(p.bytes, mostPageBytes))
}

func (a asked) expecting(op send.Operation) send.Operation {
	return scanPage{bytes: a.last}.expecting(op)
}

// step returns the next page. If it came from another server than the last one, as after a
// failover or a slot migration, it is the first page of that server.
func (m *handle[K, V]) step(ctx context.Context, part store, w walk, c scanConfig) (walk, []pair, error) {
	for {
		p, err := m.page(ctx, part, asked{c, w.cursor, w.count, w.bytes})
		if err != nil || w.server == "" && p.next == "0" { // all in one
			return walk{cursor: p.next}, p.pairs, err
		}
		says := p.server != ""
		if !says {
			p.server, err = reading(ctx, m.h, func() (string, error) { return part.server(ctx) })
		}
		if err != nil || p.server == w.server || w.server == "" && says {
			return walk{p.next, p.server, p.count(c), p.bytes}, p.pairs, err
		}
		// That it is known now says nothing of a first page which did not say it.
		w = walk{"0", p.server, p.count(c), p.bytes}
	}
}

func (m *handle[K, V]) scanning(ctx context.Context, opts []ScanOption) (scanConfig, error) {
	c := scanConfig{page: 500, what: scannedEntries}
	if err := m.usable(ctx); err != nil {
		return c, err
	}
	if err := object.Apply(&c, opts, ScanOption.applyScan); err != nil {
		return c, err
	}
	c.page = min(c.page, mostPassed)
	if c.match != "" && !codec.IsText(m.keys) {
		return c, fmt.Errorf("%w: WithMatch is for keys of codec.Text", ErrInvalidArgument)
	}
	return c, nil
}

func (m *handle[K, V]) page(ctx context.Context, part store, a asked) (scanPage, error) {
	if err := m.usable(ctx); err != nil {
		return scanPage{}, err
	}
	return reading(ctx, m.h, func() (scanPage, error) { return part.scan(ctx, a) })
}
