package rmap

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// cached is a hash whose values have a header, and sorted sets beside it that
// say when entries end.
type cached struct {
	sender
	n     mapcache.Names
	knows atomic.Pointer[traits]
	puts  atomic.Pointer[habit]
}

// habit is the script that a single entry is put with, where there are options.
type habit struct {
	script *scripts.Script
	until  time.Duration // see Engine.Mono
}

// traits are what a handle has seen of a cache's options.
type traits struct {
	mode  string // of noting accesses; empty: it is not bounded
	rests bool   // there are entries with idle times
	until time.Duration
}

// glance is how long what was seen of the options counts. Until then an access
// may go unnoted, and a write find more to do than it thought.
const glance = time.Second

func newCached(s sender) *cached { return &cached{sender: s, n: mapcache.NamesOf(s.key)} }

func (c *cached) object() []string { return c.n.All() }

// traits are what is known of the options, and whether this call is the one to
// look at them again.
func (c *cached) traits() (t traits, look bool) {
	now, seen := c.h.e.Mono(), c.knows.Load()
	if seen != nil {
		t = *seen
	}
	if seen != nil && now < seen.until {
		return t, false
	}
	t.until = now + glance
	return t, c.knows.CompareAndSwap(seen, &t)
}

// saw notes the options: max-size, mode, has-listeners.
func (c *cached) saw(options []rueidis.RedisMessage) traits {
	t := traits{until: c.h.e.Mono() + glance}
	if told, _ := options[2].ToString(); told == "1" {
		c.puts.Store(&habit{mapcache.PutFull, t.until})
	} else if slices.ContainsFunc(options, func(m rueidis.RedisMessage) bool { return !m.IsNil() }) {
		c.puts.Store(&habit{mapcache.PutBounded, t.until})
	}
	if most, err := options[0].AsFloat64(); err == nil && most >= 1 {
		t.mode = LRU.String()
		if mode, err := options[1].ToString(); err == nil && mode == LFU.String() {
			t.mode = mode
		}
	}
	c.knows.Store(&t)
	return t
}

func (c *cached) now() string { return decimal(c.h.e.Wall()) }

// mostAtOnce bounds what one script call does: the server does nothing else
// meanwhile.
const mostAtOnce = 500

// look reads the options.
func (c *cached) look(ctx context.Context) (traits, error) {
	got, err := c.h.e.Run(ctx, hmget, []string{c.n.Options}, []string{"max-size", "mode", "has-listeners"})
	if err != nil {
		return traits{}, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return traits{}, err
	}
	return c.saw(parts), nil
}

func (c *cached) has(ctx context.Context, key string) (bool, error) {
	return engine.Yes(c.h.e.Run(ctx, mapcache.Has, c.n.All(), []string{key, c.now()}))
}

func (c *cached) length(ctx context.Context) (int64, error) { return engine.Number(c.read(ctx, hlen)) }

