package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
	"github.com/rueidisson/rueidisson/semaphore"
)

// held is a hold of any object.
type held struct {
	names  []string // the names that the holder may use
	shared bool
	token  int64
	id     string // of a permit
	err    func() error
	free   func(ctx context.Context) error
	fence  fence.Token
}

// terms are those of one call to acquire.
type terms struct {
	rnd     *rand.Rand
	members []*rueidisson.Client // of the process: the first one is that of objects with one client
	names   []string             // of the round
	lease   time.Duration        // 0: the client renews the hold
	alone   bool                 // the hold excludes all others of the name
}

func (t terms) name() string { return t.names[t.rnd.IntN(len(t.names))] }

func (t terms) options() (opts []lock.LockOption) {
	if t.lease > 0 {
		opts = append(opts, lock.WithLease(t.lease))
	}
	return opts
}

// object is one kind of object: how it is acquired, and what holds of it.
type object struct {
	name    string
	places  []string // topologies; nil: all on which one client is enough
	limit   int      // how many may hold a name at a time
	tokens  bool     // each hold has a fencing token: they rise, and its holder writes a guarded value
	hashed  bool     // the name is a hash with the owners as fields
	view    *view    // reads the owners otherwise
	keeps   []string // keys that last although nobody holds NAME
	several bool     // a hold has two names
	leased  bool     // the hold of a process that dies ends
	set     func(ctx context.Context, c *rueidisson.Client, name string) error
	acquire func(ctx context.Context, c *rueidisson.Client, t terms) (held, error)
	free    func(ctx context.Context, c *rueidisson.Client, name string) (int64, error) // permits

	reads func(c *rueidisson.Client, name string) lock.Locker // of holds that readers share

	keys  func(name string) []string // under which servers have a name; nil: the name itself
	again bool                       // a finding is judged again while clients log what callers that left cannot be told, and put elements back

	// Of an object that is not held: one operation, and what the oracle says of all of a name when the faults are over.
	do    func(ctx context.Context, w *worker, round context.Context, name string)
	judge func(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int)
	// Of one with a store, on the server that no nemesis reaches, in place of judge.
	judgeStored func(ctx context.Context, c, store *rueidisson.Client, name string, events []event) (found []string, chances int)

	versions []string // of servers that have it; none: all
	asPeer   bool     // the oracle is one more process: a name has one watchdog timeout for all
	listens  bool     // clients that have used it listen until they close
}

// on reports whether a server of that version has the object.
func (o object) on(version string) bool {
	return len(o.versions) == 0 || slices.Contains(o.versions, version)
}

// over has the oracle look at that store, or use the client that is a peer of the processes'.
func (o object) over(store, peer *rueidisson.Client) object {
	if judge := o.judge; o.asPeer {
		o.judge = func(ctx context.Context, _ *rueidisson.Client, name string, events []event) ([]string, int) {
			return judge(ctx, peer, name, events)
		}
	}
	if judge := o.judgeStored; judge != nil {
		o.judge = func(ctx context.Context, c *rueidisson.Client, name string, events []event) ([]string, int) {
			return judge(ctx, c, store, name, of(events, name))
		}
	}
	return o
}

// permits is how many permits a name has.
const permits = 3

// lastToken is the key of the last fencing token: it is never removed, so that tokens rise.
const lastToken = "redisson_lock_token:{NAME}"

// groupValues are the values of a group of locks.
var groupValues = []string{"a", "b", "c"}

// valueName names a value of a group in the record.
func valueName(group, value string) string { return group + " " + value }

// owners returns how the server is asked for the owners of a name, nil if there is no way.
func (o object) owners() *view {
	if o.hashed {
		return &ofHash
	}
	return o.view
}

