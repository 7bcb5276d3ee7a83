package rmap

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// cached is a hash whose values have a header, and the sorted sets that say when its entries
// expire.
type cached struct {
	sender
	n     mapcache.Names
	knows atomic.Pointer[traits]
}

func (c *cached) object() []string { return c.n.All() }

func (c *cached) now() string { return decimal(c.h.e.Wall()) }

func (c *cached) length(ctx context.Context) (int64, error) { return send.Number(c.read(ctx, hlen)) }

func (c *cached) remove(ctx context.Context, names []string) (n int64, err error) {
	for some := range slices.Chunk(names, mostAtOnce) {
		on, args := c.n.All(), append([]string{c.now(), c.publish(some, 1)}, some...)
		for _, key := range some {
			on = append(on, c.n.Lease(key))
		}
		gone, err := send.Number(c.write(ctx, mapcache.Remove, on, args...))
		if n += gone; err != nil {
			return n, err
		}
	}
	return n, nil
}

// clear leaves the options.
func (c *cached) clear(ctx context.Context) error {
	_, err := c.drop(ctx, []string{c.n.Hash, c.n.Times, c.n.Rests, c.n.Accesses})
	return err
}

// drop drops these keys, or all.
func (c *cached) drop(ctx context.Context, all []string) (send.Answer, error) {
	if !c.announces {
		return c.delete(ctx, all)
	}
	return c.write(ctx, mapcache.Clear, all, c.tellAll(decimal(int64(len(all))))...)
}

func (c *cached) swap(ctx context.Context, key, text string, l lifetime) (value, error) {
	return c.opened(c.store(ctx, mapcache.Swap, key, text, l))
}

func (c *cached) take(ctx context.Context, key string) (value, error) {
	v, err := found(c.one(ctx, mapcache.Take, c.h.e.Wall(), key))
	return opened(v), err
}

func (c *cached) putIfAbsent(ctx context.Context, key, text string, l lifetime) (value, error) {
	return c.opened(c.store(ctx, mapcache.PutIfAbsent, key, text, l))
}

// Whatever replaces an entry leaves its times, unless there are others.
func (c *cached) replace(ctx context.Context, key, text string, l lifetime) (bool, error) {
	l.keep = false
	now := c.h.e.Wall()
	m, err := c.written(l, now)(c.one(ctx, mapcache.Replace, now, key, l.pack(text), l.life().Again(now), l.life().Rests(now)))
	if err != nil {
		return false, err
	}
	n, err := m.AsInt64()
	return n > 0, err
}

func (c *cached) change(ctx context.Context, key string, old, to value, l lifetime, cl *claim) (value, bool, error) {
	l.keep = false
	seen, packed, now := "", "", c.h.e.Wall()
	if old.there {
		seen = "=" + old.text
	}
	if to.there {
		packed = l.pack(to.text)
	}
	on, token := append(c.n.All(), c.n.Lease(key)), ""
	if cl != nil {
		on, token = append(on, keys.MapClaim(c.key, key)), cl.token
		if cl.looks {
			seen = "*"
		}
	}
	m, err := c.written(l, now)(c.write(ctx, mapcache.Change, on, decimal(now), c.publish([]string{key}, 1), key, seen, packed,
		l.life().Again(now), l.life().Rests(now), token, cl.millis()))
	if err == nil && m.IsInt64() {
		n, err := m.AsInt64()
		return value{}, cl.may(n), err
	}
	there, err := c.opened(m, err)
	return there, false, err
}

func (c *cached) add(ctx context.Context, key string, by addend, l lifetime) (value, error) {
	l.keep = false
	now, head := c.h.e.Wall(), l.pack("")[:8]
	command := by.command().Label()
	m, err := c.written(l, now)(c.one(ctx, mapcache.Add, now, key, command, by.text, head, l.life().Again(now), l.life().Rests(now), by.least, by.most))
	if err != nil {
		return value{}, err
	}
	return element(&m)
}

// touch gives an entry the times that l has, and leaves the others.
func (c *cached) touch(ctx context.Context, key string, l lifetime) (bool, error) {
	now, head, ends, rests := c.h.e.Wall(), "=", "=", "="
	if l.ttl > 0 || l.forever {
		ends = l.life().Ends(now)
	}
	if l.idle > 0 {
		head, rests = l.pack("")[:8], l.life().Rests(now)
	}
	did, err := send.Yes(c.write(ctx, mapcache.Touch, c.n.All(), decimal(now), c.publish([]string{key}, 1), key, ends, head, rests))
	c.expect(l, now, err)
	return did, err
}

