package chaos

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// stillPromised is what holds after a server has forgotten something: the fence, and that what is free can be acquired. What else
// oracles find under such a nemesis is counted.
var stillPromised = []string{fencing, progress}

// failoverTakes is for how long there is load in a round with a failover. Servers find after 1 to 1.5 s that a master is gone.
const failoverTakes = 7 * time.Second

// shortPause is the longest pause of a master after which no replica has taken over.
const shortPause = 500 * time.Millisecond

// once does something once in a round, at any time of its first second.
func once(do func(ctx context.Context, f *field)) func(context.Context, *field) {
	return func(ctx context.Context, f *field) {
		if sleep(ctx, f.between(200*time.Millisecond, time.Second)) {
			do(ctx, f)
		}
	}
}

// takenOver waits until another server has taken over from a master.
func (f *field) takenOver(old *redistest.Server) {
	if f.site.cluster != nil {
		f.site.cluster.AwaitMaster(f.t, f.key, old.Addr())
	} else {
		f.site.sentinel.AwaitMaster(f.t, old.Addr())
	}
}

// complete waits until all servers are in step again.
func (f *field) complete() {
	if f.site.cluster != nil {
		f.site.cluster.AwaitComplete(f.t)
	} else {
		f.site.sentinel.AwaitComplete(f.t)
	}
}

// failover has a replica take over from a master that ends, and the master return as its replica.
func (f *field) failover(ctx context.Context, end func(old *redistest.Server)) {
	f.during(ctx, 0, "failover", everyone, func() { end(f.server) }, func() { f.takenOver(f.server) })
	sleep(ctx, f.between(0, time.Second))
	f.server.Restart()
	f.complete()
}

// partition has half of the processes use the replica, which believes it is the master, for longer than a lease.
func (f *field) partition(ctx context.Context) {
	var heal func()
	var sides []*redistest.Proxy
	f.during(ctx, f.between(longest, 2*longest), "partition", everyone, func() {
		master, other, healing := f.site.sentinel.Partition(f.t)
		heal = healing
		for i, line := range f.lines {
			if i%2 == 1 {
				sides = append(sides, line[slices.Index(f.site.servers, master)])
			}
		}
		for _, p := range sides {
			p.Redirect(other.Addr())
		}
		f.record.put(event{Kind: splits})
	}, func() {
		f.record.put(event{Kind: joins})
		for _, p := range sides {
			p.Redirect("")
		}
		heal()
	})
}

// evict has the server evict keys, whichever it chooses, until it is told to stop: what is written is more than it may have.
func (f *field) evict() {
	used, err := f.raw.Do(context.Background(), f.raw.B().Info().Section("memory").Build()).ToString()
	_, used, _ = strings.Cut(used, "used_memory:")
	used, _, _ = strings.Cut(used, "\r")
	bytes, bad := strconv.ParseInt(used, 10, 64)
	if err == nil && bad == nil {
		f.do("CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", strconv.FormatInt(bytes-bytes/50, 10))
	}
}

// minority returns one or two of five servers, and their places among them.
func (f *field) minority() (some []*redistest.Server, at []int) {
	at = f.rnd.Perm(len(f.site.servers))[:1+f.rnd.IntN(2)]
	for _, i := range at {
		some = append(some, f.site.servers[i])
	}
	return some, at
}

func each[T any](all []T, do func(T)) func() {
	return func() {
		for _, x := range all {
			do(x)
		}
	}
}

