package rmap

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// What nobody notes accesses of is read without a script, which takes the server
// almost five times as long as both commands: first when the entries end, then the entries. Whoever
// writes one in between writes one that lives, so what is found is what was there at
// one moment. On a cluster a slot that moves could turn the two around.

// readsByCommands reports whether nothing is to be written when an entry is read, as far
// as was seen.
func (c *cached) readsByCommands(t traits) bool { return t.mode == "" && !t.rests && !c.h.e.Cluster() }

// getByCommands reads entries. It reports false if one of them has an idle time.
func (c *cached) getByCommands(ctx context.Context, t traits, names []string) (vs []value, all bool, err error) {
	now := c.h.e.Wall()
	first, got, err := c.h.e.RunBehind(ctx, zmscore, hmget, c.at(c.n.Times, names...), c.at(c.n.Hash, names...), lengthOfMany, c.expects(len(names)))
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

// at returns what a command takes about entries.
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
	if err = batch[0].Ask.c.sendMany(batch); err == nil {
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

func (c *cached) getMany(ctx context.Context, names []string) (all []value, err error) {
	all, err = c.readSome(ctx, names, mostAtOnce, func(some []string) ([]value, error) { return c.getInOneExchange(ctx, some) })
	for i := range all {
		all[i] = opened(all[i])
	}
	return all, err
}

// getInOneExchange is getMany of as many as one exchange reads. Where the options are to be looked
// at again, the script does it on the way.
func (c *cached) getInOneExchange(ctx context.Context, some []string) ([]value, error) {
	t, look := c.traits()
	if !look && c.readsByCommands(t) {
		if vs, all, err := c.getByCommands(ctx, t, some); all {
			return vs, err
		}
	}
	on := []string{c.n.Hash, c.n.Times, c.n.Rests}
	if look {
		on = append(on, c.n.Accesses, c.n.Options)
	} else if t.mode != "" {
		on = append(on, c.n.Accesses)
	}
	got, err := c.h.e.Run(ctx, send.Expect(readCached, c.expects(len(some))), on, append([]string{c.now(), t.mode}, some...))
	if err != nil || !look {
		return values(got, err)
	}
	parts, err := got.ToArray()
	if err != nil {
		return nil, err
	}
	c.saw(parts[len(some):])
	return elements(parts[:len(some)])
}
