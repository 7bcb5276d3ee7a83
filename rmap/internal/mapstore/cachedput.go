package mapstore

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// Put writes entries. One entry is written by a short script if nothing else is to be done.
func (c *Cached) Put(ctx context.Context, pairs []string, l Lifetime) error {
	if len(pairs) == 2 && !c.ids && !l.Keep && !c.announces {
		if done, err := c.putOne(ctx, pairs[0], pairs[1], l); done || err != nil {
			return err
		}
	}
	for some := range slices.Chunk(pairs, MostAtOnce) {
		now := c.Hub.Engine.Wall()
		on, args := c.Names.All(), []string{Decimal(now), c.publish(some, 2), l.life().Ends(now), l.life().Rests(now)}
		for i := 0; i < len(some); i += 2 {
			on, args = append(on, c.Names.Lease(some[i])), append(args, some[i], l.Pack(some[i+1]))
		}
		if _, err := c.written(l, now)(c.Write(ctx, mapcache.PutMany, on, args...)); err != nil {
			return err
		}
	}
	return nil
}

// putOne writes an entry by a short script, unless somebody listens or bytes count: then it reports false.
func (c *Cached) putOne(ctx context.Context, key, text string, l Lifetime) (done bool, err error) {
	var t traits
	if seen := c.Knows.Load(); seen != nil && seen.options && c.Hub.Engine.Mono() < seen.until {
		t = *seen
	} else {
		// No options are known of. The script writes, unless there are some, which it answers with.
		now := c.Hub.Engine.Wall()
		on := []string{c.Names.Hash, c.Names.Times, c.Names.Rests, c.Names.Options, c.Names.Lease(key)}
		got, err := c.Hub.Engine.RunBriefly(ctx, mapcache.Put, on, []string{key, l.Pack(text), l.life().Ends(now), l.life().Rests(now)})
		if err != nil || got.IsInt64() {
			c.expect(l, now, err)
			return true, err
		}
		options, err := got.ToArray()
		if err != nil {
			return false, err
		}
		t = c.saw(options)
	}
	if t.told || t.weighed {
		return false, nil
	}
	m, err := c.store(ctx, mapcache.PutBounded, key, text, l)
	if err != nil || m.IsInt64() {
		return true, err
	}
	// What was known of the options is over: nothing was written.
	options, err := m.ToArray()
	if err == nil {
		c.saw(options)
	}
	return false, err
}

// store sends a script that may write one entry.
func (c *Cached) store(ctx context.Context, script *scripts.Script, key, text string, l Lifetime) (rueidis.RedisMessage, error) {
	now := c.Hub.Engine.Wall()
	return c.written(l, now)(c.one(ctx, script, now, key, l.Pack(text), l.life().Ends(now), l.life().Rests(now)))
}

// one sends a script about one entry.
func (c *Cached) one(ctx context.Context, script *scripts.Script, now int64, key string, args ...string) (send.Answer, error) {
	on := append(c.Names.All(), c.Names.Lease(key))
	return c.Write(ctx, script, on, append([]string{Decimal(now), c.publish([]string{key}, 1), key}, args...)...)
}

// written returns the answer of a script that may write entries: whether the sweeper
// has to see to the bound, the answer proper, and how many entries were evicted.
func (c *Cached) written(l Lifetime, now int64) func(send.Answer, error) (rueidis.RedisMessage, error) {
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
			c.Hub.Sweeper.Expect(&c.Names, c.Hub.Engine.Wall())
		case left == 1:
			c.Hub.Sweeper.Expect(&c.Names, c.Hub.Engine.Wall()+mapcache.Reweigh.Milliseconds())
		}
		if evicted, err := parts[2].AsInt64(); err == nil && evicted > 0 {
			c.Hub.swept(core.Sweep{Kind: "map cache", Cache: c.Key, Evicted: evicted, Written: true})
		}
		return parts[1], nil
	}
}

// expect has the sweeper come when what was written is over, if it may have been.
func (c *Cached) expect(l Lifetime, now int64, err error) {
	if at, ends := l.life().First(now); ends && (err == nil || errors.Is(err, core.ErrOutcomeUnknown)) {
		c.Hub.Sweeper.Expect(&c.Names, at)
	}
}

// MostAtOnce bounds what one script call does: the server does nothing else
// meanwhile.
const MostAtOnce = 500