// put writes entries: one by a script that is short where there is nothing to do
// beside.
func (c *cached) put(ctx context.Context, pairs []string, l lifetime) error {
	if len(pairs) == 2 {
		return c.putOne(ctx, pairs[0], pairs[1], l)
	}
	for some := range slices.Chunk(pairs, mostAtOnce) {
		now := c.h.e.Wall()
		on, args := c.n.All(), []string{decimal(now), c.h.e.Publish(), l.life().Ends(now), l.life().Rests(now)}
		for i := 0; i < len(some); i += 2 {
			on, args = append(on, c.n.Lease(some[i])), append(args, some[i], l.pack(some[i+1]))
		}
		if _, err := c.written(l, now)(c.write(ctx, mapcache.PutMany, on, args...)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cached) putOne(ctx context.Context, key, text string, l lifetime) error {
	script := c.putsWith(l)
	if script == mapcache.Put {
		var err error
		if script, err = c.putShort(ctx, key, text, l); err != nil || script == nil {
			return err
		}
	}
	did, err := c.store(ctx, script, key, text, l)
	if err != nil || script != mapcache.PutBounded {
		return err
	}
	if n, err := did.AsInt64(); err != nil || n == 1 {
		return err
	}
	c.puts.Store(&habit{mapcache.PutFull, c.h.e.Mono() + glance}) // somebody listens
	_, err = c.store(ctx, mapcache.PutFull, key, text, l)
	return err
}

// putsWith is the least script that does all there may be to do.
func (c *cached) putsWith(l lifetime) *scripts.Script {
	if c.ids || l.keep {
		return mapcache.PutFull
	}
	if h := c.puts.Load(); h != nil && c.h.e.Mono() < h.until {
		return h.script
	}
	return mapcache.Put
}

// putShort writes an entry where there are no options. Else it returns the script
// that does.
func (c *cached) putShort(ctx context.Context, key, text string, l lifetime) (*scripts.Script, error) {
	now := c.h.e.Wall()
	on := []string{c.n.Hash, c.n.Times, c.n.Rests, c.n.Options, c.n.Lease(key)}
	did, err := engine.Number(c.h.e.Run(ctx, mapcache.Put, on, []string{key, l.pack(text), l.life().Ends(now), l.life().Rests(now)}))
	if err != nil || did == 1 {
		c.expect(l, now, err)
		return nil, err
	}
	h := &habit{mapcache.PutFull, c.h.e.Mono() + glance}
	if did == 2 {
		h.script = mapcache.PutBounded
	}
	c.puts.Store(h)
	return h.script, nil
}

// store sends a script that may write one entry.
func (c *cached) store(ctx context.Context, script *scripts.Script, key, text string, l lifetime) (rueidis.RedisMessage, error) {
	now := c.h.e.Wall()
	return c.written(l, now)(c.one(ctx, script, now, key, l.pack(text), l.life().Ends(now), l.life().Rests(now)))
}

// one sends a script about one entry.
func (c *cached) one(ctx context.Context, script *scripts.Script, now int64, key string, args ...string) (engine.Answer, error) {
	on := append(c.n.All(), c.n.Lease(key))
	return c.write(ctx, script, on, append([]string{decimal(now), c.h.e.Publish(), key}, args...)...)
}

// written is the answer of a script that may write entries: whether the sweeper
// has to see to the bound, the answer proper, and how many entries were evicted.
func (c *cached) written(l lifetime, now int64) func(engine.Answer, error) (rueidis.RedisMessage, error) {
	return func(got engine.Answer, err error) (m rueidis.RedisMessage, _ error) {
		c.expect(l, now, err)
		if err != nil {
			return m, err
		}
		parts, err := got.ToArray()
		if err != nil {
			return m, err
		}
		if left, err := parts[0].AsInt64(); err == nil && left > 0 {
			c.h.sweeper.Expect(&c.n, c.h.e.Wall())
		}
		if evicted, err := parts[2].AsInt64(); err == nil && evicted > 0 {
			c.h.swept(engine.Sweep{Cache: c.key, Evicted: evicted, Written: true})
		}
		return parts[1], nil
	}
}

// expect has the sweeper come when what was written is over, if it may have been.
func (c *cached) expect(l lifetime, now int64, err error) {
	if at, ends := l.life().First(now); ends && (err == nil || errors.Is(err, ErrUnknown)) {
		c.h.sweeper.Expect(&c.n, at)
	}
}

func (c *cached) remove(ctx context.Context, names []string) (n int64, err error) {
	for some := range slices.Chunk(names, mostAtOnce) {
		on, args := c.n.All(), append([]string{c.now(), c.h.e.Publish()}, some...)
		for _, key := range some {
			on = append(on, c.n.Lease(key))
		}
		gone, err := engine.Number(c.write(ctx, mapcache.Remove, on, args...))
		if n += gone; err != nil {
			return n, err
		}
	}
	return n, nil
}

// clear leaves the options.
func (c *cached) clear(ctx context.Context) error {
	_, err := c.delete(ctx, []string{c.n.Hash, c.n.Times, c.n.Rests, c.n.Accesses})
	return err
}

func (c *cached) swap(ctx context.Context, key, text string, l lifetime) (value, error) {
	return c.opened(c.store(ctx, mapcache.Swap, key, text, l))
}

func (c *cached) take(ctx context.Context, key string) (value, error) {
	return c.found(c.one(ctx, mapcache.Take, c.h.e.Wall(), key))
}

func (c *cached) putIfAbsent(ctx context.Context, key, text string, l lifetime) (value, error) {
	return c.opened(c.store(ctx, mapcache.PutIfAbsent, key, text, l))
}

// Whatever replaces an entry leaves its times, unless there are others.
func (c *cached) replace(ctx context.Context, key, text string, l lifetime) (bool, error) {
	l.keep = false
	m, err := c.store(ctx, mapcache.Replace, key, text, l)
	if err != nil {
		return false, err
	}
	n, err := m.AsInt64()
	return n > 0, err
}

func (c *cached) change(ctx context.Context, key string, old, to value, l lifetime) (value, bool, error) {
	l.keep = false
	seen, packed, now := "", "", c.h.e.Wall()
	if old.there {
		seen = "=" + old.text
	}
	if to.there {
		packed = l.pack(to.text)
	}
	m, err := c.written(l, now)(c.one(ctx, mapcache.Change, now, key, seen, packed, l.life().Ends(now), l.life().Rests(now)))
	if err == nil && m.IsInt64() {
		return value{}, true, nil
	}
	there, err := c.opened(m, err)
	return there, false, err
}

func (c *cached) add(ctx context.Context, key string, by addend, l lifetime) (value, error) {
	l.keep = false
	now, head := c.h.e.Wall(), l.pack("")[:8]
	command := by.command().Label()
	m, err := c.written(l, now)(c.one(ctx, mapcache.Add, now, key, command, by.text, head, l.life().Ends(now), l.life().Rests(now), by.least, by.most))
	if err != nil {
		return value{}, err
	}
	return element(&m)
}

// touch gives an entry the times that l has, and leaves the others.
func (c *cached) touch(ctx context.Context, key string, l lifetime) (bool, error) {
	now, head, ends, rests := c.h.e.Wall(), "=", "=", "="
	if l.ttl > 0 {
		ends = l.life().Ends(now)
	}
	if l.idle > 0 {
		head, rests = l.pack("")[:8], l.life().Rests(now)
	}
	did, err := engine.Yes(c.write(ctx, mapcache.Touch, c.n.All(), decimal(now), c.h.e.Publish(), key, ends, head, rests))
	c.expect(l, now, err)
	return did, err
}

func (c *cached) ttl(ctx context.Context, key string) (time.Duration, error) {
	on := []string{c.n.Hash, c.n.Times, c.n.Rests}
	return engine.Remainder(engine.Number(c.h.e.Run(ctx, mapcache.TTL, on, []string{key, c.now()})))
}

func (c *cached) expire(ctx context.Context, ms string) (bool, error) {
	if ms == "" {
		return engine.Yes(c.write(ctx, mapcache.Persist, c.n.All()))
	}
	return engine.Yes(c.write(ctx, mapcache.Expire, c.n.All(), ms))
}

func (c *cached) bound(ctx context.Context, n int64, by Order) error {
	_, err := c.h.e.Run(ctx, mapcache.SetBound, []string{c.n.Options, c.n.Accesses}, []string{decimal(n), by.String()})
	c.knows.Store(nil)
	if err == nil || errors.Is(err, ErrUnknown) {
		c.h.sweeper.Expect(&c.n, c.h.e.Wall()) // which sees to what is too much
	}
	return err
}

// found is the answer of a script for an entry.
func (c *cached) found(got engine.Answer, err error) (value, error) {
	v, err := found(got, err)
	return opened(v), err
}

func (c *cached) opened(m rueidis.RedisMessage, err error) (value, error) {
	if err != nil {
		return value{}, err
	}
	return unpacked(&m)
}

func unpacked(m *rueidis.RedisMessage) (value, error) {
	v, err := element(m)
	return opened(v), err
}

// opened is a value without its header.
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
	return mapcache.Life{TTL: l.ttl, Idle: l.idle, Keep: l.keep}
}

// pack is a value with its header.
func (l lifetime) pack(text string) string {
	b := mapcache.Pack(make([]byte, 0, len(text)+16), text, l.idle)
	return string(b)
}

// objectOf is the keys of the cache of that mapped name.
func objectOf(key string) []string {
	n := mapcache.NamesOf(key)
	return n.All()
}
