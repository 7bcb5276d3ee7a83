package bench

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/latch"
)

// latchRows: many count down, very many wait, and while nothing happens they cost
// nothing.
var latchRows = []row{
	{"latch, CountDown, 256 goroutines", "calls/s", goal{atLeast: 3.5, why: "the base is between 1.8e5 and 2.8e5 a second; the client's processor decides, and has a row"}, besideScript("latch", "count down script", 256, asIs)},
	{"latch, CountDown, 256 goroutines, CPU of the client", "us/call", goal{atMost: 1.1}, timeOfClient("latch", 256)},
	{"latch, 10,000 waiters in 4 processes, until the last has passed", "ms", goal{atMost: 100}, latchOpening(func(o opening) float64 { return o.took })},
	{"latch, 10,000 waiters in 4 processes, looks when it opens", "calls", goal{atMost: 4}, latchOpening(func(o opening) float64 { return o.looks })},
	{"latch, 1,000 waiters in 4 processes, nothing happens", "calls/s", goal{atMost: 10}, idleWaiters("latch")},
	{"barrier, 1,000 parties in 4 processes, nothing happens", "calls/s", goal{atMost: 10}, idleWaiters("barrier")},
}

// latches are latches of one client that never open.
type latches struct{ c *rueidisson.Client }

func newLatches(addr string) (impl, error) {
	c, err := rueidisson.New(connection(addr))
	return latches{c}, err
}

func (l latches) locker(name string) locker {
	of := l.c.Latch(name)
	if _, err := of.TrySetCount(context.Background(), math.MaxInt32); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return func(ctx context.Context) (unlock, error) {
		_, err := of.CountDown(ctx)
		return done, err
	}
}

func (l latches) close() { _ = l.c.Close(context.Background()) } // nothing is held

// KEYS[1] count; ARGV[1] channel. Returns what is left.
var downFloor = rueidis.NewLuaScript(`
local left = redis.call('decr', KEYS[1])
if left <= 0 then
	redis.call('del', KEYS[1])
	if left == 0 then
		redis.call('publish', ARGV[1], '0')
	end
end
return left`)

// downScripts is the bare script, once for each count down.
type downScripts struct{ c rueidis.Client }

func newDownScripts(addr string) (impl, error) {
	c, err := rueidis.NewClient(connection(addr))
	return downScripts{c}, err
}

func (d downScripts) locker(name string) locker {
	key, channel := []string{"floor:" + name}, []string{"redisson_countdownlatch__channel__{floor:" + name + "}"}
	set := d.c.B().Set().Key(key[0]).Value("2147483647").Build()
	if err := d.c.Do(context.Background(), set).Error(); err != nil {
		return func(context.Context) (unlock, error) { return nil, err }
	}
	return func(ctx context.Context) (unlock, error) { return done, downFloor.Exec(ctx, d.c, key, channel).Error() }
}

func (d downScripts) close() { d.c.Close() }

func init() {
	impls["latch"], impls["count down script"] = newLatches, newDownScripts
}

// BenchmarkLatch is one count down.
func BenchmarkLatch(b *testing.B) { benchHot(b, "latch", "count down script") }

// audience is four processes that wait.
type audience struct {
	s        *redistest.Server
	of       *latch.Latch
	children []*redistest.Child
}

func newAudience(t *testing.T, s *redistest.Server) *audience {
	t.Helper()
	c, err := rueidisson.New(connection(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	a := &audience{s: s, of: c.Latch("audience")}
	for range 4 {
		a.children = append(a.children, redistest.StartChild(t, "audience", "BENCH_ADDR="+s.Addr()))
	}
	return a
}

// sit has so many wait in each process, for a latch or a barrier.
func (a *audience) sit(what string, each int) error {
	if _, err := a.of.TrySetCount(context.Background(), 1); err != nil {
		return err
	}
	for _, c := range a.children {
		c.Send("%s %d", what, each)
	}
	for _, c := range a.children {
		c.Await("waiting")
	}
	return nil
}

// rest waits until nobody looks any more because somebody else came.
func (a *audience) rest(t testing.TB) {
	for range 100 {
		a.s.ResetStats()
		time.Sleep(100 * time.Millisecond)
		if a.s.ScriptCalls(t) == 0 {
			return
		}
	}
	t.Fatal("the waiters do not come to rest")
}

// opening is how long one takes until the last has passed, ms, and how many looks.
type opening struct{ took, looks float64 }

func (a *audience) open(t testing.TB) (o opening, err error) {
	if err := a.sit("latch", 2_500); err != nil {
		return o, err
	}
	a.rest(t)
	began := time.Now()
	if _, err := a.of.CountDown(context.Background()); err != nil {
		return o, err
	}
	for _, c := range a.children {
		var at int64
		if _, err := fmt.Sscanf(c.Await("passed"), "passed %d", &at); err != nil {
			return o, err
		}
		o.took = max(o.took, float64(time.Unix(0, at).Sub(began).Microseconds())/1e3)
	}
	o.looks = float64(a.s.ScriptCalls(t) - 1)
	return o, nil
}

func latchOpening(of func(opening) float64) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		a := newAudience(t, s)
		return sides{ours: func(time.Duration) (float64, error) {
			o, err := a.open(t)
			return of(o), err
		}}
	}
}

// idleWaiters measures once, for long enough to see those who look without a
// reason.
func idleWaiters(what string) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		a := newAudience(t, s)
		if err := a.sit(what, 250); err != nil {
			t.Fatal(err)
		}
		d := time.Second
		if *full {
			a.rest(t)
			d = 20 * time.Second
		}
		rate := sync.OnceValue(func() float64 {
			s.ResetStats()
			time.Sleep(d)
			return float64(s.ScriptCalls(t)) / d.Seconds()
		})
		return sides{ours: func(time.Duration) (float64, error) { return rate(), nil }}
	}
}

// listeners is a process of an audience. It hears "latch N" or "barrier N", and
// says "waiting" when so many do, and "passed TIME" when the last has passed.
func listeners(p *redistest.Parent) {
	var waits atomic.Int64
	c, err := rueidisson.New(connection(env("BENCH_ADDR")), rueidisson.WithObserver(told{waiting: func() { waits.Add(1) }}))
	if err != nil {
		p.Say("%v", err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for line, ok := p.Hear(); ok; line, ok = p.Hear() {
		var what string
		var n int64
		_, _ = fmt.Sscanf(line, "%s %d", &what, &n)
		waits.Store(0)
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				if what == "barrier" {
					_, _ = c.Barrier("parties", 1_000_000).Await(ctx) // until the benchmark is over
				} else if err := c.Latch("audience").Await(ctx); err != nil && ctx.Err() == nil {
					p.Say("%v", err)
				}
			})
		}
		for waits.Load() < n {
			time.Sleep(time.Millisecond)
		}
		p.Say("waiting")
		go func() { // ends with the opening
			all.Wait()
			p.Say("passed %d", time.Now().UnixNano())
		}()
	}
}
