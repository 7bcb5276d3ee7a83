package reliable

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestAServerThatIsFull refuses messages, and lets those that are there be handled: so it
// gets empty again.
func TestAServerThatIsFull(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t)).with(WithLease(redistest.Scaled(6 * time.Second)))
		for _, v := range []string{"a", "b", "c"} {
			r.adds(v, WithGroup("g"))
		}
		m := r.gets("a")
		r.do("CONFIG", "SET", "maxmemory", "1")
		_, err := r.Add(t.Context(), "d")
		require.ErrorContains(t, err, "OOM")
		require.NoError(t, m.Extend(t.Context(), 10*time.Second))
		require.NoError(t, m.Nack(t.Context(), nil, WithDelay(0)))
		r.acks("a", "b")
		m = r.gets("c")
		time.Sleep(redistest.Scaled(7 * time.Second)) // renewals get through
		require.NoError(t, m.Ack(t.Context()))
		r.do("CONFIG", "SET", "maxmemory", "0")
		r.adds("d")
		r.acks("d")
		r.leaves()
	})
}

// TestAFailoverUnderLoad counts what was accepted and lost: the promise is that nobody
// stalls.
func TestAFailoverUnderLoad(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	newFailover(t, sentinel.Client).runs(func() {
		master := sentinel.Master()
		master.Kill()
		sentinel.AwaitMaster(t, master.Addr())
	})
}

// failover is a queue under load, and what became of its messages.
type failover struct {
	t             *testing.T
	adder, worker *Queue[string]

	mu       sync.Mutex
	accepted map[string]bool
	came     map[string]int
}

func newFailover(t *testing.T, client func(testing.TB, ...func(*rueidis.ClientOption)) rueidis.Client) *failover {
	quickly := func(c *core.Config) { c.WatchdogTimeout = 6 * time.Second }
	name := redistest.Name(t)
	return &failover{
		t: t, adder: New[string](engineOn(t, client(t), quickly), name), worker: New[string](engineOn(t, client(t), quickly), name),
		accepted: map[string]bool{}, came: map[string]int{},
	}
}

// adds adds messages until ctx ends, each with a number of its own behind the prefix.
func (f *failover) adds(ctx context.Context, prefix string) {
	for i := 0; ctx.Err() == nil; i++ {
		v := prefix + strconv.Itoa(i)
		if _, err := f.adder.Add(context.Background(), v); err == nil {
			f.mu.Lock()
			f.accepted[v] = true
			f.mu.Unlock()
		}
	}
}

func (f *failover) handle(_ context.Context, m *Message[string]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.came[m.Value]++
	return nil
}

func (f *failover) handled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.came)
}

// runs has the one master lost, and waits until all goes on by the other.
func (f *failover) runs(lose func()) {
	t := f.t
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() { f.adds(ctx, strconv.Itoa(i)+":") })
	}
	serving, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.worker.Serve(serving, f.handle) }()
	redistest.Eventually(t, func() bool { return f.handled() > 500 }, soon, time.Millisecond)
	lose()
	before := f.handled()
	redistest.Eventually(t, func() bool { return f.handled() > before+500 }, soon, time.Millisecond)
	cancel()
	all.Wait()
	redistest.Eventually(t, func() bool {
		s, err := f.adder.Stats(t.Context())
		return err == nil && s.Ready+s.Delayed+s.Running+s.Behind == 0
	}, soon, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	lost, twice := 0, 0
	for v := range f.accepted {
		if f.came[v] == 0 {
			lost++
		}
	}
	for _, n := range f.came {
		if n > 1 {
			twice++
		}
	}
	t.Logf("%d accepted, %d of them lost by the failover, %d handled twice", len(f.accepted), lost, twice)
}

// TestAnACLThatIsReloaded denies scripts for longer than a lease: nothing is lost, nobody stalls, and what is said of
// messages arrives.
func TestAnACLThatIsReloaded(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		redistest.Do(t, admin, append(redistest.UserOfThePage(t, "../../docs/redis.md"), "+spublish", "+ssubscribe")...)
		user, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{server.Addr()}, Username: "orders", Password: "password", DisableCache: true, ForceSingleClient: true,
		})
		require.NoError(t, err)
		t.Cleanup(user.Close)
		r := &rig{t: t, raw: admin, e: engineOn(t, user)}
		const lease = time.Second
		r.Queue = New[string](r.e, "orders:1", WithLease(lease), WithMaxAttempts(1000))
		r.adds("settled", WithGroup("g"))
		settled := r.gets("settled")
		var handled atomic.Int64
		stop := r.serves(func(ctx context.Context, m *Message[string]) error {
			if m.Value == "long" && m.Attempt == 1 {
				<-ctx.Done() // its renewals are denied
			}
			handled.Add(1)
			return nil
		}, WithLease(lease))
		r.adds("long")
		redistest.Eventually(t, func() bool { s, err := r.Stats(t.Context()); return err == nil && s.Running == 2 }, soon, time.Millisecond)
		r.do("ACL", "SETUSER", "orders", "-eval", "-evalsha")
		_, err = r.Add(t.Context(), "denied")
		require.ErrorContains(t, err, "NOPERM")
		err = settled.Ack(t.Context())
		require.ErrorContains(t, err, "NOPERM")
		require.ErrorIs(t, err, ErrOutcomeUnknown, "it goes on")
		time.Sleep(lease + lease/2)
		r.do("ACL", "SETUSER", "orders", "+eval", "+evalsha")
		r.adds("after", WithGroup("g"))
		redistest.Eventually(t, func() bool { s, err := r.Stats(t.Context()); return err == nil && s.Acked == s.Added }, soon, 10*time.Millisecond)
		require.NoError(t, stop())
		require.GreaterOrEqual(t, handled.Load(), int64(2))
		r.leaves()
	})
}

