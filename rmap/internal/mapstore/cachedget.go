package mapstore

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
	c *Cached
}

type cachedCall = combine.Call[cachedAsk, Value]

func (c *Cached) Get(ctx context.Context, key string) (Value, error) {
	return c.Hub.cachedGets.Do(ctx, c.Key, cachedAsk{getAsk{key, c.Hub.sizes.Of(c.Key)}, c})
}

// sendCachedGets reads the entries of a batch: by one exchange, unless nobody knows how long the values are.
func (h *Hub) sendCachedGets(_ string, _ int, batch []*cachedCall) error {
	if err := h.Engine.Open(); err != nil {
		return err
	}
	fields := make([]string, len(batch))
	for i, one := range batch {
		fields[i] = one.Ask.key
	}
	got, err := batch[0].Ask.c.GetMany(context.Background(), fields)
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
func (c *Cached) readInOne(ctx context.Context, some []string) ([]Value, error) {
	t, look := c.traits()
	if !look && t.mode == "" && !t.rests && !c.Hub.Engine.Cluster() {
		if vs, all, err := c.readByCommands(ctx, t, some); all {
			return vs, err
		}
	}
	on := []string{c.Names.Hash, c.Names.Times, c.Names.Rests}
	if look {
		on = append(on, c.Names.Accesses, c.Names.Options)
	} else if t.mode != "" {
		on = append(on, c.Names.Accesses)
	}
	got, err := c.Hub.Engine.Run(ctx, send.Expect(readCached, c.expects(len(some))), on, append([]string{c.Now(), t.mode}, some...))
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
func (c *Cached) readByCommands(ctx context.Context, t traits, names []string) (vs []Value, all bool, err error) {
	now := c.Hub.Engine.Wall()
	first, got, err := c.Hub.Engine.RunBehind(ctx, zmscore, hmget, scripts.Call{Keys: []string{c.Names.Times}, Args: names},
		scripts.Call{Keys: []string{c.Names.Hash}, Args: names}, lengthOfMany, c.expects(len(names)))
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
				vs[i] = Value{}
			}
		}
		if !mapcache.Idles(vs[i].Text) {
			continue
		}
		// It is noted that there are entries with idle times, unless something else is known of the options meanwhile.
		if seen := c.Knows.Load(); seen != nil && *seen == t {
			rests := t
			rests.rests = true
			c.Knows.CompareAndSwap(seen, &rests)
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

// Glance is how long what was seen of the options counts. Until then an access
// may go unnoted, and a write find more to do than it thought.
const Glance = time.Second

// traits returns what is known of the options, and whether this call is the one to
// look at them again.
func (c *Cached) traits() (t traits, look bool) {
	now, seen := c.Hub.Engine.Mono(), c.Knows.Load()
	if seen != nil {
		t = *seen
	}
	if seen != nil && now < seen.until {
		return t, false
	}
	t.until = now + Glance
	return t, c.Knows.CompareAndSwap(seen, &t)
}

// saw notes the options: max-size, mode, has-listeners, most bytes.
func (c *Cached) saw(options []rueidis.RedisMessage) traits {
	t := traits{until: c.Hub.Engine.Mono() + Glance}
	t.options = slices.ContainsFunc(options, func(m rueidis.RedisMessage) bool { return !m.IsNil() })
	if told, _ := options[2].ToString(); told == "1" {
		t.told = true
	}
	most, err := options[3].AsFloat64()
	t.weighed = err == nil && most >= 1
	most, err = options[0].AsFloat64()
	if t.weighed || err == nil && most >= 1 {
		t.mode = LeastRecently
		if mode, err := options[1].ToString(); err == nil && mode == LeastFrequently {
			t.mode = mode
		}
	}
	c.Knows.Store(&t)
	return t
}

func (c *Cached) GetMany(ctx context.Context, names []string) (all []Value, err error) {
	all, err = c.ReadSome(ctx, names, MostAtOnce, func(some []string) ([]Value, error) { return c.readInOne(ctx, some) })
	for i := range all {
		all[i] = opened(all[i])
	}
	return all, err
}

func (c *Cached) Has(ctx context.Context, key string) (bool, error) {
	return send.Yes(c.Hub.Engine.Run(ctx, mapcache.Has, c.Names.All(), []string{key, c.Now()}))
}
