package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

const (
	crowdProcesses = 4
	crowdWaiters   = 250 // in each
)

// kinds are what the goroutines of our processes wait for.
var kinds = map[string]func(c *rueidisson.Client, name string) locker{
	"rueidisson":        func(c *rueidisson.Client, name string) locker { return ours{c}.locker(name) },
	"one permit":        func(c *rueidisson.Client, name string) locker { return (&permits{c, 1, true}).locker(name) },
	"one leased permit": func(c *rueidisson.Client, name string) locker { return leasedPermits{c, 1}.locker(name) },
}

// crowd is something that is held, for which a thousand goroutines of four
// processes wait.
type crowd struct {
	s        *redistest.Server
	children []*redistest.Child
	pings    []float64
	commands []float64
}

func startCrowd(t testing.TB, kind string, s *redistest.Server) *crowd {
	t.Helper()
	c, err := rueidisson.New(connection(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	release, err := kinds[kind](c, "crowd")(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	w := &crowd{s: s}
	for range crowdProcesses {
		w.children = append(w.children, redistest.StartChild(t, "crowd", "BENCH_IMPL="+kind, "BENCH_ADDR="+s.Addr(), "BENCH_KEY=crowd"))
	}
	t.Cleanup(func() {
		if err := errors.Join(release(), c.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	for _, child := range w.children {
		child.Await("waiting")
	}
	w.settle(t)
	return w
}

// settle waits until nobody asks any more: each process has
// subscribed and has been refused once more.
func (w *crowd) settle(t testing.TB) {
	for range 100 {
		w.s.ResetStats()
		time.Sleep(100 * time.Millisecond)
		if w.s.CommandCalls(t, "subscribe") == 0 && w.s.ScriptCalls(t) == 0 {
			return
		}
	}
	t.Fatal("the waiters do not come to rest")
}

// calls is the script calls per second over d while nothing is released.
func (w *crowd) calls(t testing.TB, d time.Duration) float64 {
	w.s.ResetStats()
	time.Sleep(d)
	scripts, pings := w.s.ScriptCalls(t), w.s.CommandCalls(t, "ping")
	all := w.s.CommandCalls(t)
	w.pings = append(w.pings, float64(pings)/d.Seconds())
	w.commands = append(w.commands, float64(all)/d.Seconds())
	return float64(scripts) / d.Seconds()
}

func (w *crowd) note() string {
	return fmt.Sprintf("in addition %.1f PING/s of keep-alives; all commands, what scripts call and INFO included: %.1f/s",
		median(w.pings), median(w.commands))
}

// crowded is a process of a crowd. It says so once all of it waits.
func crowded(p *redistest.Parent) {
	var waiting atomic.Int64
	c, err := rueidisson.New(connection(env("BENCH_ADDR")), rueidisson.WithObserver(told{waiting: func() {
		if waiting.Add(1) == crowdWaiters {
			p.Say("waiting")
		}
	}}))
	if err != nil {
		p.Say("%v", err)
		return
	}
	l := kinds[env("BENCH_IMPL")](c, env("BENCH_KEY"))
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range crowdWaiters {
		group.Go(func() {
			if release, err := l(ctx); err == nil {
				_ = release() // the benchmark is over
			}
		})
	}
	p.Hear() // until the parent is done
	cancel()
	group.Wait()
}

// BenchmarkWaiting is 1,000 waiters in 4 processes while nothing is released.
// An op is 5 s of it.
func BenchmarkWaiting(b *testing.B) {
	s := redistest.Start(b)
	w := startCrowd(b, "rueidisson", s)
	var all []float64
	for b.Loop() {
		all = append(all, w.calls(b, 5*time.Second))
	}
	b.ReportMetric(median(all), "calls/s")
	b.ReportMetric(median(w.pings), "pings/s")
}