// TestAServerThatForgetsAll under load: what is added from then on is handled, by numbers that nobody had.
func TestAServerThatForgetsAll(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t), WithLease(2*time.Second))
		var mu sync.Mutex
		var adding sync.RWMutex
		ids, came := map[int64]bool{}, map[string]bool{}
		stop := r.serves(func(_ context.Context, m *Message[string]) error {
			mu.Lock()
			defer mu.Unlock()
			came[m.Value] = true
			return nil
		}, WithLease(2*time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		pace := time.NewTicker(3 * time.Millisecond) // ids outrun the server's clock if a thousand a second are added
		defer pace.Stop()
		for i := range 4 {
			all.Go(func() {
				for j := i; ctx.Err() == nil; j += 4 {
					<-pace.C
					adding.RLock()
					id, err := r.Add(context.Background(), strconv.Itoa(j), kindOf(j)...)
					adding.RUnlock()
					mu.Lock()
					if err != nil || ids[id] {
						t.Errorf("%d is given twice, or %v", id, err)
					}
					ids[id] = true
					mu.Unlock()
				}
			})
		}
		for range redistest.Count(t, 4, 100) {
			time.Sleep(150 * time.Millisecond)
			adding.Lock()
			time.Sleep(10 * time.Millisecond) // those that came in one millisecond have the numbers of the next
			r.do("FLUSHALL")
			adding.Unlock()
		}
		cancel()
		all.Wait()
		_, err := r.Delete(t.Context())
		require.NoError(t, err)
		for i, v := range []string{"plain", "delayed", "grouped", "first", "unique"} {
			r.adds(v, kindOf(i)...)
		}
		redistest.Eventually(t, func() bool { return r.counter("acked") == 5 }, soon, 10*time.Millisecond)
		require.NoError(t, stop())
		for _, v := range []string{"plain", "delayed", "grouped", "first", "unique"} {
			require.True(t, came[v], v)
		}
		r.leaves()
	})
}

// TestTheServersClockIsSet forward and back.
func TestTheServersClockIsSet(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	r := rigOn(t, server.Client(t))
	other := r.other()
	r.adds("a")
	r.adds("late", WithDelay(30*time.Minute))
	m := r.gets("a")
	clock.Set(time.Hour) // leases end early, and so do delays
	attempts := map[string]int{}
	for _, m := range collect(t, other, 2) {
		attempts[m.Value] = m.Attempt
	}
	require.Equal(t, map[string]int{"a": 2, "late": 1}, attempts)
	require.ErrorIs(t, m.Ack(t.Context()), ErrLost)

	r.adds("b")
	m = r.gets("b")
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	got := make(chan string, 1)
	other.waits(ctx, &all, got)
	r.awaitIdle(1)
	clock.Set(0) // by an hour back
	require.NoError(t, m.Ack(t.Context()))
	for i := range 6 {
		r.adds("c", kindOf(i)...)
		require.Equal(t, "c", redistest.Done(t, got))
	}
	redistest.Eventually(t, func() bool { s, err := r.Stats(t.Context()); return err == nil && s.Acked == s.Added }, soon, 10*time.Millisecond)
	r.leaves()
}

// TestAnyKeyIsEvicted: no script fails for that, what is added from then on is handled, and Cancel takes out what is left.
func TestAnyKeyIsEvicted(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		for _, part := range r.of.parts {
			r := rigOn(t, r.raw, WithMaxAttempts(3))
			name, _, _ := strings.Cut(strings.TrimPrefix(part, "rueidisson_queue_"), ":")
			r.adds("running", WithGroup("g"), WithUnique("u"))
			m := r.gets("running")
			r.buries("dead")
			var ids []int64
			for i, opts := range [][]AddOption{{WithGroup("g")}, {WithPriority(3)}, {WithDelay(time.Hour)}, {}, {WithGroup("h")}, {WithGroup("h")}} {
				ids = append(ids, r.adds(strconv.Itoa(i), opts...))
			}
			require.NoError(t, m.Nack(t.Context(), nil, WithDelay(time.Hour)))
			require.NoError(t, r.Pause(t.Context(), time.Hour))
			r.do("DEL", r.part(name))
			require.NoError(t, r.Resume(t.Context()), name)
			for range 10 {
				m, err := r.Poll(t.Context())
				if errors.Is(err, ErrEmpty) {
					break
				}
				require.NoError(t, err, name)
				require.NoError(t, m.Ack(t.Context()), name)
			}
			r.adds("new", WithGroup("new"), WithUnique("new"))
			r.acks("new")
			if name == "body" { // those who had a place in the group are gone from it
				r.adds("next", WithGroup("h"))
				r.acks("next")
			}
			for _, id := range append(ids, m.ID) {
				require.NoError(t, notFound(r.Cancel(t.Context(), id)), name)
			}
			for _, op := range []string{"stats", "messages", "find", "purge", "result"} {
				require.NoError(t, operations[op](t.Context(), r.Queue), "%s without %s", op, name)
			}
			_, err := r.Delete(t.Context())
			require.NoError(t, err, name)
			r.adds("again", WithGroup("g"), WithUnique("u"))
			r.acks("again")
			r.leaves()
		}
	})
}
