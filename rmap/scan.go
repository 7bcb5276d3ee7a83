package rmap

import (
	"context"
	"fmt"
	"iter"

	"github.com/rueidisson/rueidisson/codec"
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
	timed bool // with the times that are left, of a cache
}

// WithMatch leaves out entries whose keys do not match a glob, as the server
// does. It is for maps with text as keys, see [codec.Text]; of others it is an
// [ErrOption].
func WithMatch(glob string) ScanOption {
	return scanOption(func(c *scanConfig) error { c.match = glob; return nil })
}

// mostPage bounds how long the server is busy with one page.
const mostPage = 100_000

// WithPage sets about how many entries the server is asked for at once, from 1
// to 100,000. The default is 1000. All that one call of the server brings is in
// memory at a time: take fewer where values are large.
func WithPage(n int) ScanOption {
	return scanOption(func(c *scanConfig) error {
		if n < 1 || n > mostPage {
			return fmt.Errorf("%w: a page of %d entries: from 1 to %d", ErrOption, n, mostPage)
		}
		c.page = n
		return nil
	})
}

type scanOption func(*scanConfig) error

func (o scanOption) applyScan(c *scanConfig) error { return o(c) }

// all yields entries. One that does not decode is an error of its own, with the
// key if that does.
func (m *handle[K, V]) all(ctx context.Context, opts []ScanOption) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		for pair, err := range m.scan(ctx, opts) {
			var e Entry[K, V]
			if err == nil {
				e, err = m.decodeEntry(pair)
			}
			if !yield(e, m.failed("walk", err)) {
				return
			}
		}
	}
}

func (m *handle[K, V]) allKeys(ctx context.Context, opts []ScanOption) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		for pair, err := range m.scan(ctx, opts) {
			var k K
			if err == nil {
				k, err = m.decodeKey(pair.key)
			}
			if !yield(k, m.failed("walk", err)) {
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

// scan yields keys with their values, hash by hash and page by page. An error of
// the server is the last.
func (m *handle[K, V]) scan(ctx context.Context, opts []ScanOption) iter.Seq2[pair, error] {
	return m.scanWith(ctx, opts, false)
}

func (m *handle[K, V]) scanWith(ctx context.Context, opts []ScanOption, timed bool) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		c, err := m.scanning(ctx, opts)
		if err != nil {
			yield(pair{}, err)
			return
		}
		c.timed = timed
		for part := range m.parts() {
			if !m.scanPart(ctx, part, c, yield) {
				return
			}
		}
	}
}

// scanPart reports whether the walk goes on behind that hash.
func (m *handle[K, V]) scanPart(ctx context.Context, part store, c scanConfig, yield func(pair, error) bool) bool {
	for w := (walk{cursor: "0"}); ; {
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
}

// step is the next page. If it came from another server than the last one, as
// behind a failover or a slot that has moved, it is the first one of that.
func (m *handle[K, V]) step(ctx context.Context, part store, w walk, c scanConfig) (walk, []pair, error) {
	for {
		next, pairs, err := m.page(ctx, part, w.cursor, c)
		if err != nil || w.server == "" && next == "0" { // all in one
			return walk{cursor: next}, pairs, err
		}
		server, err := reading(ctx, m.h, func() (string, error) { return part.server(ctx) })
		if err != nil || server == w.server {
			return walk{next, server}, pairs, err
		}
		// That it is known now says nothing of the first page, which it did not
		// need to be asked for.
		w = walk{"0", server}
	}
}

func (m *handle[K, V]) scanning(ctx context.Context, opts []ScanOption) (scanConfig, error) {
	c := scanConfig{page: 1000}
	if err := m.usable(ctx); err != nil {
		return c, err
	}
	for _, o := range opts {
		if o == nil {
			return c, fmt.Errorf("%w: a nil option", ErrOption)
		}
		if err := o.applyScan(&c); err != nil {
			return c, err
		}
	}
	if c.match != "" && !codec.IsText(m.keys) {
		return c, fmt.Errorf("%w: WithMatch is for keys of codec.Text", ErrOption)
	}
	return c, nil
}

func (m *handle[K, V]) page(ctx context.Context, part store, cursor string, c scanConfig) (next string, pairs []pair, err error) {
	if err := m.usable(ctx); err != nil {
		return "", nil, err
	}
	type page struct {
		next  string
		pairs []pair
	}
	got, err := reading(ctx, m.h, func() (p page, err error) {
		scan := part.scan
		if c.timed {
			scan = part.(*cached).scanTimed
		}
		p.next, p.pairs, err = scan(ctx, cursor, c.match, c.page)
		return p, err
	})
	return got.next, got.pairs, err
}
