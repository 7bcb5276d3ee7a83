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
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// cached is a hash whose values have a header, and sorted sets beside it that
// say when entries end.
type cached struct {
	sender
	n     mapcache.Names
	knows atomic.Pointer[traits]
}

// traits are what a handle has seen of a cache's options.
type traits struct {
	mode    string // of noting accesses; empty: it is not bounded
	rests   bool   // there are entries with idle times
	options bool   // there are some
	told    bool   // somebody listens
	weighed bool   // it has a bound by bytes
	until   time.Duration
}

// glance is how long what was seen of the options counts. Until then an access
// may go unnoted, and a write find more to do than it thought.
const glance = time.Second

func newCached(s sender) *cached {
	c := &cached{sender: s, n: mapcache.NamesOf(s.key)}
	c.n.Announced = s.announces
	return c
}

func (c *cached) object() []string { return c.n.All() }

// traits returns what is known of the options, and whether this call is the one to
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

// saw notes the options: max-size, mode, has-listeners, most bytes.
func (c *cached) saw(options []rueidis.RedisMessage) traits {
	t := traits{until: c.h.e.Mono() + glance}
	t.options = slices.ContainsFunc(options, func(m rueidis.RedisMessage) bool { return !m.IsNil() })
	if told, _ := options[2].ToString(); told == "1" {
		t.told = true
	}
	most, err := options[3].AsFloat64()
	t.weighed = err == nil && most >= 1
	most, err = options[0].AsFloat64()
	if t.weighed || err == nil && most >= 1 {
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

func (c *cached) has(ctx context.Context, key string) (bool, error) {
	return send.Yes(c.h.e.Run(ctx, mapcache.Has, c.n.All(), []string{key, c.now()}))
}

func (c *cached) length(ctx context.Context) (int64, error) { return send.Number(c.read(ctx, hlen)) }

// put writes entries: one by a script that is short where there is little to do beside.
func (c *cached) put(ctx context.Context, pairs []string, l lifetime) error {
	if len(pairs) == 2 && !c.ids && !l.keep && !c.announces {
		if done, err := c.putOne(ctx, pairs[0], pairs[1], l); done || err != nil {
			return err
		}
	}
	for some := range slices.Chunk(pairs, mostAtOnce) {
		now := c.h.e.Wall()
		on, args := c.n.All(), []string{decimal(now), c.publish(some, 2), l.life().Ends(now), l.life().Rests(now)}
		for i := 0; i < len(some); i += 2 {
			on, args = append(on, c.n.Lease(some[i])), append(args, some[i], l.pack(some[i+1]))
		}
		if _, err := c.written(l, now)(c.write(ctx, mapcache.PutMany, on, args...)); err != nil {
			return err
		}
	}
	return nil
}

// putOne writes an entry, unless somebody listens or bytes count.
func (c *cached) putOne(ctx context.Context, key, text string, l lifetime) (done bool, err error) {
	seen, known := c.seen()
	if !known || !seen.options {
		if done, err = c.putAlone(ctx, key, text, l); done || err != nil {
			return done, err
		}
		seen, _ = c.seen()
	}
	if seen.told || seen.weighed {
		return false, nil
	}
	m, err := c.store(ctx, mapcache.PutBounded, key, text, l)
	if err != nil || m.IsInt64() {
		return true, err
	}
	options, err := m.ToArray()
	if err == nil {
		c.saw(options)
	}
	return false, err
}

// seen returns what is known of the options, and whether that still counts.
func (c *cached) seen() (t traits, known bool) {
	seen := c.knows.Load()
	if seen == nil {
		return t, false
	}
	return *seen, c.h.e.Mono() < seen.until
}

// putAlone writes an entry, unless there are options, which it notes.
func (c *cached) putAlone(ctx context.Context, key, text string, l lifetime) (done bool, err error) {
	now := c.h.e.Wall()
	on := []string{c.n.Hash, c.n.Times, c.n.Rests, c.n.Options, c.n.Lease(key)}
	got, err := c.h.e.RunBriefly(ctx, mapcache.Put, on, []string{key, l.pack(text), l.life().Ends(now), l.life().Rests(now)})
	if err != nil || got.IsInt64() {
		c.expect(l, now, err)
		return true, err
	}
	options, err := got.ToArray()
	if err == nil {
		c.saw(options)
	}
	return false, err
}

// store sends a script that may write one entry.
func (c *cached) store(ctx context.Context, script *scripts.Script, key, text string, l lifetime) (rueidis.RedisMessage, error) {
	now := c.h.e.Wall()
	return c.written(l, now)(c.one(ctx, script, now, key, l.pack(text), l.life().Ends(now), l.life().Rests(now)))
}

// one sends a script about one entry.
func (c *cached) one(ctx context.Context, script *scripts.Script, now int64, key string, args ...string) (send.Answer, error) {
	on := append(c.n.All(), c.n.Lease(key))
	return c.write(ctx, script, on, append([]string{decimal(now), c.publish([]string{key}, 1), key}, args...)...)
}

// written returns the answer of a script that may write entries: whether the sweeper
// has to see to the bound, the answer proper, and how many entries were evicted.
func (c *cached) written(l lifetime, now int64) func(send.Answer, error) (rueidis.RedisMessage, error) {
	return func(got send.Answer, err error) (m rueidis.RedisMessage, _ error) {
		c.expect(l, now, err)
		if err != nil {
			return m, err
		}
		parts, err := got.ToArray()
		if err != nil {
			return m, err
		}
		switch left, err := parts[0].AsInt64(); {
		case err != nil:
		case left == 2:
			c.h.sweeper.Expect(&c.n, c.h.e.Wall())
		case left == 1:
			c.h.sweeper.Expect(&c.n, c.h.e.Wall()+mapcache.Reweigh.Milliseconds())
		}
		if evicted, err := parts[2].AsInt64(); err == nil && evicted > 0 {
			c.h.swept(core.Sweep{Cache: c.key, Evicted: evicted, Written: true})
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
	return c.found(c.one(ctx, mapcache.Take, c.h.e.Wall(), key))
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

func (c *cached) ttl(ctx context.Context, key string) (time.Duration, error) {
	on := []string{c.n.Hash, c.n.Times, c.n.Rests}
	return send.Remainder(send.Number(c.h.e.Run(ctx, mapcache.TTL, on, []string{key, c.now()})))
}

func (c *cached) expire(ctx context.Context, ms string) (bool, error) {
	if ms == "" {
		return send.Yes(c.write(ctx, mapcache.Persist, c.n.All()))
	}
	return send.Yes(c.write(ctx, mapcache.Expire, c.n.All(), c.tellAll(ms)...))
}

// bound reports whether the bound was set.
func (c *cached) bound(ctx context.Context, n int64, by Order, ifAbsent bool) (bool, error) {
	script := mapcache.SetBound
	if ifAbsent {
		script = mapcache.SetBoundIfAbsent
	}
	did, err := send.Yes(c.h.e.RunBriefly(ctx, script, []string{c.n.Options, c.n.Accesses}, []string{decimal(n), by.String()}))
	c.knows.Store(nil)
	if err == nil && did || errors.Is(err, ErrUnknown) {
		c.h.sweeper.Expect(&c.n, c.h.e.Wall()) // which sees to what is too much
	}
	return did, err
}

// boundBytes sets the bound by bytes.
func (c *cached) boundBytes(ctx context.Context, n int64, by Order) (bool, error) {
	on := []string{c.n.Options, c.n.Accesses, c.n.Hash}
	_, err := c.h.e.RunBriefly(ctx, mapcache.SetBytes, on, []string{decimal(n), by.String()})
	c.knows.Store(nil)
	c.h.sweeper.Expect(&c.n, c.h.e.Wall()) // which sees to what is too much
	return err == nil, err
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

// found returns the answer of a script for an entry.
func (c *cached) found(got send.Answer, err error) (value, error) {
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
