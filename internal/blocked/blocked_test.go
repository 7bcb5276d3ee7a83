package blocked_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/blocked"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/stream"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// soon bounds the time of what nothing holds up.
var soon = redistest.Soon

var engineOn, within = enginetest.Plain, redistest.SoonContext

// made returns a group that begins with the first entry.
func made(t testing.TB, s *stream.Stream[string, string]) *stream.Group[string, string] {
	t.Helper()
	g := s.Group("g")
	created, err := g.Create(t.Context(), stream.FromStart)
	require.NoError(t, err)
	require.True(t, created)
	return g
}

func add(t testing.TB, s *stream.Stream[string, string], v string) {
	t.Helper()
	_, err := s.Add(t.Context(), map[string]string{"v": v})
	require.NoError(t, err)
}

func offered(t testing.TB, q *queue.Queue[string], vs ...string) {
	t.Helper()
	_, err := q.Offer(t.Context(), vs...)
	require.NoError(t, err)
}

func ranked(t testing.TB, q *queue.Priority[string], v string, score float64) {
	t.Helper()
	_, err := q.Offer(t.Context(), v, score)
	require.NoError(t, err)
}

func texts(e *locking.Engine, name string) *queue.Queue[string] {
	return queue.New[string](e, name, queue.WithCodec(codec.Text))
}

func scoredTexts(e *locking.Engine, name string) *queue.Priority[string] {
	return queue.NewPriority[string](e, name, queue.WithCodec(codec.Text))
}

func texted(e *locking.Engine, name string) *stream.Stream[string, string] {
	return stream.New[string, string](e, name, stream.WithCodec(codec.Text))
}

// everyKind returns a waiter for each kind of blocking call, and a call that wakes each of them.
func everyKind(t *testing.T, e *locking.Engine, direct *locking.Engine) (waiting []func(context.Context) error, wake []func()) {
	t.Helper()
	for range 3 {
		q := texts(e, redistest.Name(t))
		source := texts(direct, q.Name())
		p := scoredTexts(e, redistest.Name(t))
		ranks := scoredTexts(direct, p.Name())
		s := texted(direct, redistest.Name(t))
		made(t, s)
		mine := texted(e, s.Name()).Group("g")
		waiting = append(waiting,
			func(ctx context.Context) error { _, err := q.Take(ctx); return err },
			func(ctx context.Context) error { _, err := q.TakeLast(ctx); return err },
			func(ctx context.Context) error { _, err := p.Take(ctx); return err },
			func(ctx context.Context) error { _, err := p.TakeLast(ctx); return err },
			func(ctx context.Context) error {
				for _, err := range mine.Consume(ctx, "c") {
					return err
				}
				return nil
			},
		)
		wake = append(wake,
			func() { offered(t, source, "a", "b") },
			func() { ranked(t, ranks, "a", 1); ranked(t, ranks, "b", 2) },
			func() { add(t, s, "a") },
		)
	}
	return waiting, wake
}

// allGoOn has everybody wait, and then go on.
func allGoOn(t *testing.T, e, direct *locking.Engine) {
	t.Helper()
	waiting, wake := everyKind(t, e, direct)
	var all sync.WaitGroup
	for _, w := range waiting {
		all.Go(func() { assert.NoError(t, w(within(t))) })
	}
	time.Sleep(100 * time.Millisecond) // they block by then, as a rule
	for _, w := range wake {
		w()
	}
	all.Wait()
}

// TestAUserWhoMayNotUnblock waits all the same.
func TestAUserWhoMayNotUnblock(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		for _, denied := range []string{"-client|unblock", "-client|id", "-client"} {
			require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary("ACL", "SETUSER", "narrow", "reset", "on", ">pw", "~*", "&*", "+@all", denied).Build()).Error())
			user, err := rueidis.NewClient(rueidis.ClientOption{
				InitAddress: []string{server.Addr()}, Username: "narrow", Password: "pw", DisableCache: true, ForceSingleClient: true,
			})
			require.NoError(t, err)
			e := engineOn(t, user)
			allGoOn(t, e, engineOn(t, admin))
			require.NoError(t, locking.Close(t.Context(), e))
			user.Close()
		}
	})
}

// TestOneBlockedConnectionServesAllKinds, in turns.
func TestOneBlockedConnectionServesAllKinds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	direct := engineOn(t, server.Client(t, redistest.OnePipeline))
	e := engineOn(t, server.Client(t, redistest.OnePipeline), func(c *core.Config) { c.BlockedConnections = 1 })
	before := server.Connections(t)
	over := make(chan struct{})
	most := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-over:
				most <- n
				return
			case <-time.After(5 * time.Millisecond):
				n = max(n, server.Connections(t))
			}
		}
	}()
	allGoOn(t, e, direct)
	close(over)
	require.LessOrEqual(t, <-most, before+1+1) // direct waits for nothing; the test asks by one
}

// wrapped adds a hook to a client, its nodes and its dedicated connections, as a tracing client does.
type wrapped struct {
	rueidis.Client
	asked *atomic.Int64
}

func (w wrapped) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	w.asked.Add(1)
	return w.Client.Do(ctx, cmd)
}

func (w wrapped) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	w.asked.Add(1)
	return w.Client.DoMulti(ctx, cmds...)
}

func (w wrapped) Dedicate() (rueidis.DedicatedClient, func()) {
	c, release := w.Client.Dedicate()
	return wrappedDedicated{c, w.asked}, release
}

func (w wrapped) Dedicated(f func(rueidis.DedicatedClient) error) error {
	return w.Client.Dedicated(func(c rueidis.DedicatedClient) error { return f(wrappedDedicated{c, w.asked}) })
}