// ofTopologies are the nemeses of some topologies.
var ofTopologies = []nemesis{
	{name: "paused-master", group: "server", on: []string{onSentinel, onCluster}, holdOn: true, breaks: often(100*time.Millisecond, 400*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, f.between(50*time.Millisecond, shortPause), "paused master", everyone, f.server.Pause, f.server.Resume)
	})},
	// The slot of a name moves for a while, and some of its keys are there before the others. The names of a double barrier are too many
	// for that. A plain topic has no keys, and a message may come twice meanwhile.
	{name: "slot-moves", group: "slot moves", on: []string{onCluster}, spares: []string{"double-barrier", "topic"}, holdOn: true, breaks: often(0, 150*time.Millisecond, func(ctx context.Context, f *field) bool {
		key := f.keys[f.rnd.IntN(len(f.keys))]
		m := f.site.cluster.StartMigration(f.t, key)
		return f.during(ctx, f.between(0, 400*time.Millisecond), "slot move", everyone, func() {
			if f.rnd.IntN(2) == 0 {
				m.Move(f.t, key)
			}
		}, func() { m.Finish(f.t) })
	})},

	{name: "failover", group: "forgetting", on: []string{onSentinel, onCluster}, promises: stillPromised, lasts: failoverTakes, holdOn: true, breaks: once(func(ctx context.Context, f *field) {
		f.failover(ctx, (*redistest.Server).Kill)
	})},
	{name: "forgetful-failover", group: "forgetting", on: []string{onSentinel, onCluster}, promises: stillPromised, lasts: failoverTakes, holdOn: true, breaks: once(func(ctx context.Context, f *field) {
		f.failover(ctx, func(old *redistest.Server) {
			redistest.Forgotten(f.t, old, f.site.replica(f.key), func() { sleep(ctx, f.between(100*time.Millisecond, shortPause)) })
		})
	})},
	{name: "returning-master", group: "forgetting", on: []string{onSentinel, onCluster}, promises: stillPromised, lasts: failoverTakes, holdOn: true, breaks: once(func(ctx context.Context, f *field) {
		f.during(ctx, 0, "returning master", everyone, func() { f.server.Pause(); f.takenOver(f.server) }, f.server.Resume)
		f.complete()
	})},
	{name: "partition", group: "forgetting", on: []string{onSentinel}, promises: stillPromised, lasts: failoverTakes, holdOn: true, breaks: once(func(ctx context.Context, f *field) {
		f.partition(ctx)
	})},
	{name: "partition-with-min-replicas", group: "forgetting", on: []string{onSentinel}, promises: append([]string{aLease}, stillPromised...), lasts: failoverTakes, holdOn: true, breaks: once(func(ctx context.Context, f *field) {
		f.do("CONFIG", "SET", "min-replicas-to-write", "1")
		f.partition(ctx)
		f.do("CONFIG", "SET", "min-replicas-to-write", "0")
	})},

	{name: "restarted-empty", group: "forgetting", on: []string{onSingle}, promises: stillPromised, holdOn: true, breaks: once(func(ctx context.Context, f *field) {
		f.during(ctx, 0, "restart without data", everyone, f.server.Restart, func() {})
	})},
	{name: "older-snapshot", group: "forgetting", on: []string{onSingle}, promises: stillPromised, holdOn: true, breaks: once(func(ctx context.Context, f *field) {
		f.do("SAVE")
		sleep(ctx, f.between(50*time.Millisecond, time.Second))
		f.during(ctx, 0, "restart with an older snapshot", everyone, f.server.Restart, func() {})
	})},
	{name: "flushed", group: "forgetting", on: []string{onSingle, onSentinel, onCluster}, promises: stillPromised, holdOn: true, breaks: once(func(ctx context.Context, f *field) {
		f.during(ctx, 0, "FLUSHALL", everyone, func() { f.do("FLUSHALL") }, func() {})
	})},
	{name: "eviction", group: "forgetting", on: []string{onSingle}, promises: stillPromised, holdOn: true, breaks: often(300*time.Millisecond, 600*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, f.between(10*time.Millisecond, 200*time.Millisecond), "eviction", everyone, f.evict,
			func() { f.do("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "0") })
	})},
	// The clock is never set back: tokens and ends would be ahead of it.
	{name: "clock-forward", group: "forgetting", on: []string{onSingle}, clocked: true, promises: stillPromised, holdOn: true, breaks: often(300*time.Millisecond, 900*time.Millisecond, func(ctx context.Context, f *field) bool {
		f.site.ahead += f.between(shortest, 2*longest)
		return f.during(ctx, 0, "clock forward", everyone, func() { f.site.clock.Set(f.site.ahead) }, func() {})
	})},

	{name: "minority-dead", group: "minority", on: []string{onFive}, holdOn: true, breaks: often(100*time.Millisecond, 400*time.Millisecond, func(ctx context.Context, f *field) bool {
		some, _ := f.minority()
		return f.during(ctx, f.between(50*time.Millisecond, 2*watchdog), "minority dead", everyone, each(some, (*redistest.Server).Kill), each(some, (*redistest.Server).Restart))
	})},
	{name: "minority-paused", group: "minority", on: []string{onFive}, holdOn: true, breaks: often(100*time.Millisecond, 400*time.Millisecond, func(ctx context.Context, f *field) bool {
		some, _ := f.minority()
		return f.during(ctx, f.between(50*time.Millisecond, 2*watchdog), "minority paused", everyone, each(some, (*redistest.Server).Pause), each(some, (*redistest.Server).Resume))
	})},
	{name: "minority-cut-off", group: "minority", on: []string{onFive}, holdOn: true, breaks: often(100*time.Millisecond, 400*time.Millisecond, func(ctx context.Context, f *field) bool {
		_, at := f.minority()
		var before []*redistest.Proxy
		for _, line := range f.lines {
			for _, i := range at {
				before = append(before, line[i])
			}
		}
		return f.during(ctx, f.between(50*time.Millisecond, 2*watchdog), "minority cut off", everyone, each(before, (*redistest.Proxy).BlackHole), each(before, (*redistest.Proxy).Restore))
	})},
	{name: "minority-restarted-empty", group: "minority", on: []string{onFive}, holdOn: true, breaks: often(200*time.Millisecond, 1500*time.Millisecond, func(ctx context.Context, f *field) bool {
		some, _ := f.minority()
		return f.during(ctx, 0, "minority restarted empty", everyone, each(some, (*redistest.Server).Restart), func() {})
	})},
	{name: "flushed-member", group: "forgetting", on: []string{onFive}, promises: stillPromised, holdOn: true, breaks: often(100*time.Millisecond, 400*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, 0, "FLUSHALL of a member", everyone, func() { f.do("FLUSHALL") }, func() {})
	})},
}
