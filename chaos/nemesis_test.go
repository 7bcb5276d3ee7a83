package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// nemesis breaks something for the time of a round, and mends it at its end.
type nemesis struct {
	name   string
	group  string
	holdOn bool // holders keep what they have beyond the lease: else what it breaks is seldom seen

	on       []string      // topologies; nil: those on which no server is replaced because of it
	clocked  bool          // it sets the server's clock
	promises []string      // what is judged; nil: everything. What else oracles find is counted
	lasts    time.Duration // for how long a round has load at least

	breaks func(ctx context.Context, f *field)
}

// field holds what a nemesis may break.
type field struct {
	rnd     *rand.Rand
	t       testing.TB
	site    *site
	keys    []string             // names of the round, as servers have them
	key     string               // one of them
	server  *redistest.Server    // a master of it
	raw     rueidis.Client       // of the server, on a connection of its own
	proxies []*redistest.Proxy   // before servers in use
	lines   [][]*redistest.Proxy // of each process: before each server
	users   []*redistest.Child
	record  *recorder
	kill    func(i int) // kills a user, and starts another in its place when the round is over
}

// sleep returns false when the round is over.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *field) proxy() *redistest.Proxy { return f.proxies[f.rnd.IntN(len(f.proxies))] }

func (f *field) between(least, most time.Duration) time.Duration {
	return least + time.Duration(f.rnd.Int64N(int64(most-least)+1))
}

// during breaks something for a time, and mends it.
func (f *field) during(ctx context.Context, d time.Duration, what string, begin, end func()) bool {
	f.record.put(event{Kind: breaks, Outcome: what})
	begin()
	goes := sleep(ctx, d)
	end()
	f.record.put(event{Kind: heals, Outcome: what})
	return goes
}

// often does something again and again, with pauses.
func often(least, most time.Duration, do func(ctx context.Context, f *field) bool) func(context.Context, *field) {
	return func(ctx context.Context, f *field) {
		for sleep(ctx, f.between(least, most)) && do(ctx, f) {
		}
	}
}

// do sends a command, again if its answer does not come: what a nemesis has set has to be taken back.
func (f *field) do(words ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), redistest.Soon)
	defer cancel()
	for f.raw.Do(ctx, f.raw.B().Arbitrary(words...).Build()).Error() != nil && sleep(ctx, 10*time.Millisecond) {
	}
}

var nemeses = slices.Concat(ofAll, ofTopologies)