func (w wrapped) Nodes() map[string]rueidis.Client {
	nodes := w.Client.Nodes()
	for addr, node := range nodes {
		nodes[addr] = wrapped{node, w.asked}
	}
	return nodes
}

type wrappedDedicated struct {
	rueidis.DedicatedClient
	asked *atomic.Int64
}

func (w wrappedDedicated) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	w.asked.Add(1)
	return w.DedicatedClient.Do(ctx, cmd)
}

// TestAWrappedClient waits by what the wrapper gives it, and leaves no connection.
func TestAWrappedClient(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		direct := engineOn(t, server.Client(t, redistest.OnePipeline))
		client := wrapped{server.Client(t, redistest.OnePipeline), new(atomic.Int64)}
		e := engineOn(t, client)
		before := server.Connections(t)
		allGoOn(t, e, direct)
		require.Positive(t, client.asked.Load())
		redistest.Eventually(t, func() bool { return server.Connections(t) <= before+1 }, soon, 10*time.Millisecond) // that of messages stays
	})
}

// TestTakeBesideALongEntryThatIsPolled: a stream of the same client has it, which is on its way for seconds.
func TestTakeBesideALongEntryThatIsPolled(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	var rate atomic.Int64
	rate.Store(1 << 20)
	e := engineOn(t, server.Client(t, redistest.Rated(&rate)), enginetest.ShortSends, func(c *core.Config) { c.BlockedConnections = 1 })
	fill, name := engineOn(t, server.Client(t)), redistest.Name(t)
	s, from := texted(e, name+":log"), texted(fill, name+":log")
	add(t, from, "first")
	q, other := texts(e, name+":jobs"), texts(fill, name+":jobs")
	began, read := make(chan struct{}), make(chan int, 1)
	go func() {
		for it, err := range s.ReadFrom(t.Context(), "") {
			assert.NoError(t, err)
			if err != nil || len(it.Fields["v"]) > 5 {
				read <- len(it.Fields["v"])
				return
			}
			close(began)
		}
	}()
	<-began
	took := make(chan error, 1)
	go func() { _, err := q.Take(t.Context()); took <- err }()
	redistest.Eventually(t, func() bool { return blocked.Of(e).Waiting(poller.Head, q.Name()) }, soon, time.Millisecond)
	add(t, from, strings.Repeat("x", 6<<20))
	time.Sleep(100 * time.Millisecond) // it is on its way
	_, err := other.Offer(t.Context(), "small")
	require.NoError(t, err)
	require.NoError(t, <-took)
	select {
	case <-read:
		t.Fatal("the taker waited for the entry")
	default:
	}
	require.Equal(t, 6<<20, <-read)
}

// TestOnACluster starts one cluster for what is about many slots.
func TestOnACluster(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"8.0", "7.0", "valkey-8.1"}[:redistest.Count(t, 1, 3)] {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, redistest.Version(version))
			t.Run("many slots of all kinds take turns", func(t *testing.T) { kindsTakeTurns(t, cluster) })
			t.Run("a slot of all kinds moves", func(t *testing.T) { aSlotOfKindsMoves(t, cluster) })
		})
	}
}

// aSlotOfKindsMoves under takers and offers of a priority queue, and consumers of a
// stream. Nothing fails, and nothing is lost.
func aSlotOfKindsMoves(t *testing.T, cluster *redistest.Cluster) {
	e := engineOn(t, cluster.Client(t))
	tag := "{" + redistest.Name(t) + "}"
	q := scoredTexts(e, tag+"p")
	s := texted(e, tag+"s")
	made(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	got := map[string]int{}
	note := func(v string) { mu.Lock(); defer mu.Unlock(); got[v]++ }
	var all sync.WaitGroup
	for i := range 4 {
		take := []func(context.Context) (queue.Scored[string], error){q.Take, q.TakeLast}[i%2]
		all.Go(func() {
			for {
				v, err := take(ctx)
				if ctx.Err() != nil {
					return
				}
				assert.NoError(t, err)
				note("p" + v.Value)
			}
		})
		all.Go(func() {
			g := s.Group("g")
			for e, err := range g.Consume(ctx, fmt.Sprint(i)) {
				if ctx.Err() != nil {
					return
				}
				assert.NoError(t, err)
				note("s" + e.Fields["v"])
				_, err := g.Ack(t.Context(), e.ID)
				assert.NoError(t, err)
			}
		})
	}
	n := 0
	more := func() {
		t.Helper()
		for range 20 {
			n++
			ranked(t, q, strconv.Itoa(n), float64(n))
			add(t, s, strconv.Itoa(n))
		}
		redistest.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == 2*n }, soon, time.Millisecond)
	}
	more()
	migration := cluster.StartMigration(t, q.Name())
	more()
	migration.Move(t, q.Name())
	migration.Move(t, s.Name())
	more()
	migration.Finish(t)
	more()
	cancel()
	all.Wait()
	for v, times := range got {
		require.Equal(t, 1, times, v)
	}
}

// kindsTakeTurns has more slots be waited for, by each kind, than there may be
// connections.
func kindsTakeTurns(t *testing.T, cluster *redistest.Cluster) {
	e := engineOn(t, cluster.Client(t), func(c *core.Config) { c.BlockedConnections = 2 })
	direct := engineOn(t, cluster.Client(t))
	var all sync.WaitGroup
	var wakes []func()
	for range 5 { // of three each
		waiting, wake := everyKind(t, e, direct)
		for _, w := range waiting {
			all.Go(func() { assert.NoError(t, w(within(t))) })
		}
		wakes = append(wakes, wake...)
	}
	time.Sleep(300 * time.Millisecond) // they take turns by then, as a rule
	for _, node := range cluster.Nodes() {
		require.LessOrEqual(t, node.Blocked(t), 2)
	}
	for _, wake := range wakes {
		wake()
	}
	all.Wait()
}
