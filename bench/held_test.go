package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis/rueidislock"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

const (
	manyHolds     = 10_000
	shortWatchdog = 3 * time.Second
	renewalPeriod = shortWatchdog / 3
)

// footprint is what a process takes, after a garbage collection.
type footprint struct {
	rss, heap  int64 // bytes
	goroutines int
}

func weigh() footprint {
	debug.FreeOSMemory() // collects, too
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{residentBytes(), int64(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()}
}

// residentBytes is the process' resident memory; 0 where the system has no /proc.
func residentBytes() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 10, 64)
	return kb << 10
}

func (f footprint) String() string { return fmt.Sprintf("%d %d %d", f.rss, f.heap, f.goroutines) }

// holder is a process that holds many locks of its own for as long as its
// parent listens.
func holder(p *redistest.Parent) {
	made, err := holders[env("BENCH_IMPL")](env("BENCH_ADDR"))
	if err == nil {
		err = acquireMany(made, 64) // opens connections and loads scripts: that is not the holds' doing
	}
	if err != nil {
		p.Say("%v", err)
		return
	}
	p.Say("idle %v", weigh())
	p.Hear()
	if err := acquireMany(made, manyHolds); err != nil {
		p.Say("%v", err)
		return
	}
	p.Say("held %v", weigh())
	for _, ok := p.Hear(); ok; _, ok = p.Hear() {
		p.Say("held %v", weigh())
	}
}

// holders make implementations whose leases are short.
var holders = map[string]func(addr string) (impl, error){
	"rueidisson": func(addr string) (impl, error) {
		o := connection(addr)
		c, err := rueidisson.New(o, rueidisson.WithWatchdogTimeout(shortWatchdog))
		return ours{c}, err
	},
	"rueidislock": func(addr string) (impl, error) {
		l, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: connection(addr), KeyMajority: 1, NoLoopTracking: true,
			KeyValidity: shortWatchdog, ExtendInterval: renewalPeriod,
		})
		return peer{l}, err
	},
}

// acquireMany takes n locks and leaves them held, but the few of the warm-up.
func acquireMany(i impl, n int) error {
	const hands = 64
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var group sync.WaitGroup
	errs := make(chan error, hands)
	for hand := range hands {
		group.Go(func() {
			for k := hand; k < n; k += hands {
				release, err := i.locker("held-" + strconv.Itoa(k))(ctx)
				if err == nil && n <= hands {
					err = release()
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	return <-errs
}

// household is a process with many holds, seen from its parent.
type household struct {
	s          *redistest.Server
	child      *redistest.Child
	idle, held footprint
}

func startHousehold(t testing.TB, impl string, s *redistest.Server) *household {
	t.Helper()
	h := &household{s: s, child: redistest.StartChild(t, "holder", "BENCH_IMPL="+impl, "BENCH_ADDR="+s.Addr())}
	var err error
	if h.idle, err = parseFootprint(h.child.Await("idle")); err != nil {
		t.Fatal(err)
	}
	h.child.Send("hold")
	if h.held, err = parseFootprint(h.child.Await("held")); err != nil {
		t.Fatal(err)
	}
	return h
}

func parseFootprint(line string) (f footprint, err error) {
	var word string
	_, err = fmt.Sscan(line, &word, &f.rss, &f.heap, &f.goroutines)
	return f, err
}

// megabytes is how much the resident memory is above idle, at its highest.
func (h *household) megabytes() float64 { return float64(h.held.rss-h.idle.rss) / (1 << 20) }

func (h *household) heapMegabytes() float64 { return float64(h.held.heap-h.idle.heap) / (1 << 20) }

// renewals is the script calls per hold in a third of a lease, over d.
func (h *household) renewals(t testing.TB, d time.Duration) float64 {
	h.s.ResetStats()
	time.Sleep(d)
	return float64(h.s.ScriptCalls(t)) / manyHolds * float64(renewalPeriod) / float64(d)
}

// again weighs the household while it renews.
func (h *household) again() error {
	h.child.Send("again")
	now, err := parseFootprint(h.child.Await("held"))
	h.held.rss, h.held.heap = max(h.held.rss, now.rss), max(h.held.heap, now.heap)
	h.held.goroutines = max(h.held.goroutines, now.goroutines)
	return err
}

// BenchmarkHeld is 10,000 holds on watchdog. An op is one lease.
func BenchmarkHeld(b *testing.B) {
	for _, impl := range []string{"rueidisson", "rueidislock"} {
		b.Run(fmt.Sprintf("impl=%s/holds=%d", impl, manyHolds), func(b *testing.B) {
			h := startHousehold(b, impl, redistest.Start(b))
			var all []float64
			for b.Loop() {
				all = append(all, h.renewals(b, shortWatchdog))
			}
			if err := h.again(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(median(all), "scripts/hold/period")
			b.ReportMetric(h.megabytes(), "rss-MB")
			b.ReportMetric(h.heapMegabytes(), "heap-MB")
			b.ReportMetric(float64(h.held.goroutines), "goroutines")
		})
	}
}