var objects = []object{
	{name: "lock", limit: 1, hashed: true, leased: true, acquire: locked(func(c *rueidisson.Client, t terms) (lock.Locker, bool) {
		return c.Lock(t.name()), false
	})},
	{name: "fair", limit: 1, hashed: true, leased: true, acquire: locked(func(c *rueidisson.Client, t terms) (lock.Locker, bool) {
		return c.FairLock(t.name()), false
	})},
	{name: "read-write", limit: 1, hashed: true, leased: true, reads: func(c *rueidisson.Client, name string) lock.Locker {
		return c.RWLock(name).Read()
	}, acquire: locked(func(c *rueidisson.Client, t terms) (lock.Locker, bool) {
		if !t.alone && t.rnd.IntN(3) > 0 {
			return c.RWLock(t.name()).Read(), true
		}
		return c.RWLock(t.name()).Write(), false
	})},
	{name: "fenced", limit: 1, tokens: true, hashed: true, leased: true, keeps: []string{lastToken}, acquire: locked(func(c *rueidisson.Client, t terms) (lock.Locker, bool) {
		return c.FencedLock(t.name()), false
	})},
	{name: "multi", limit: 1, several: true, hashed: true, leased: true, acquire: func(ctx context.Context, c *rueidisson.Client, t terms) (held, error) {
		var names []string
		var all []lock.Locker
		for _, i := range t.rnd.Perm(len(t.names))[:2] {
			names = append(names, t.names[i])
			all = append(all, c.Lock(t.names[i]))
		}
		h, err := c.MultiLock(all...).Lock(ctx, t.options()...)
		return holding(h, err, names, false)
	}},
	{name: "group", limit: 1, view: &ofGroup, leased: true, acquire: func(ctx context.Context, c *rueidisson.Client, t terms) (held, error) {
		name, values := t.name(), groupValues
		if !t.alone {
			values = values[t.rnd.IntN(3):][:1]
		}
		h, err := c.LockGroup(name).Of(values...).Lock(ctx, t.options()...)
		var names []string
		for _, v := range values {
			names = append(names, valueName(name, v))
		}
		return holding(h, err, names, false)
	}},
	red,
	{name: "permits", limit: permits, view: &ofPermits, leased: true, keeps: []string{"NAME", "rueidisson_set:{NAME}"}, set: func(ctx context.Context, c *rueidisson.Client, name string) error {
		return c.PermitSemaphore(name).SetPermits(ctx, permits)
	}, acquire: func(ctx context.Context, c *rueidisson.Client, t terms) (held, error) {
		name := t.name()
		var opts []semaphore.PermitOption
		if t.lease > 0 {
			opts = append(opts, semaphore.WithLease(t.lease))
		}
		p, err := c.PermitSemaphore(name).Acquire(ctx, opts...)
		if err != nil {
			return held{}, err
		}
		return held{names: []string{name}, id: p.ID(), err: p.Err, free: p.Release}, nil
	}, free: func(ctx context.Context, c *rueidisson.Client, name string) (int64, error) {
		return c.PermitSemaphore(name).Available(ctx)
	}},
	{name: "semaphore", limit: permits, keeps: []string{"NAME", "rueidisson_set:{NAME}"}, set: func(ctx context.Context, c *rueidisson.Client, name string) error {
		return c.Semaphore(name).SetPermits(ctx, permits)
	}, acquire: func(ctx context.Context, c *rueidisson.Client, t terms) (held, error) {
		name := t.name()
		s := c.Semaphore(name)
		if err := s.Acquire(ctx, 1); err != nil {
			return held{}, err
		}
		return held{names: []string{name}, err: func() error { return nil }, free: func(ctx context.Context) error { return s.Release(ctx, 1) }}, nil
	}, free: func(ctx context.Context, c *rueidisson.Client, name string) (int64, error) {
		return c.Semaphore(name).Available(ctx)
	}},
	{name: "election", limit: 1, tokens: true, hashed: true, leased: true, keeps: []string{lastToken, "rueidisson_term:{NAME}"}, acquire: func(ctx context.Context, c *rueidisson.Client, t terms) (held, error) {
		var opts []election.Option
		if t.lease > 0 {
			opts = append(opts, election.WithLease(t.lease))
		}
		name := t.name()
		term, err := election.New(c, name, opts...).Campaign(ctx, "leader")
		if err != nil {
			return held{}, err
		}
		return held{names: []string{name}, token: term.Fence().Number(), fence: term.Fence(), err: term.Err, free: term.Resign}, nil
	}},
	datum("compute", compute, computed),
	datum("bucket", useBucket, checkBucket),
	datum("update", updateBucket, updated),
	datum("bytes", appendOrRead, appended),
	datum("set", addOrPop, popped),
	datum("set-cache", addOrRemove, removed),
	datum("score", score, scoredOnce),
	datum("sorted-set", scoreOrPop, poppedOnce).judgedAgain(),
	datum("texts", addOrPopText, poppedOnce).judgedAgain(),
	datum("places", putOrRemove, placedOnce).judgedAgain(),
	datum("keys", useKeys, checkKeys).keptAs(classKeys),
	datum("time-series", addOrPopTimed, poppedTimed).keptAs(seriesKeys),
	datum("bitset", useBitset, checkBitset),
	datum("list", useList, checkList),
	datum("queue", offerOrPoll, polled).judgedAgain(),
	datum("bounded", offerOrPollBounded, bounded).setBy(func(ctx context.Context, c *rueidisson.Client, name string) error {
		_, err := queue.NewBounded[int64](c, name).TrySetCapacity(ctx, capacity)
		return err
	}).judgedAgain(),
	datum("reliable", addOrReceive, handled),
	datum("limiter", limit, limited).setBy(func(ctx context.Context, c *rueidisson.Client, name string) error {
		return c.RateLimiter(name).SetRate(ctx, ratelimiter.PerSecond(rate).WithBurst(burst))
	}),
	datum("latch", countAndWait, counted).setBy(armed).keptAs(latchNames),
	datum("sizes", takeSome, taken).setBy(func(ctx context.Context, c *rueidisson.Client, name string) error {
		return c.Semaphore(name).SetPermits(ctx, permits)
	}),
	datum("near", readOrWrite(near), notStale),
	datum("near-announced", readOrWrite(announced), notStale),
	{name: "entry-lock", limit: 1, leased: true, acquire: func(ctx context.Context, c *rueidisson.Client, t terms) (held, error) {
		name := t.name()
		h, err := entryLock(c, name).Lock(ctx, t.options()...)
		return holding(h, err, []string{name}, false)
	}},
	datum("map", useMap(plainMap, false), checkMap(plainMap)),
	datum("ttl-map", useMap(ttlMap, true), checkMap(ttlMap)).onlyOn("8.0").placedOn(onSingle), // 7.4 or Valkey 9 at least
	datum("cache", useMap(cacheMap, true), checkMap(cacheMap)),
	datum("sharded-map", useMap(shardedMap, false), checkMap(shardedMap)).keptAs(shardNames),
	datum("list-multimap", useValues(lists), checkValues(lists, true)),
	datum("set-multimap", useValues(sets), checkValues(sets, false)),
	overStore("read-through", readOrChange, loadedAsStored),
	overStore("write-through", change(written), writtenAsStored),
	overStore("write-behind", change(queued), queuedAsStored),
	datum("take", offerOrTake, polled).judgedAgain(),
	datum("delayed", offerLater, moved).judgedAgain().listening(),
	datum("priority", offerScored, lowestFirst).judgedAgain(),
	datum("ring", offerRing, newest).setBy(func(ctx context.Context, c *rueidisson.Client, name string) error {
		_, err := queue.NewRing[int64](c, name).TrySetCapacity(ctx, capacity)
		return err
	}),
	datum("jobs", addOrWork, worked),
	datum("transfer", transferOrWork, transferred),
	datum("stream", addOrConsume, consumed).setBy(grouped),
	datum("topic", listenOrPublish, heardAll),
	datum("reliable-topic", listenKept, keptAll),
	datum("durable-topic", listenDurable, heardOnce).setBy(subscribed).judgedByPeer(),
	datum("barrier", arrive, met),
	datum("double-barrier", enterAndLeave, parted),
	datum("counter", addOne(plainAdd), addedOnce(readCounter)),
	datum("counted", addOne(countedAdd), addedOnce(readCounter)),
	datum("adder", addOne(localAdd), addedOnce(readCounter)),
	datum("float", addOne(floatAdd), addedOnce(readFloat)),
	datum("ids", takeIDs, idsOnce).setBy(beginIDs).keptAs(generatorKeys),
	datum("distinct", addValue, distinct),
	datum("bloom", addOrLook, allFound).setBy(makeFilter).keptAs(filterKeys),
	datum("redisson-limiter", limitRedisson, limited).setBy(func(ctx context.Context, c *rueidisson.Client, name string) error {
		return c.RedissonRateLimiter(name).SetRate(ctx, redissonlimiter.Rate{Permits: burst, Interval: burst * time.Second / rate})
	}),
}

