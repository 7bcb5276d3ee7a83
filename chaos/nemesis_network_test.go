package chaos

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

var networkNemeses = []nemesis{
	{name: "lost-replies", group: "network", breaks: often(10*time.Millisecond, 80*time.Millisecond, func(ctx context.Context, f *field) bool {
		var opts []redistest.DropOption
		if f.rnd.IntN(2) == 0 {
			opts = append(opts, redistest.Silent())
		}
		p, proc := f.one()
		var d *redistest.Drop
		return f.during(ctx, f.between(20*time.Millisecond, 400*time.Millisecond), "lost replies", proc, func() {
			d = p.DropReply(redistest.AnyScript(), 1+f.rnd.IntN(4), opts...)
		}, func() { d.Cancel(); p.Restore() })
	})},
	{name: "late-requests", group: "network", holdOn: true, breaks: often(0, 30*time.Millisecond, func(ctx context.Context, f *field) bool {
		p, proc := f.one()
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
		return f.during(ctx, f.between(shortest, 12*shortest), "late request", proc, func() {}, func() {
			f.delivers(h.Command())
			h.Release()
		})
	})},
	{name: "black-hole", group: "network", breaks: often(50*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		p, proc := f.one()
		some := func(redistest.Conn) bool { return f.rnd.IntN(2) == 0 }
		how := []func(){
			p.BlackHole,
			func() { p.BlackHoleConns(some) },
			func() { p.BlackHoleRequests(some) },
			func() { p.BlackHoleReplies(some) },
		}[f.rnd.IntN(4)]
		return f.during(ctx, f.between(50*time.Millisecond, longest), "black hole", proc, how, p.Restore)
	})},
	// A request or a reply is lost now and then, and what follows on its connection: one way, while the other one works.
	{name: "loss", group: "network", breaks: often(50*time.Millisecond, 200*time.Millisecond, func(ctx context.Context, f *field) bool {
		p, proc := f.one()
		share := 0.002 + 0.05*f.rnd.Float64()
		lose := func() { p.Lose(share, 0) }
		if f.rnd.IntN(2) == 0 {
			lose = func() { p.Lose(0, share) }
		}
		return f.during(ctx, f.between(100*time.Millisecond, longest), "loss", proc, lose, p.Restore)
	})},
	{name: "cut", group: "network", breaks: often(20*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		p, proc := f.one()
		return f.during(ctx, 0, "cut", proc, p.CutAll, func() {})
	})},
	{name: "refused-dial", group: "network", breaks: often(50*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		p, proc := f.one()
		return f.during(ctx, f.between(50*time.Millisecond, time.Second), "refused dial", proc, func() { p.Refuse(); p.CutAll() }, p.Accept)
	})},
	{name: "delay", group: "network", breaks: often(50*time.Millisecond, 200*time.Millisecond, func(ctx context.Context, f *field) bool {
		p, proc := f.one()
		return f.during(ctx, f.between(100*time.Millisecond, time.Second), "delay", proc, func() {
			p.Delay(f.between(0, 60*time.Millisecond), f.between(0, 60*time.Millisecond))
		}, func() { p.Delay(0, 0) })
	})},
	{name: "jitter", group: "network", breaks: throughout("jitter", func(f *field) func() {
		for _, p := range f.proxies {
			p.Jitter(f.between(0, 10*time.Millisecond), f.between(0, 40*time.Millisecond))
		}
		return f.each(func(p *redistest.Proxy) { p.Jitter(0, 0) })
	})},
	// One process is a millisecond away, one is twenty, and the others are next to the server.
	{name: "distance", group: "network", breaks: throughout("distance", func(f *field) func() {
		order := f.rnd.Perm(len(f.users))
		for i, d := range []time.Duration{500 * time.Microsecond, 10 * time.Millisecond} {
			each(f.of(order[i]+1), func(p *redistest.Proxy) { p.Delay(d, d) })()
		}
		return f.each(func(p *redistest.Proxy) { p.Delay(0, 0) })
	})},
	{name: "bandwidth", group: "network", breaks: throughout("bandwidth", func(f *field) func() {
		rate := []int{4_000_000, 20_000_000 / 8}[f.rnd.IntN(2)] // 4 MB/s, 20 Mbit/s
		f.each(func(p *redistest.Proxy) { p.Bandwidth(rate) })()
		return f.each(func(p *redistest.Proxy) { p.Bandwidth(0) })
	})},
	// The server gets each script twice that may be sent again. A refused take of a semaphore is not remembered, so its second run may
	// take permits that nobody gets.
	{name: "twice", group: "network", holdOn: true, spares: []string{"semaphore", "sizes"}, breaks: throughout("twice", func(f *field) func() {
		var rules []*redistest.Rule
		f.each(func(p *redistest.Proxy) { rules = append(rules, p.Twice(p.ScriptContaining("-- Replay   safe:"))) })()
		return func() {
			for _, r := range rules {
				r.Cancel()
			}
		}
	})},
	// A reply that is later than the margin of a lease and earlier than the bound of a send, and then silence: the hold ends by
	// its lease alone.
	{name: "late-replies-then-silence", group: "network", holdOn: true, breaks: often(20*time.Millisecond, 100*time.Millisecond, func(ctx context.Context, f *field) bool {
		p, proc := f.one()
		goes := f.during(ctx, f.between(300*time.Millisecond, 600*time.Millisecond), "late replies", proc, func() { p.Delay(0, f.between(100*time.Millisecond, 240*time.Millisecond)) }, func() {})
		return f.during(ctx, f.between(watchdog/2, longest), "silence", proc, p.BlackHole, func() { p.Delay(0, 0); p.Restore() }) && goes
	})},
	// One process hears nothing for longer than its waiters bear it.
	{name: "silent-network", group: "network", on: []string{onSingle}, lasts: outage + 2*time.Second, patient: true, breaks: func(ctx context.Context, f *field) {
		p, proc := f.one()
		if sleep(ctx, f.between(300*time.Millisecond, time.Second)) {
			f.during(ctx, outage, silent, proc, p.BlackHole, p.Restore)
		}
		<-ctx.Done()
	}},
	// A few faults, and then none for so long that each worker has to get on.
	{name: "faults-then-none", group: "network", on: []string{onSingle}, lasts: onward + 3*time.Second, breaks: func(ctx context.Context, f *field) {
		faults, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
		defer cancel()
		often(20*time.Millisecond, 200*time.Millisecond, func(ctx context.Context, f *field) bool {
			p, proc := f.one()
			how := []func(){p.BlackHole, p.CutAll, func() { p.Lose(0.1, 0.1) }}[f.rnd.IntN(3)]
			return f.during(ctx, f.between(20*time.Millisecond, 400*time.Millisecond), "fault", proc, how, p.Restore)
		})(faults, f)
		<-ctx.Done()
	}},
}

// outage is longer than a waiter bears a server that is silent.
var outage = toldWithin + 1500*time.Millisecond

// silent is the fault of a server that does not answer, of which waiters are told.
const silent = "silence of the server"

// each does something to all proxies.
func (f *field) each(do func(*redistest.Proxy)) func() { return each(f.proxies, do) }

// delivers notes that a request reaches the server late, for each name of the round that it is about.
func (f *field) delivers(cmd []string) {
	for _, name := range f.names {
		if isAbout(cmd, name) {
			f.record.put(event{Kind: delivers, Name: name})
		}
	}
}
