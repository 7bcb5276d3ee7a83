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
	lasts    time.Duration // a round of it lasts so long; short runs leave it out, unless -only names it
	patient  bool          // callers wait until the round is over
	spares   []string      // objects that have no promise for it, as docs/promises.md says, or of which it breaks nothing

	breaks func(ctx context.Context, f *field)
}

// concerns reports whether the nemesis breaks something of an object, and the object has a promise for that.
func (n nemesis) concerns(o object) bool { return !slices.Contains(n.spares, o.name) }

// sparesServer reports whether the server goes on as always: only connections and processes are disturbed.
func (n nemesis) sparesServer() bool {
	return slices.Contains([]string{"none", "network", "clients"}, n.group)
}

// quick reports whether a round of it is as short as the caller wants.
func (n nemesis) quick() bool { return n.lasts == 0 }

// field holds what a nemesis may break.
type field struct {
	rnd     *rand.Rand
	t       testing.TB
	site    *site
	names   []string             // of the round
	keys    []string             // those names, as servers have them
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

// one returns a proxy of a process, and the number of the process.
func (f *field) one() (p *redistest.Proxy, proc int) {
	i := f.rnd.IntN(len(f.proxies))
	return f.proxies[i], i*len(f.users)/len(f.proxies) + 1
}

// of returns the proxies of a process.
func (f *field) of(proc int) []*redistest.Proxy {
	n := len(f.proxies) / len(f.users)
	return f.proxies[(proc-1)*n:][:n]
}

func (f *field) between(least, most time.Duration) time.Duration {
	return least + time.Duration(f.rnd.Int64N(int64(most-least)+1))
}

// everyone is in the place of a process when a fault concerns all.
const everyone = 0

// during breaks something for a time, and mends it. It concerns one process, or everyone.
func (f *field) during(ctx context.Context, d time.Duration, what string, proc int, begin, end func()) bool {
	f.record.put(event{Kind: breaks, Outcome: what, Of: proc})
	begin()
	f.record.put(event{Kind: broken, Outcome: what, Of: proc})
	goes := sleep(ctx, d)
	end()
	f.record.put(event{Kind: heals, Outcome: what, Of: proc})
	return goes
}

// throughout breaks something for the whole round. It concerns no process in the sense of a fault: all goes on, only worse.
func throughout(what string, begin func(f *field) (end func())) func(context.Context, *field) {
	return func(ctx context.Context, f *field) {
		f.record.put(event{Kind: breaks, Outcome: what, Of: nobody})
		defer begin(f)()
		<-ctx.Done()
	}
}

// nobody is in the place of a process when a fault delays what each does, and stops none.
const nobody = -1

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
var ofAll = slices.Concat([]nemesis{
	{name: "none", group: "none", breaks: func(ctx context.Context, _ *field) { <-ctx.Done() }},
}, networkNemeses, clientNemeses, refusalNemeses, serverNemeses)

var clientNemeses = []nemesis{
	{name: "stopped", group: "clients", holdOn: true, breaks: often(20*time.Millisecond, 200*time.Millisecond, func(ctx context.Context, f *field) bool {
		i := f.rnd.IntN(len(f.users))
		return f.during(ctx, f.between(shortest, 2*watchdog), "stopped process", i+1, f.users[i].Stop, f.users[i].Cont)
	})},
	{name: "killed", group: "clients", holdOn: true, breaks: func(ctx context.Context, f *field) {
		for _, i := range f.rnd.Perm(len(f.users))[:2] {
			if sleep(ctx, f.between(100*time.Millisecond, 600*time.Millisecond)) {
				f.record.put(event{Kind: breaks, Outcome: "killed process", Value: int64(i + 1), Of: i + 1})
				f.kill(i)
			}
		}
		<-ctx.Done()
	}},
}
