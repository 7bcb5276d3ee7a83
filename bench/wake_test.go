package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// asleep is how long a waiter that has just been refused gets to fall asleep.
const asleep = time.Millisecond

// waker measures the time from a release in this process until the one waiter,
// in another process, owns what it waits for. Both read the same machine's clock.
type waker struct {
	l     locker
	child *redistest.Child
}

func startWaker(t testing.TB, name, addr string) *waker {
	t.Helper()
	key, waiter := "wake-"+name, "waiter"
	if _, is := bareKinds[name]; is {
		waiter = "bare waiter"
	}
	w := &waker{
		l:     connect(t, name, addr).locker(key),
		child: redistest.StartChild(t, waiter, "BENCH_IMPL="+name, "BENCH_ADDR="+addr, "BENCH_KEY="+key),
	}
	w.child.Await("ready")
	_, err := w.once() // the first wait subscribes
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// once is one wake-up.
func (w *waker) once() (time.Duration, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	release, err := w.l(ctx)
	if err != nil {
		return 0, err
	}
	w.child.Send("wait")
	w.child.Await("waiting")
	time.Sleep(asleep)
	began := time.Now()
	if err := release(); err != nil {
		return 0, err
	}
	var owned int64
	_, err = fmt.Sscanf(w.child.Await("owned"), "owned %d", &owned)
	return time.Unix(0, owned).Sub(began), err
}

// latency is the median of the wake-ups that fit into d, in microseconds.
func (w *waker) latency(d time.Duration) (float64, error) {
	var all []float64
	for began := time.Now(); len(all) == 0 || time.Since(began) < d; {
		took, err := w.once()
		if err != nil {
			return 0, err
		}
		all = append(all, float64(took.Nanoseconds())/1e3)
	}
	return median(all), nil
}

// told is an observer that is called when the caller starts to wait.
type told struct{ waiting func() }

var _ rueidisson.Observer = told{}

func (o told) WaitStarted(context.Context, string, string)                     { o.waiting() }
func (o told) WaitEnded(context.Context, string, string, time.Duration, error) {}
func (o told) Acquired(context.Context, string, string, bool)                  {}
func (o told) Released(context.Context, string, string, bool)                  {}
func (o told) Lost(string, string, error)                                      {}
func (o told) Renewed(int, time.Duration, error)                               {}
func (o told) ScriptRan(context.Context, string, time.Duration, int, error)    {}

// waiterOurs is the waiting process, with the library.
func waiterOurs(p *redistest.Parent) {
	c, err := rueidisson.New(connection(env("BENCH_ADDR")),
		rueidisson.WithObserver(told{waiting: func() { p.Say("waiting") }}))
	if err != nil {
		p.Say("%v", err)
		return
	}
	l := kinds[env("BENCH_IMPL")](c, env("BENCH_KEY"))
	p.Say("ready")
	for _, ok := p.Hear(); ok; _, ok = p.Hear() {
		if err := waitOnce(p, l); err != nil {
			p.Say("%v", err)
			return
		}
	}
}

func waitOnce(p *redistest.Parent, l locker) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	release, err := l(ctx)
	owned := time.Now()
	if err != nil {
		return err
	}
	if err := release(); err != nil {
		return err
	}
	p.Say("owned %d", owned.UnixNano())
	return nil
}

// bareKinds are the floors of what others wait for: as little as a waiter can do.
var bareKinds = map[string]func(c rueidis.Client, name string) sleeper{
	"floor":                    func(c rueidis.Client, name string) sleeper { return newBare(c, name) },
	"one permit script":        func(c rueidis.Client, name string) sleeper { return newBarePermit(c, name) },
	"one leased permit script": func(c rueidis.Client, name string) sleeper { return newBareLease(c, name) },
}

// sleeper is a name that is asked for when a message has come.
type sleeper interface {
	subscription() string
	acquire(ctx context.Context) error // errBusy: it is not to be had
	release(ctx context.Context) error
}

// waiterFloor is the waiting process with nothing but a subscription that calls
// the script, on the very goroutine that reads the message.
func waiterFloor(p *redistest.Parent) {
	c, err := rueidis.NewClient(connection(env("BENCH_ADDR")))
	if err != nil {
		p.Say("%v", err)
		return
	}
	b := bareKinds[env("BENCH_IMPL")](c, env("BENCH_KEY"))
	var waiting atomic.Bool
	owned := make(chan time.Time, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dedicated, release := c.Dedicate()
	defer release()
	dedicated.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {
		if waiting.Load() && b.acquire(ctx) == nil {
			waiting.Store(false)
			owned <- time.Now()
		}
	}})
	if err := dedicated.Do(ctx, c.B().Subscribe().Channel(b.subscription()).Build()).Error(); err != nil {
		p.Say("%v", err)
		return
	}
	p.Say("ready")
	for _, ok := p.Hear(); ok; _, ok = p.Hear() {
		waiting.Store(true)
		if err := b.acquire(ctx); err != errBusy {
			p.Say("it was not held: %v", err)
			return
		}
		p.Say("waiting")
		at := <-owned
		if err := b.release(ctx); err != nil {
			p.Say("%v", err)
			return
		}
		p.Say("owned %s", strconv.FormatInt(at.UnixNano(), 10))
	}
}

// BenchmarkWake is the wake-up of the one waiter of another process.
func BenchmarkWake(b *testing.B) {
	s := redistest.Shared(b)
	for _, impl := range []string{"rueidisson", "floor"} {
		b.Run("impl="+impl, func(b *testing.B) {
			w := startWaker(b, impl, s.Addr())
			var all []float64
			s.ResetStats()
			for b.Loop() {
				took, err := w.once()
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, float64(took.Nanoseconds()))
			}
			b.ReportMetric(median(all), "ns-median")
			b.ReportMetric(float64(s.ScriptCalls(b))/float64(b.N), "cmds/op")
		})
	}
}
