package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// fleet is several processes whose goroutines compete for one key.
type fleet struct {
	t        testing.TB
	children []*redistest.Child
	smallest []float64 // share of the slowest process, as a part of its fair one, for each run
	guards   *guarded  // what the key guards
	changes  int64     // of all processes
}

// lost returns how many changes of what the key guards are lost so far.
func (f *fleet) lost() int64 { return f.guards.lost(f.changes) }

func startFleet(t testing.TB, impl, addr string, processes, goroutines int, hold time.Duration) *fleet {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guarded")
	guards, err := newGuarded(path)
	require.NoError(t, err)
	f := &fleet{t: t, guards: guards}
	for range processes {
		f.children = append(f.children, redistest.StartChild(t, "contender",
			"BENCH_IMPL="+impl, "BENCH_ADDR="+addr, "BENCH_KEY=fleet-"+impl,
			"BENCH_GOROUTINES="+strconv.Itoa(goroutines), "BENCH_HOLD="+hold.String(), "BENCH_GUARDED="+path))
	}
	for _, c := range f.children {
		c.Await("ready")
	}
	return f
}

// rate has all processes run for d and returns the acquisitions per second.
func (f *fleet) rate(d time.Duration) (perSecond float64, err error) {
	for _, c := range f.children {
		c.Send("%v", d)
	}
	var sum, least int64
	for i, c := range f.children {
		var n, changes int64
		if _, err := fmt.Sscanf(c.Await("pairs"), "pairs %d, changes %d", &n, &changes); err != nil {
			return 0, err
		}
		sum += n
		f.changes += changes
		if i == 0 || n < least {
			least = n
		}
	}
	f.smallest = append(f.smallest, float64(least)*float64(len(f.children))/float64(max(1, sum)))
	return float64(sum) / d.Seconds(), nil
}

// contender is a process of a fleet. It runs for each duration that it hears.
func contender(p *redistest.Parent) {
	i, err := impls[env("BENCH_IMPL")](env("BENCH_ADDR"))
	if err != nil {
		p.Say("%v", err)
		return
	}
	guards, err := newGuarded(env("BENCH_GUARDED"))
	if err != nil {
		p.Say("%v", err)
		return
	}
	w := onOneKey(i, env("BENCH_KEY"), number("BENCH_GOROUTINES")).guarding(guards)
	w.hold, _ = time.ParseDuration(env("BENCH_HOLD"))
	p.Say("ready %s", env("BENCH_IMPL"))
	for line, ok := p.Hear(); ok; line, ok = p.Hear() {
		d, _ := time.ParseDuration(line)
		pairs, err := window(w, d)
		if err != nil {
			p.Say("%v", err)
			return
		}
		p.Say("pairs %d, changes %d", pairs, guards.changes.Swap(0))
	}
}

// window runs w for d and then ends the waits: who waits then is not counted.
func window(w *workers, d time.Duration) (pairs int64, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	timer := time.AfterFunc(d, cancel)
	defer timer.Stop()
	w.ctx = ctx
	return w.runUntil(func() bool { return ctx.Err() != nil })
}

// shares describes the shares of the slowest process.
func (f *fleet) shares() string {
	return fmt.Sprintf("%.2f (worst slice %.2f)", median(f.smallest), slices.Min(f.smallest))
}

// BenchmarkProcesses is a hot key over four processes. An op is one window.
func BenchmarkProcesses(b *testing.B) {
	s := redistest.Shared(b)
	for _, impl := range []string{"rueidisson", "rueidislock"} {
		for _, hold := range []time.Duration{0, time.Millisecond} {
			b.Run(fmt.Sprintf("impl=%s/procs=4/goroutines=8/hold=%v", impl, hold), func(b *testing.B) {
				f := startFleet(b, impl, s.Addr(), 4, 8, hold)
				var rates []float64
				s.ResetStats()
				for b.Loop() {
					perSecond, err := f.rate(3 * time.Second)
					if err != nil {
						b.Fatal(err)
					}
					rates = append(rates, perSecond)
				}
				b.ReportMetric(median(rates), "acquisitions/s")
				b.ReportMetric(median(f.smallest), "smallest-share")
				b.ReportMetric(float64(s.ScriptCalls(b))/(median(rates)*3*float64(b.N)), "cmds/op")
			})
		}
	}
}