func (o object) listening() object {
	o.listens = true
	return o
}

func (o object) judgedByPeer() object {
	o.asPeer = true
	return o
}

func (o object) onlyOn(versions ...string) object {
	o.versions = versions
	return o
}

func (o object) placedOn(topologies ...string) object {
	o.places = topologies
	return o
}

func (o object) judgedAgain() object {
	o.again = true
	return o
}

// keptAs tells under which names the servers have a name of the object.
func (o object) keptAs(keys func(name string) []string) object {
	o.keys = keys
	return o
}

// setBy has a name made by a function before it is used.
func (o object) setBy(set func(ctx context.Context, c *rueidisson.Client, name string) error) object {
	o.set = set
	return o
}

// locked acquires one lock.
func locked(of func(*rueidisson.Client, terms) (l lock.Locker, shared bool)) func(context.Context, *rueidisson.Client, terms) (held, error) {
	return func(ctx context.Context, c *rueidisson.Client, t terms) (held, error) {
		l, shared := of(c, t)
		h, err := l.Lock(ctx, t.options()...)
		return holding(h, err, []string{l.Name()}, shared)
	}
}

func holding(h *lock.Hold, err error, names []string, shared bool) (held, error) {
	if err != nil {
		return held{}, err
	}
	token, _ := h.Fence()
	return held{names: names, shared: shared, token: token.Number(), fence: token, err: h.Err, free: h.Unlock}, nil
}