// bound reports whether the bound was set.
func (c *cached) bound(ctx context.Context, n int64, by Order, ifAbsent bool) (bool, error) {
	script := mapcache.SetBound
	if ifAbsent {
		script = mapcache.SetBoundIfAbsent
	}
	did, err := send.Yes(c.h.e.RunBriefly(ctx, script, []string{c.n.Options, c.n.Accesses}, []string{decimal(n), by.String()}))
	c.knows.Store(nil)
	if err == nil && did || errors.Is(err, ErrOutcomeUnknown) {
		c.h.sweeper.Expect(&c.n, c.h.e.Wall()) // which sees to what is too much
	}
	return did, err
}

// The fields of the options that say how much a cache may have.
const (
	maxSize  = "max-size"
	maxBytes = "rueidisson-max-bytes"
)

// bounded is a bound, 0 for none, and its order.
type bounded struct {
	n  int64
	by Order
}

func (c *cached) most(ctx context.Context, field string) (b bounded, err error) {
	got, err := c.h.e.Run(ctx, hmget, []string{c.n.Options}, []string{field, "mode"})
	if err != nil {
		return b, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return b, err
	}
	if text, err := parts[0].ToString(); err == nil {
		if most, err := strconv.ParseFloat(text, 64); err == nil && most >= 1 && most < 1<<53 {
			b.n = int64(most)
		}
	}
	if mode, err := parts[1].ToString(); err == nil && mode == LFU.String() {
		b.by = LFU
	}
	return b, nil
}

func (c *cached) opened(m rueidis.RedisMessage, err error) (value, error) {
	if err != nil {
		return value{}, err
	}
	v, err := element(&m)
	return opened(v), err
}

// opened returns a value without its header.
func opened(v value) value {
	if !v.there {
		return v
	}
	text, err := mapcache.Unpack(v.text)
	if err != nil {
		v.broken = err
		return v
	}
	v.text = text
	return v
}

func (l lifetime) life() mapcache.Life {
	return mapcache.Life{TTL: l.ttl, Idle: l.idle, Keep: l.keep, Forever: l.forever}
}

// pack returns a value with its header.
func (l lifetime) pack(text string) string {
	b := mapcache.Pack(make([]byte, 0, len(text)+16), text, l.idle)
	return string(b)
}

// objectOf returns the keys of the cache of that mapped name.
func objectOf(key string) []string {
	n := mapcache.NamesOf(key)
	return n.All()
}

func (c *cached) scan(ctx context.Context, a asked) (scanPage, error) {
	now := c.h.e.Wall()
	args := slices.Concat([]string{a.Cursor, decimal(now), decimal(int64(a.what))}, a.Bounds(), a.Words())
	page, err := hashscan.ByScript(c.h.e.Run(ctx, a.Expecting(pageCached), []string{c.n.Hash, c.n.Times, c.n.Rests}, args))
	p, texts := scanPage{Page: page}, page.Texts
	if err != nil {
		return p, err
	}
	switch a.what {
	case scannedKeys:
		p.pairs = pairsOfKeys(texts)
	case scannedEntries:
		p.pairs = pairsOf(texts)
	case scannedTimes:
		p.pairs = make([]pair, len(texts)/4)
		for i := range p.pairs {
			key, packed, ends, rests := texts[4*i], texts[4*i+1], texts[4*i+2], texts[4*i+3]
			p.pairs[i] = pair{key, value{text: packed, there: true}, until(ends, now), until(rests, now)}
		}
	}
	for i := range p.pairs {
		p.pairs[i].value = opened(p.pairs[i].value)
	}
	return p, p.fetch(func(key string) (pair, error) {
		all, err := c.peek(ctx, []string{key}, true)
		if err != nil {
			return pair{}, err
		}
		return pair{key, all[0].value, all[0].ttl, all[0].idle}, nil
	})
}

// until returns how long it is from now to a score, ms, that stands in a sorted set; -1
// if there is none.
func until(score string, now int64) time.Duration {
	at, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return -1
	}
	return time.Duration(min(at-float64(now), core.LongestLease.Seconds()*1e3)) * time.Millisecond
}
