package queue

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestOnACluster(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"8.0", "7.0", "valkey-8.1"}[:redistest.Count(t, 1, 3)] { // each takes two minutes beside other tests
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, redistest.Version(version))
			t.Run("many slots take turns", func(t *testing.T) { slotsTakeTurns(t, cluster) }) // alone: it counts who is blocked
			redistest.Together(t, map[string]func(t *testing.T){
				"names that break slots are refused": func(t *testing.T) { slotsAreKept(t, cluster) },
				"a bounded queue":                    func(t *testing.T) { boundedOnCluster(t, cluster) },
				"a delayed queue":                    func(t *testing.T) { delayedOnCluster(t, cluster) },
				"a slot moves":                       func(t *testing.T) { aSlotMoves(t, cluster) },
				"a slot of a delayed queue moves":    func(t *testing.T) { aSlotOfDelaysMoves(t, cluster) },
			})
			t.Run("a silent node holds up no other", func(t *testing.T) { aSilentNodeHoldsUpNoOther(t, cluster) })
			t.Run("a failover", func(t *testing.T) {
				name := redistest.Name(t)
				goesOnBehindAFailover(t, cluster.Client(t), name, cluster.Master(name), func(addr string) { cluster.AwaitMaster(t, name, addr) })
			})
		})
	}
}

func TestBehindSentinels(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	goesOnBehindAFailover(t, sentinel.Client(t), redistest.Name(t), sentinel.Master(), func(addr string) { sentinel.AwaitMaster(t, addr) })
}

func slotsAreKept(t *testing.T, cluster *redistest.Cluster) {
	e := engineOn(t, cluster.Client(t))
	q := New[string](e, "{}q", WithCodec(codec.Text))
	_, err := q.Take(t.Context())
	require.ErrorIs(t, err, ErrInvalidArgument)
	a, b := New[string](e, "a:{1}", WithCodec(codec.Text)), New[string](e, "b:{2}", WithCodec(codec.Text))
	_, err = a.MoveTo(t.Context(), b)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = a.Rename(t.Context(), "b:{2}")
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = a.Copy(t.Context(), "b:{2}")
	require.ErrorIs(t, err, ErrInvalidArgument)
	yes, err := a.Rename(t.Context(), "b:{1}")
	require.NoError(t, err)
	require.False(t, yes)
}

// slotsTakeTurns has more slots be waited for than there may be connections.
func slotsTakeTurns(t *testing.T, cluster *redistest.Cluster) {
	e := engineOn(t, cluster.Client(t), func(c *core.Config) { c.BlockedConnections = 2 })
	var qs []*Queue[string]
	for range 30 {
		qs = append(qs, New[string](e, redistest.Name(t), WithCodec(codec.Text)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := newBooks()
	all := b.takers(ctx, 2*len(qs), qs...)
	n := redistest.Count(t, 4, 10) * len(qs)
	for i := range n {
		require.NoError(t, b.offer(t.Context(), qs[i%len(qs)], decimal(int64(i))))
	}
	for _, node := range cluster.Nodes() {
		require.LessOrEqual(t, node.Blocked(t), 2)
	}
	require.Eventually(t, func() bool { return b.taken() == n }, 2*soon, 5*time.Millisecond)
	cancel()
	all.Wait()
	require.Zero(t, b.check(t))
	require.Empty(t, b.errs)
	for _, node := range cluster.Nodes() {
		redistest.Eventually(t, func() bool { return node.Blocked(t) == 0 }, soon, 50*time.Millisecond)
	}
}

// aSlotMoves moves a queue under takers and offers. Nothing fails, and nothing is
// lost.
func aSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	q := New[string](engineOn(t, cluster.Client(t)), redistest.Name(t), WithCodec(codec.Text))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := newBooks()
	all := b.takers(ctx, 4, q)
	n := 0
	more := func() {
		t.Helper()
		for range 50 {
			n++
			require.NoError(t, b.offer(t.Context(), q, decimal(int64(n))))
		}
		require.Eventually(t, func() bool { return b.taken() == n }, soon, time.Millisecond)
	}
	more()
	require.LessOrEqual(t, q.q.h.poller.Block, time.Second, "how long nobody hears of what is pushed to the new node")
	migration := cluster.StartMigration(t, q.Name())
	more()
	migration.Move(t, q.Name())
	more()
	migration.Finish(t)
	more()
	cancel()
	all.Wait()
	require.Zero(t, b.check(t))
	require.Empty(t, b.errs)
}

// goesOnBehindAFailover has the master die under those who wait. Replication is
// asynchronous: what is checked is that they go on.
func goesOnBehindAFailover(t *testing.T, raw rueidis.Client, name string, master *redistest.Server, await func(addr string)) {
	t.Helper()
	q := New[string](engineOn(t, raw), name, WithCodec(codec.Text))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := newBooks()
	all := b.takers(ctx, 4, q)
	for i := range 20 {
		require.NoError(t, b.offer(t.Context(), q, decimal(int64(i))))
	}
	require.Eventually(t, func() bool { return b.taken() == 20 }, soon, time.Millisecond)
	master.Kill()
	await(master.Addr())
	for i := 20; i < 40; {
		if b.offer(t.Context(), q, decimal(int64(i))) == nil {
			i++
		}
	}
	redistest.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.got["39"] > 0 || b.got["38"] > 0
	}, 2*soon, 5*time.Millisecond)
	cancel()
	all.Wait()
	for _, err := range b.errs {
		assert.ErrorIs(t, err, ErrOutcomeUnknown)
	}
}

