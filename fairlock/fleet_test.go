package fairlock_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var fleetChildren = redistest.Children{"queuers": queuers}

// queuers is a process whose goroutines wait for a lock. Each line that it hears
// is "wait N", for a waiter of that number, or "leave N"; it says "got N" with the
// time, and "left N".
func queuers(p *redistest.Parent) {
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{os.Getenv("FAIR_ADDR")}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		p.Say("failed: %v", err)
		os.Exit(1)
	}
	l := c.FairLock(os.Getenv("FAIR_NAME"))
	p.Say("ready")
	leave := map[string]context.CancelFunc{}
	for {
		line, ok := p.Hear()
		if !ok {
			os.Exit(0)
		}
		verb, number, _ := strings.Cut(line, " ")
		if verb == "leave" {
			leave[number]()
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		leave[number] = cancel
		go func() { // ends with the process at the latest
			hold, err := l.Lock(ctx)
			if err != nil {
				p.Say("left %s", number)
				return
			}
			p.Say("got %s %d", number, time.Now().UnixNano())
			if err := hold.Unlock(context.Background()); err != nil {
				p.Say("failed: %v", err)
			}
		}()
	}
}

// fleet is processes that wait for one lock.
type fleet struct {
	t       *testing.T
	name    string
	raw     rueidis.Client
	lock    *rueidisson.Client
	members []*redistest.Child

	mu   sync.Mutex
	got  []int
	when []time.Time
}

func newFleet(t *testing.T, n int) *fleet {
	server := redistest.Start(t)
	f := &fleet{t: t, raw: server.Client(t), name: redistest.Name(t), lock: locktest.Open(t, server.Addr())}
	for range n {
		child := redistest.StartChild(t, "queuers", "FAIR_ADDR="+server.Addr(), "FAIR_NAME="+f.name)
		child.Await("ready")
		f.members = append(f.members, child)
	}
	return f
}

// queue queues one waiter after another, in processes taken in turn, and returns
// in which each is.
func (f *fleet) queue(waiters int, in func(i int) int) (where []int) {
	for i := range waiters {
		where = append(where, in(i))
		f.members[where[i]].Send("wait %d", i)
		awaitQueue(f.t, f.lock.FairLock(f.name), i+1)
	}
	return where
}

// collect gathers who got the lock in which order, until want have.
func (f *fleet) collect(members []int, want int) {
	var all sync.WaitGroup
	done := make(chan struct{})
	for _, m := range members {
		all.Go(func() {
			for {
				line, ok := f.members[m].AwaitFor("got ", 250*time.Millisecond)
				if ok {
					f.note(line, want, done)
					continue
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		f.t.Errorf("%d of %d have had the lock", len(f.got), want)
	}
	all.Wait()
}

func (f *fleet) note(line string, want int, done chan struct{}) {
	var number int
	var nanos int64
	_, err := fmt.Sscanf(line, "got %d %d", &number, &nanos)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.t.Error(line)
	}
	f.got, f.when = append(f.got, number), append(f.when, time.Unix(0, nanos))
	if len(f.got) == want {
		close(done)
	}
}

// The order over processes is exactly that of the queue, whoever leaves it, is
// killed or falls silent.
func TestTheOrderOverProcessesOfWhichSomeDie(t *testing.T) {
	t.Parallel()
	waiters := redistest.Count(t, 220, 1100)
	redistest.Within(t, 10*time.Second, func() time.Duration { // 2 s where the machine has time
		f := newFleet(t, 6) // 4 that live, one to be killed, one to be stopped
		const killed, stopped = 4, 5
		l := f.lock.FairLock(f.name)
		hold, err := l.Lock(t.Context())
		require.NoError(t, err)
		where := f.queue(waiters, func(i int) int {
			switch i % 20 {
			case 7:
				return killed
			case 13:
				return stopped
			}
			return i % 4
		})
		left := map[int]bool{}
		for i, in := range where {
			if i%10 == 5 {
				f.members[in].Send("leave %d", i)
				left[i] = true
			}
		}
		awaitQueue(t, l, waiters-len(left))
		f.members[killed].Kill()
		f.members[stopped].Stop()
		var want []int
		for i, in := range where {
			if in < killed && !left[i] {
				want = append(want, i)
			}
		}
		require.NoError(t, hold.Unlock(t.Context()))
		f.collect([]int{0, 1, 2, 3}, len(want))
		gap := f.requireOrder(want)
		require.Eventually(t, func() bool { return len(f.keys()) == 0 }, 10*time.Second, 50*time.Millisecond, "%v", f.keys()) // before the lease ends by itself
		return gap
	})
}

// requireOrder sorts by the time that the holders say: they say it in any order. It returns the longest time between two
// holders.
func (f *fleet) requireOrder(want []int) (longest time.Duration) {
	f.t.Helper()
	byTime := map[int]time.Time{}
	for i, number := range f.got {
		byTime[number] = f.when[i]
	}
	var last time.Time
	for _, number := range want {
		at, got := byTime[number]
		require.True(f.t, got, "%d never got the lock", number)
		if !last.IsZero() {
			require.False(f.t, at.Before(last), "%d had the lock before its turn", number)
			longest = max(longest, at.Sub(last))
		}
		last = at
	}
	require.Len(f.t, f.got, len(want))
	f.t.Logf("%d in order, the longest gap was %v", len(want), longest)
	return longest
}

func (f *fleet) keys() []string {
	keys, err := f.raw.Do(context.Background(), f.raw.B().Keys().Pattern("*").Build()).AsStrSlice()
	require.NoError(f.t, err)
	return keys
}
