package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue"
)

// queueRows: elements of 64 bytes as text.
var queueRows = []row{
	{"queue, Offer and Poll, 1 goroutine, by RPUSH and LPOP", "us/pair", goal{}, besideScript("queue", "list", 1, microseconds)},
	{"queue, Offer and Poll, 256 goroutines, by RPUSH and LPOP", "pairs/s", goal{atLeast: 0.95}, besideScript("queue", "list", 256, asIs)},
	{"queue, 1,000 takers of 100 queues, by a BLPOP each", "elements/s", goal{atLeast: 1.9}, manyTakers((*takers).rate)},
	{"queue, wake-up of one of 1,000 takers, by a BLPOP each", "us", goal{atMost: 2}, manyTakers((*takers).wakeUp)},
}

func init() {
	impls["queue"] = func(addr string) (impl, error) {
		c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
		return queueImpl{c}, err
	}
	impls["list"] = func(addr string) (impl, error) {
		c, err := rueidis.NewClient(connection(addr))
		return bareList{c}, err
	}
}

type queueImpl struct{ c *rueidisson.Client }

func (i queueImpl) locker(name string) locker {
	q := queue.New[string](i.c, "queue:"+name)
	return call(func(ctx context.Context, _ int) error {
		if _, err := q.Offer(ctx, text64); err != nil {
			return err
		}
		_, err := q.Poll(ctx)
		return err
	}).locker()
}

func (i queueImpl) close() { _ = i.c.Close(context.Background()) }

type bareList struct{ c rueidis.Client }

func (i bareList) locker(name string) locker {
	name = "list:" + name
	return call(func(ctx context.Context, _ int) error {
		if err := i.c.Do(ctx, i.c.B().Rpush().Key(name).Element(text64).Build()).Error(); err != nil {
			return err
		}
		return i.c.Do(ctx, i.c.B().Lpop().Key(name).Build()).Error()
	}).locker()
}

func (i bareList) close() { i.c.Close() }

const (
	manyWhoTake = 1000
	manyQueues  = 100
	// mostUnderWay bounds the elements that nobody has taken yet, so that most takers wait.
	mostUnderWay = 500
	pushers      = 16
)

// takers is goroutines that take for as long as the test lasts.
type takers struct {
	t      *testing.T
	s      *redistest.Server
	raw    rueidis.Client // that pushes
	name   string
	taken  atomic.Int64
	room   chan struct{} // one for each element under way
	one    chan time.Time
	single atomic.Bool // one element at a time, whose taker says when

	connections int
	commands    float64 // for each element
}

// manyTakers compares the poller with one blocked connection for each goroutine.
func manyTakers(of func(*takers, time.Duration) (float64, error)) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		ours, base := startTakers(t, s, "poller", polled(t, s)), startTakers(t, s, "blpop", blocked(t, s))
		side := func(k *takers) measure {
			return func(d time.Duration) (float64, error) { return of(k, d) }
		}
		return sides{ours: side(ours), base: side(base), note: func() string { return ours.String() + "; by a BLPOP each " + base.String() }}
	}
}

func (k *takers) String() string {
	return fmt.Sprintf("%d connections, %.1f commands for each element", k.connections, k.commands)
}

// polled takes by the poller.
func polled(t *testing.T, s *redistest.Server) func(ctx context.Context, name string) error {
	c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	qs := map[string]*queue.Queue[string]{}
	for i := range manyQueues {
		name := "poller" + strconv.Itoa(i)
		qs[name] = queue.New[string](c, name)
	}
	return func(ctx context.Context, name string) error {
		_, err := qs[name].Take(ctx)
		return err
	}
}

// blocked takes by a connection for each goroutine.
func blocked(t *testing.T, s *redistest.Server) func(ctx context.Context, name string) error {
	o := connection(s.Addr())
	o.BlockingPoolSize = 2 * manyWhoTake
	c, err := rueidis.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return func(ctx context.Context, name string) error {
		return c.Do(ctx, c.B().Blpop().Key(name).Timeout(0).Build()).Error()
	}
}

func startTakers(t *testing.T, s *redistest.Server, name string, take func(ctx context.Context, name string) error) *takers {
	t.Helper()
	before := s.Connections(t)
	k := &takers{t: t, s: s, raw: s.Client(t), name: name, room: make(chan struct{}, mostUnderWay), one: make(chan time.Time, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for i := range manyWhoTake {
		all.Go(func() {
			for ctx.Err() == nil {
				if take(ctx, name+strconv.Itoa(i%manyQueues)) == nil {
					k.took()
				}
			}
		})
	}
	time.Sleep(2 * time.Second) // until all of them wait
	k.connections = s.Connections(t) - before
	return k
}

func (k *takers) took() {
	if k.single.Load() {
		k.one <- time.Now()
		return
	}
	k.taken.Add(1)
	<-k.room
}

// rate has pushers push as fast as the elements are taken.
func (k *takers) rate(d time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	k.s.ResetStats()
	taken, began := k.taken.Load(), time.Now()
	var all sync.WaitGroup
	for i := range pushers {
		all.Go(func() {
			for n := i; ; n += 7 {
				select {
				case k.room <- struct{}{}:
				case <-ctx.Done():
					return
				}
				k.raw.Do(context.Background(), k.push(n))
			}
		})
	}
	all.Wait()
	rate := float64(k.taken.Load()-taken) / time.Since(began).Seconds()
	for len(k.room) > 0 { // the next measurement begins with none under way
		time.Sleep(time.Millisecond)
	}
	k.count(float64(k.taken.Load() - taken))
	return rate, nil
}

func (k *takers) push(n int) rueidis.Completed {
	return k.raw.B().Rpush().Key(k.name + strconv.Itoa(n%manyQueues)).Element(text64).Build()
}

// count is the commands of those who take, the pushes apart.
func (k *takers) count(elements float64) {
	calls := k.s.CommandCalls(k.t, "BLPOP", "LPOP", "CLIENT|UNBLOCK")
	k.commands = float64(calls) / max(elements, 1)
}

// wakeUp is the median of the times from before a push until its taker has the element,
// while all others wait, in microseconds.
func (k *takers) wakeUp(d time.Duration) (float64, error) {
	k.single.Store(true)
	defer k.single.Store(false)
	var all []float64
	for began := time.Now(); len(all) == 0 || time.Since(began) < d; {
		pushed := time.Now()
		if err := k.raw.Do(context.Background(), k.push(len(all))).Error(); err != nil {
			return 0, err
		}
		all = append(all, float64((<-k.one).Sub(pushed).Nanoseconds())/1e3)
		time.Sleep(asleep)
	}
	return median(all), nil
}
