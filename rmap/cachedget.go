package rmap

import (
	"context"
	"slices"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/combine"
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

// cachedAsk is one Get. Those of one cache that come while others are under way
// go out together.
type cachedAsk struct {
	getAsk
	c *cached
}

func (c *cached) get(ctx context.Context, key string) (value, error) {
	return c.h.cachedGets.Do(ctx, c.key, cachedAsk{getAsk{key, c.h.sizeOf(c.key)}, c})
}

type cachedCall = combine.Call[cachedAsk, value]

func cutCachedGets(waiting []*cachedCall) int { return cut(len(waiting), waiting[0].Ask.size) }

// sendCachedGets reads the entries of a batch.
func (h *hub) sendCachedGets(_ string, _ int, batch []*cachedCall) (err error) {
	if err := h.e.Open(); err != nil {
		return err
	}
	if len(batch) == 1 {
		batch[0].Answer, err = batch[0].Ask.c.getOne(context.Background(), batch[0].Ask.key)
	} else {
		err = batch[0].Ask.c.sendMany(batch)
	}
	if err == nil {
		measure(batch[0].Ask.size, batch)
	}
	return err
}

func (c *cached) sendMany(batch []*cachedCall) error {
	fields := make([]string, len(batch))
	for i, one := range batch {
		fields[i] = one.Ask.key
	}
	got, err := c.getMany(context.Background(), fields)
	if err != nil {
		return err
	}
	for i := range got {
		batch[i].Answer = got[i]
	}
	return nil
}

func (c *cached) getOne(ctx context.Context, key string) (value, error) {
	t, look := c.traits()
	if !look && c.unnoted(t) {
		if v, all, err := c.getAlone(ctx, t, key); all {
			return v, err
		}
	}
	on := []string{c.n.Hash, c.n.Times, c.n.Rests}
	if look {
		on = append(on, c.n.Accesses, c.n.Options)
	} else if t.mode != "" {
		on = append(on, c.n.Accesses)
	}
	got, err := c.h.e.Run(ctx, mapcache.Get, on, []string{c.now(), key, t.mode})
	if err != nil || !look {
		return c.found(got, err)
	}
	parts, err := got.ToArray()
	if err != nil {
		return value{}, err
	}
	c.saw(parts[:3])
	return unpacked(&parts[3])
}

func (c *cached) getMany(ctx context.Context, names []string) (all []value, err error) {
	t, look := c.traits()
	if look {
		if t, err = c.look(ctx); err != nil {
			return nil, err
		}
	}
	for some := range slices.Chunk(names, mostAtOnce) {
		vs, err := c.getUpTo(ctx, t, some)
		if err != nil {
			return nil, err
		}
		for _, v := range vs {
			all = append(all, opened(v))
		}
	}
	return all, nil
}

// getUpTo is getMany of as many as one exchange reads.
func (c *cached) getUpTo(ctx context.Context, t traits, some []string) ([]value, error) {
	if c.unnoted(t) {
		if vs, all, err := c.getSome(ctx, t, some); all {
			return vs, err
		}
	}
	on := []string{c.n.Hash, c.n.Times, c.n.Rests, c.n.Accesses}
	return values(c.h.e.Run(ctx, mapcache.GetMany, on, append([]string{t.mode, c.now()}, some...)))
}
