package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var courtesyRows = []row{
	{"1 goroutine with 1 idle subscriber", "of the rate alone", goal{atLeast: 0.9}, besideSubscribers(1)},
	{"1 goroutine with 10 idle subscribers", "of the rate alone", goal{atLeast: 0.9}, besideSubscribers(10)},
	{"1 goroutine with 20 visitors, twice a second each", "pairs/s", goal{atLeast: 0.5}, besideVisitors},
}

// besideSubscribers is what a goroutine keeps of its rate when others listen to
// its key, and never take it. The bare scripts pay for the messages, too.
func besideSubscribers(n int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		for range n {
			subscribe(t, s, "redisson_lock__channel:{watched}")
		}
		side := func(name string) measure {
			i := connect(t, name, s.Addr())
			return kept(alone(i, "watched"), alone(i, name+", unwatched"))
		}
		return sides{ours: side("rueidisson"), base: side("floor"), long: true}
	}
}

// kept is the rate of one as a part of another's, measured in turn.
func kept(one, other measure) measure {
	const parts = 4
	return func(d time.Duration) (float64, error) {
		var sums [2]float64
		for part := range parts {
			for i, m := range []measure{one, other} {
				x, err := m(d / parts / 2)
				if err != nil {
					return 0, fmt.Errorf("part %d: %w", part, err)
				}
				sums[i] += x
			}
		}
		return sums[0] / sums[1], nil
	}
}

// alone is the rate of one goroutine.
func alone(i impl, name string) measure {
	return onOneKey(i, name, 1).rate
}

// subscribe is a bare connection that listens: a client library's would take
// time of its own for each message.
func subscribe(t *testing.T, s *redistest.Server, channel string) {
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprintf(conn, "SUBSCRIBE %s\r\n", channel); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 256)); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, conn) // ends with the connection
}

const (
	visitors    = 20
	visitsEvery = 500 * time.Millisecond
)

// besideVisitors compares a goroutine whose lock other processes take now and
// then with one on a key of its own.
func besideVisitors(t *testing.T, s *redistest.Server) sides {
	c := connect(t, "rueidisson", s.Addr())
	var children []*redistest.Child
	for range visitors {
		children = append(children, redistest.StartChild(t, "visitor", "BENCH_ADDR="+s.Addr(), "BENCH_KEY=visited"))
	}
	for _, child := range children {
		child.Await("ready")
	}
	var waits []time.Duration
	return sides{
		long: true,
		ours: visited(children, &waits, alone(c, "visited")),
		base: visited(children, new([]time.Duration), alone(c, "unvisited")),
		note: func() string {
			slices.Sort(waits)
			n := len(waits)
			return fmt.Sprintf("the visitors' waits: median %v, p99 %v, longest %v", waits[n/2], waits[n*99/100], waits[n-1])
		},
	}
}

// visited is a measure during which the visitors come. It adds their waits.
func visited(children []*redistest.Child, waits *[]time.Duration, m measure) measure {
	return func(d time.Duration) (float64, error) {
		for _, child := range children {
			child.Send("%v", d)
		}
		x, err := m(d)
		for _, child := range children {
			for _, one := range strings.Fields(child.Await("waited"))[1:] {
				wait, err := time.ParseDuration(one)
				if err != nil {
					return 0, err
				}
				*waits = append(*waits, wait)
			}
		}
		return x, err
	}
}

// visitor is a process that takes the lock now and then, during each time that
// it hears, and says how long it waited for it.
func visitor(p *redistest.Parent) {
	c, err := rueidisson.New(connection(env("BENCH_ADDR")))
	if err != nil {
		p.Say("%v", err)
		return
	}
	p.Say("ready")
	for line, ok := p.Hear(); ok; line, ok = p.Hear() {
		d, _ := time.ParseDuration(line)
		waits, err := visits(c, env("BENCH_KEY"), time.Now().Add(d))
		if err != nil {
			p.Say("%v", err)
			return
		}
		p.Say("waited%s", waits)
	}
}

func visits(c *rueidisson.Client, name string, until time.Time) (waits string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := c.Lock(name)
	for pause := rand.N(visitsEvery); time.Now().Add(pause).Before(until); pause = visitsEvery {
		time.Sleep(pause)
		began := time.Now()
		hold, err := l.Lock(ctx)
		if err != nil {
			return "", err
		}
		waits += " " + time.Since(began).String()
		if err := hold.Unlock(ctx); err != nil {
			return "", err
		}
	}
	return waits, nil
}