// boundedOnCluster frees slots in every way, and hears of it on both kinds of
// channel: Java's put listens to the sharded one.
func boundedOnCluster(t *testing.T, cluster *redistest.Cluster) {
	raw := cluster.Client(t)
	q := boundedOn(t, engineOn(t, raw), 2)
	master := cluster.Master(q.Name()).Client(t, func(o *rueidis.ClientOption) { o.ForceSingleClient = true })
	heard := make(chan string, 100)
	for kind, subscribe := range map[string]rueidis.Completed{
		"plain":   master.B().Subscribe().Channel(q.q.channel).Build(),
		"sharded": master.B().Ssubscribe().Channel(q.q.channel).Build(),
	} {
		ready := make(chan struct{})
		c, release := master.Dedicate()
		c.SetPubSubHooks(rueidis.PubSubHooks{
			OnMessage:      func(m rueidis.PubSubMessage) { heard <- kind + " " + m.Message },
			OnSubscription: func(rueidis.PubSubSubscription) { close(ready) },
		})
		t.Cleanup(release)
		require.NoError(t, c.Do(t.Context(), subscribe).Error())
		<-ready
	}
	for name, free := range map[string]func(ctx context.Context) error{
		"poll":   func(ctx context.Context) error { _, err := q.Poll(ctx); return err },
		"remove": func(ctx context.Context) error { _, err := q.Remove(ctx, "a", 1); return err },
		"drain":  func(ctx context.Context) error { _, err := q.Drain(ctx); return err },
		"take":   func(ctx context.Context) error { _, err := q.Take(ctx); return err },
	} {
		offeredTo(t, q, "a")
		require.NoError(t, free(t.Context()), name)
		require.ElementsMatch(t, []string{"plain 2", "sharded 2"}, []string{<-heard, <-heard}, name)
	}
	require.Empty(t, heard)
}

// delayedOnCluster announces on plain channels, to who is connected to any node.
func delayedOnCluster(t *testing.T, cluster *redistest.Cluster) {
	_, err := NewDelayed[string](engineOn(t, cluster.Client(t)), "{}q").Offer(t.Context(), "a", 0)
	require.ErrorIs(t, err, ErrInvalidArgument)
	for range 3 {
		q := delayedOn(t, engineOn(t, cluster.Client(t)))
		other := also(t, q, cluster.Client(t))
		keep(t, other)
		for _, node := range cluster.Nodes() {
			subscribed(t, node.Client(t, func(o *rueidis.ClientOption) { o.ForceSingleClient = true }), q.q.of.channel)
		}
		postponedTo(t, q, "b", 200*time.Millisecond)
		postponedTo(t, q, "a", 50*time.Millisecond)
		require.NoError(t, locking.Close(t.Context(), q.q.h.e))
		var got []string
		for range 2 {
			v, err := other.Take(within(t))
			require.NoError(t, err)
			got = append(got, v)
		}
		require.ElementsMatch(t, []string{"a", "b"}, got) // a machine that stands still between the offers turns them around
		requireNothingWaits(t, cluster.Client(t), other)
	}
}

// aSlotOfDelaysMoves under who offers and who moves: what is due waits for the end
// of it, and each element comes once.
func aSlotOfDelaysMoves(t *testing.T, cluster *redistest.Cluster) {
	raw := cluster.Client(t)
	q := delayedOn(t, engineOn(t, raw))
	b, n := newBooks(), 0
	more := func() {
		t.Helper()
		for range 30 {
			n++
			v := decimal(int64(n))
			_, err := q.Offer(t.Context(), v, time.Duration(n%5)*time.Millisecond)
			b.mu.Lock()
			b.offered[v] = err == nil
			b.mu.Unlock()
		}
	}
	more()
	migration := cluster.StartMigration(t, q.Name())
	postponing := make(chan struct{})
	go func() {
		defer close(postponing)
		_, err := q.Offer(t.Context(), "meanwhile", time.Millisecond)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.offered["meanwhile"] = err == nil
	}()
	migration.Move(t, q.q.of.times)
	time.Sleep(100 * time.Millisecond)
	migration.Move(t, q.q.Keys[:3]...)
	migration.Finish(t)
	<-postponing
	more()
	redistest.Eventually(t, func() bool { n, err := q.Len(t.Context()); return err == nil && n == 0 }, soon, time.Millisecond)
	got, err := q.Queue().Drain(t.Context())
	require.NoError(t, err)
	require.Zero(t, b.check(t, got...), "were lost")
	requireNothingWaits(t, raw, q)
}

// TestTakeBehindSentinelsLeavesAnOldMaster that lives on and answers.
func TestTakeBehindSentinelsLeavesAnOldMaster(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	sentinel.AddApp(t)
	client := sentinel.Client(t, redistest.AsApp)
	q := New[string](engineOn(t, client), "jobs", WithCodec(codec.Text))
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	got := make(chan error, 1)
	go func() { _, err := q.Take(ctx); got <- err }()
	untilWaiting(t, q, poller.Head)
	time.Sleep(100 * time.Millisecond) // it blocks
	now := sentinel.SplitOff(t, client)
	offered(t, New[string](engineOn(t, now.Client(t)), "jobs", WithCodec(codec.Text)), "x")
	require.NoError(t, <-got)
}