// ofAll are the nemeses that need no topology of their own.
var ofAll = []nemesis{
	{name: "none", group: "none", breaks: func(ctx context.Context, _ *field) { <-ctx.Done() }},

	{name: "lost-replies", group: "network", breaks: often(10*time.Millisecond, 80*time.Millisecond, func(ctx context.Context, f *field) bool {
		var opts []redistest.DropOption
		if f.rnd.IntN(2) == 0 {
			opts = append(opts, redistest.Silent())
		}
		p := f.proxy()
		var d *redistest.Drop
		return f.during(ctx, f.between(20*time.Millisecond, 400*time.Millisecond), "lost replies", func() {
			d = p.DropReply(redistest.AnyScript(), 1+f.rnd.IntN(4), opts...)
		}, func() { d.Cancel(); p.Restore() })
	})},
	{name: "late-requests", group: "network", holdOn: true, breaks: often(0, 30*time.Millisecond, func(ctx context.Context, f *field) bool {
		p := f.proxy()
		match := redistest.AnyScript()
		if f.rnd.IntN(2) == 0 {
			match = p.ScriptContaining("'hdel'") // a release
		}
		h := p.HoldRequest(match)
		caught, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		select {
		case <-h.Caught():
		case <-caught.Done():
			h.Release()
			return ctx.Err() == nil
		}
		goes := sleep(ctx, f.between(shortest, 12*shortest))
		f.record.put(event{Kind: delivers})
		h.Release()
		return goes
	})},
	{name: "black-hole", group: "network", breaks: often(50*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		p := f.proxy()
		some := func(redistest.Conn) bool { return f.rnd.IntN(2) == 0 }
		how := []func(){
			p.BlackHole,
			func() { p.BlackHoleConns(some) },
			func() { p.BlackHoleRequests(some) },
			func() { p.BlackHoleReplies(some) },
		}[f.rnd.IntN(4)]
		return f.during(ctx, f.between(50*time.Millisecond, longest), "black hole", how, p.Restore)
	})},
	{name: "cut", group: "network", breaks: often(20*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, 0, "cut", f.proxy().CutAll, func() {})
	})},
	{name: "refused-dial", group: "network", breaks: often(50*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		p := f.proxy()
		return f.during(ctx, f.between(50*time.Millisecond, time.Second), "refused dial", func() { p.Refuse(); p.CutAll() }, p.Accept)
	})},
	{name: "delay", group: "network", breaks: often(50*time.Millisecond, 200*time.Millisecond, func(ctx context.Context, f *field) bool {
		p := f.proxy()
		return f.during(ctx, f.between(100*time.Millisecond, time.Second), "delay", func() {
			p.Delay(f.between(0, 60*time.Millisecond), f.between(0, 60*time.Millisecond))
		}, func() { p.Delay(0, 0) })
	})},
	// A reply that is later than the margin of a lease and earlier than the bound of a send, and then silence: the hold ends by
	// its lease alone.
	{name: "late-replies-then-silence", group: "network", holdOn: true, breaks: often(20*time.Millisecond, 100*time.Millisecond, func(ctx context.Context, f *field) bool {
		p := f.proxy()
		goes := f.during(ctx, f.between(300*time.Millisecond, 600*time.Millisecond), "late replies", func() { p.Delay(0, f.between(100*time.Millisecond, 240*time.Millisecond)) }, func() {})
		return f.during(ctx, f.between(watchdog/2, longest), "silence", p.BlackHole, func() { p.Delay(0, 0); p.Restore() }) && goes
	})},

	{name: "stopped", group: "clients", holdOn: true, breaks: often(20*time.Millisecond, 200*time.Millisecond, func(ctx context.Context, f *field) bool {
		u := f.users[f.rnd.IntN(len(f.users))]
		return f.during(ctx, f.between(shortest, 2*watchdog), "stopped process", u.Stop, u.Cont)
	})},
	{name: "killed", group: "clients", holdOn: true, breaks: func(ctx context.Context, f *field) {
		for _, i := range f.rnd.Perm(len(f.users))[:2] {
			if sleep(ctx, f.between(100*time.Millisecond, 600*time.Millisecond)) {
				f.record.put(event{Kind: breaks, Outcome: "killed process", Value: int64(i + 1)})
				f.kill(i)
			}
		}
		<-ctx.Done()
	}},

	{name: "out-of-memory", group: "refusals", holdOn: true, breaks: often(20*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, f.between(50*time.Millisecond, watchdog), "OOM", func() { f.do("CONFIG", "SET", "maxmemory", "1") },
			func() { f.do("CONFIG", "SET", "maxmemory", "0") })
	})},
	{name: "no-replicas", group: "refusals", holdOn: true, breaks: often(20*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, f.between(50*time.Millisecond, watchdog), "NOREPLICAS", func() { f.do("CONFIG", "SET", "min-replicas-to-write", "9") },
			func() { f.do("CONFIG", "SET", "min-replicas-to-write", "0") })
	})},
	{name: "no-permission", group: "refusals", breaks: often(50*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, f.between(20*time.Millisecond, 300*time.Millisecond), "NOPERM", func() { f.do("ACL", "SETUSER", "default", "-eval", "-evalsha") },
			func() { f.do("ACL", "SETUSER", "default", "+eval", "+evalsha") })
	})},
	{name: "forgotten-scripts", group: "refusals", breaks: often(5*time.Millisecond, 60*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, 0, "SCRIPT FLUSH", f.server.FlushScripts, func() {})
	})},
	{name: "killed-connections", group: "refusals", breaks: often(20*time.Millisecond, 200*time.Millisecond, func(ctx context.Context, f *field) bool {
		kind := []string{"normal", "pubsub"}[f.rnd.IntN(2)]
		return f.during(ctx, 0, "CLIENT KILL", func() { f.do("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes") }, func() {})
	})},

	{name: "stopped-server", group: "server", on: []string{onSingle, onFive}, holdOn: true, breaks: often(100*time.Millisecond, 400*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, f.between(50*time.Millisecond, watchdog), "stopped server", f.server.Pause, f.server.Resume)
	})},
}
