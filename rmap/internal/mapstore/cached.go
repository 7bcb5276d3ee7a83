package mapstore

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
	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// Cached is a hash whose values have a header, and the sorted sets that say when its entries
// expire.
type Cached struct {
	Sender
	Names mapcache.Names
	Knows atomic.Pointer[traits]
}

func (c *Cached) Object() []string { return c.Names.All() }

// Now returns the time of this process, for scripts.
func (c *Cached) Now() string { return Decimal(c.Hub.Engine.Wall()) }

func (c *Cached) Length(ctx context.Context) (int64, error) { return send.Number(c.Read(ctx, hlen)) }

func (c *Cached) Remove(ctx context.Context, names []string) (n int64, err error) {
	for some := range slices.Chunk(names, MostAtOnce) {
		on, args := c.Names.All(), append([]string{c.Now(), c.publish(some, 1)}, some...)
		for _, key := range some {
			on = append(on, c.Names.Lease(key))
		}
		gone, err := send.Number(c.Write(ctx, mapcache.Remove, on, args...))
		if n += gone; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Clear leaves the options.
func (c *Cached) Clear(ctx context.Context) error {
	_, err := c.Drop(ctx, []string{c.Names.Hash, c.Names.Times, c.Names.Rests, c.Names.Accesses})
	return err
}

// Drop drops these keys, or all.
func (c *Cached) Drop(ctx context.Context, all []string) (send.Answer, error) {
	if !c.announces {
		return c.Delete(ctx, all)
	}
	return c.Write(ctx, mapcache.Clear, all, c.TellAll(Decimal(int64(len(all))))...)
}

func (c *Cached) Swap(ctx context.Context, key, text string, l Lifetime) (Value, error) {
	return c.opened(c.store(ctx, mapcache.Swap, key, text, l))
}

func (c *Cached) Take(ctx context.Context, key string) (Value, error) {
	v, err := found(c.one(ctx, mapcache.Take, c.Hub.Engine.Wall(), key))
	return opened(v), err
}

func (c *Cached) PutIfAbsent(ctx context.Context, key, text string, l Lifetime) (Value, error) {
	return c.opened(c.store(ctx, mapcache.PutIfAbsent, key, text, l))
}

// Whatever replaces an entry leaves its times, unless there are others.
func (c *Cached) Replace(ctx context.Context, key, text string, l Lifetime) (bool, error) {
	l.Keep = false
	now := c.Hub.Engine.Wall()
	m, err := c.written(l, now)(c.one(ctx, mapcache.Replace, now, key, l.Pack(text), l.life().Again(now), l.life().Rests(now)))
	if err != nil {
		return false, err
	}
	n, err := m.AsInt64()
	return n > 0, err
}

func (c *Cached) Change(ctx context.Context, key string, old, to Value, l Lifetime, cl *turn.Claim) (Value, bool, error) {
	l.Keep = false
	seen, packed, now := "", "", c.Hub.Engine.Wall()
	if old.There {
		seen = "=" + old.Text
	}
	if to.There {
		packed = l.Pack(to.Text)
	}
	on, token := append(c.Names.All(), c.Names.Lease(key)), ""
	if cl != nil {
		on, token = append(on, keys.MapClaim(c.Key, key)), cl.Token()
		if cl.Looks() {
			seen = "*"
		}
	}
	m, err := c.written(l, now)(c.Write(ctx, mapcache.Change, on, Decimal(now), c.publish([]string{key}, 1), key, seen, packed,
		l.life().Again(now), l.life().Rests(now), token, cl.Millis()))
	if err == nil && m.IsInt64() {
		n, err := m.AsInt64()
		return Value{}, cl.May(n), err
	}
	there, err := c.opened(m, err)
	return there, false, err
}

func (c *Cached) Add(ctx context.Context, key string, by Addend, l Lifetime) (Value, error) {
	l.Keep = false
	now, head := c.Hub.Engine.Wall(), l.Pack("")[:8]
	command := by.command().Label()
	m, err := c.written(l, now)(c.one(ctx, mapcache.Add, now, key, command, by.Text, head, l.life().Again(now), l.life().Rests(now), by.Least, by.Most))
	if err != nil {
		return Value{}, err
	}
	return element(&m)
}

// Touch gives an entry the times that l has, and leaves the others.
func (c *Cached) Touch(ctx context.Context, key string, l Lifetime) (bool, error) {
	now, head, ends, rests := c.Hub.Engine.Wall(), "=", "=", "="
	if l.TTL > 0 || l.Forever {
		ends = l.life().Ends(now)
	}
	if l.Idle > 0 {
		head, rests = l.Pack("")[:8], l.life().Rests(now)
	}
	did, err := send.Yes(c.Write(ctx, mapcache.Touch, c.Names.All(), Decimal(now), c.publish([]string{key}, 1), key, ends, head, rests))
	c.expect(l, now, err)
	return did, err
}

// Bound reports whether the bound was set.
func (c *Cached) Bound(ctx context.Context, n int64, by string, ifAbsent bool) (bool, error) {
	script := mapcache.SetBound
	if ifAbsent {
		script = mapcache.SetBoundIfAbsent
	}
	did, err := send.Yes(c.Hub.Engine.RunBriefly(ctx, script, []string{c.Names.Options, c.Names.Accesses}, []string{Decimal(n), by}))
	c.Knows.Store(nil)
	if err == nil && did || errors.Is(err, core.ErrOutcomeUnknown) {
		c.Hub.Sweeper.Expect(&c.Names, c.Hub.Engine.Wall()) // which sees to what is too much
	}
	return did, err
}

// The fields of the options that say how much a cache may have.
const (
	MaxSize  = "max-size"
	MaxBytes = "rueidisson-max-bytes"
)

// The orders of a bound, as Redis keeps them.
const (
	LeastRecently   = "LRU"
	LeastFrequently = "LFU"
)

// Bounded is a bound, 0 for none, and its order.
type Bounded struct {
	Most int64
	By   string // empty: none was set
}

// Most returns the bound of a field of the options.
func (c *Cached) Most(ctx context.Context, field string) (b Bounded, err error) {
	got, err := c.Hub.Engine.Run(ctx, hmget, []string{c.Names.Options}, []string{field, "mode"})
	if err != nil {
		return b, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return b, err
	}
	if text, err := parts[0].ToString(); err == nil {
		if most, err := strconv.ParseFloat(text, 64); err == nil && most >= 1 && most < 1<<53 {
			b.Most = int64(most)
		}
	}
	if mode, err := parts[1].ToString(); err == nil {
		b.By = mode
	}
	return b, nil
}

func (c *Cached) opened(m rueidis.RedisMessage, err error) (Value, error) {
	if err != nil {
		return Value{}, err
	}
	v, err := element(&m)
	return opened(v), err
}

// opened returns a value without its header.
func opened(v Value) Value {
	if !v.There {
		return v
	}
	text, err := mapcache.Unpack(v.Text)
	if err != nil {
		v.broken = err
		return v
	}
	v.Text = text
	return v
}

func (l Lifetime) life() mapcache.Life {
	return mapcache.Life{TTL: l.TTL, Idle: l.Idle, Keep: l.Keep, Forever: l.Forever}
}

// Pack returns a value with its header.
func (l Lifetime) Pack(text string) string {
	b := mapcache.Pack(make([]byte, 0, len(text)+16), text, l.Idle)
	return string(b)
}

// ObjectOf returns the keys of the cache of that mapped name.
func ObjectOf(key string) []string {
	n := mapcache.NamesOf(key)
	return n.All()
}

func (c *Cached) Scan(ctx context.Context, a Asked) (ScanPage, error) {
	now := c.Hub.Engine.Wall()
	args := slices.Concat([]string{a.Cursor, Decimal(now), Decimal(int64(a.What))}, a.Bounds(), a.Words())
	page, err := hashscan.ByScript(c.Hub.Engine.Run(ctx, a.Expecting(pageCached), []string{c.Names.Hash, c.Names.Times, c.Names.Rests}, args))
	p, texts := ScanPage{Page: page}, page.Texts
	if err != nil {
		return p, err
	}
	switch a.What {
	case ScannedKeys:
		p.Pairs = pairsOfKeys(texts)
	case ScannedEntries:
		p.Pairs = pairsOf(texts)
	case ScannedTimes:
		p.Pairs = make([]Pair, len(texts)/4)
		for i := range p.Pairs {
			key, packed, ends, rests := texts[4*i], texts[4*i+1], texts[4*i+2], texts[4*i+3]
			p.Pairs[i] = Pair{key, Value{Text: packed, There: true}, until(ends, now), until(rests, now)}
		}
	}
	for i := range p.Pairs {
		p.Pairs[i].Value = opened(p.Pairs[i].Value)
	}
	return p, p.fetch(func(key string) (Pair, error) {
		all, err := c.Peek(ctx, []string{key}, true)
		if err != nil {
			return Pair{}, err
		}
		return Pair{key, all[0].Value, all[0].TTL, all[0].Idle}, nil
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
