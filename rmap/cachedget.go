package rmap

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// What nobody notes accesses of is read without a script, which takes the server
// longer than both commands: first when the entries end, then the entries. Whoever
// writes one in between writes one that lives, so what is found is what was there at
// one moment. On a cluster a slot that moves could turn the two around.

// unnoted reports whether nothing is to be written when an entry is read, as far
// as was seen.
func (c *cached) unnoted(t traits) bool { return t.mode == "" && !t.rests && !c.h.e.Cluster() }

// getAlone reads an entry. It reports false if that has an idle time.
func (c *cached) getAlone(ctx context.Context, t traits, key string) (v value, all bool, err error) {
	now := c.h.e.Wall()
	ends, got, err := c.h.e.RunBehind(ctx, zscore, hget, c.at(c.n.Times, key), c.at(c.n.Hash, key))
	if v, err = found(got, err); err != nil || !v.there {
		return value{}, true, err
	}
	if over, err := ended(&ends, now); err != nil || over {
		return value{}, true, err
	}
	if mapcache.Idles(v.text) {
		c.rest(t)
		return value{}, false, nil
	}
	return opened(v), true, nil
}

// getSome is getAlone of several, all or none.
func (c *cached) getSome(ctx context.Context, t traits, names []string) (vs []value, all bool, err error) {
	now := c.h.e.Wall()
	first, got, err := c.h.e.RunBehind(ctx, zmscore, hmget, c.at(c.n.Times, names...), c.at(c.n.Hash, names...))
	if vs, err = values(got, err); err != nil {
		return nil, true, err
	}
	ends, err := first.ToArray()
	if err != nil {
		return nil, true, err
	}
	for i := range vs {
		over, err := ended(&ends[i], now)
		switch {
		case err != nil:
			return nil, true, err
		case over:
			vs[i] = value{}
		case mapcache.Idles(vs[i].text):
			c.rest(t)
			return nil, false, nil
		}
	}
	return vs, true, nil
}

// at is what a command takes about entries.
func (c *cached) at(key string, names ...string) scripts.Call {
	return scripts.Call{Keys: []string{key}, Args: names}
}

// ended reports whether the end that a sorted set says is over.
func ended(score *rueidis.RedisMessage, now int64) (bool, error) {
	if score.IsNil() {
		return false, nil
	}
	at, err := score.AsFloat64()
	return at <= float64(now), err
}

// rest notes that there are entries with idle times, unless something else than t
// is known of the options meanwhile.
func (c *cached) rest(t traits) {
	seen := c.knows.Load()
	if seen == nil || *seen != t {
		return
	}
	t.rests = true
	c.knows.CompareAndSwap(seen, &t)
}
