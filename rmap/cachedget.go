package rmap

import (
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// cachedAsk is one Get. Those of one cache that come while others are under way
// go out together.
type cachedAsk struct {
	getAsk
	c *cached
}

type cachedCall = combine.Call[cachedAsk, value]

func (c *cached) get(ctx context.Context, key string) (value, error) {
	return c.h.cachedGets.Do(ctx, c.key, cachedAsk{getAsk{key, c.h.sizeOf(c.key)}, c})
}

// sendCachedGets reads the entries of a batch: by one exchange, unless nobody knows how long the values are.
func (h *hub) sendCachedGets(_ string, _ int, batch []*cachedCall) error {
	if err := h.e.Open(); err != nil {
		return err
	}
	fields := make([]string, len(batch))
	for i, one := range batch {
		fields[i] = one.Ask.key
	}
	got, err := batch[0].Ask.c.getMany(context.Background(), fields)
	if err != nil {
		return err
	}
	for i := range got {
		batch[i].Answer = got[i]
	}
	measure(batch[0].Ask.size, batch)
	return nil
}

// readInOne reads as many entries as one exchange reads, with their headers. Where the options are to be looked
// at again, the script does it on the way. As far as was seen, nothing is to be written when an entry of a cache
// without a bound and without idle times is read: then two commands do.
func (c *cached) readInOne(ctx context.Context, some []string) ([]value, error) {
	t, look := c.traits()
	if !look && t.mode == "" && !t.rests && !c.h.e.Cluster() {
		if vs, all, err := c.readByCommands(ctx, t, some); all {
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

// readByCommands reads without a script, which takes the server almost five times as long as both commands: first
// when the entries expire, then the entries. A writer in between writes an entry that is alive, so the result is
// what was stored at one moment. On a cluster a slot migration could reverse the two reads. It reports false if one
// of the entries has an idle time.
func (c *cached) readByCommands(ctx context.Context, t traits, names []string) (vs []value, all bool, err error) {
	now := c.h.e.Wall()
	first, got, err := c.h.e.RunBehind(ctx, zmscore, hmget, scripts.Call{Keys: []string{c.n.Times}, Args: names},
		scripts.Call{Keys: []string{c.n.Hash}, Args: names}, lengthOfMany, c.expects(len(names)))
	if vs, err = values(got, err); err != nil {
		return nil, true, err
	}
	ends, err := first.ToArray()
	if err != nil {
		return nil, true, err
	}
	for i := range vs {
		if !ends[i].IsNil() {
			at, err := ends[i].AsFloat64()
			if err != nil {
				return nil, true, err
			}
			if at <= float64(now) {
				vs[i] = value{}
			}
		}
		if !mapcache.Idles(vs[i].text) {
			continue
		}
		// It is noted that there are entries with idle times, unless something else is known of the options meanwhile.
		if seen := c.knows.Load(); seen != nil && *seen == t {
			rests := t
			rests.rests = true
			c.knows.CompareAndSwap(seen, &rests)
		}
		return nil, false, nil
	}
	return vs, true, nil
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

func (c *cached) getMany(ctx context.Context, names []string) (all []value, err error) {
	all, err = c.readSome(ctx, names, mostAtOnce, func(some []string) ([]value, error) { return c.readInOne(ctx, some) })
	for i := range all {
		all[i] = opened(all[i])
	}
	return all, err
}

func (c *cached) has(ctx context.Context, key string) (bool, error) {
	return send.Yes(c.h.e.Run(ctx, mapcache.Has, c.n.All(), []string{key, c.now()}))
}
