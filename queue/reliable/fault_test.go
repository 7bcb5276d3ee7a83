package reliable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// child is another process that takes from the queue, which is on the server or cluster at these addresses.
func (r *rig) child(addrs, kind string, lease time.Duration, most int, env ...string) *redistest.Child {
	r.t.Helper()
	c := redistest.StartChild(r.t, kind, append(env, addrOfChild+"="+addrs, nameOfChild+"="+r.name, leaseOfChild+"="+lease.String(),
		mostOfChild+"="+strconv.Itoa(most))...)
	c.Await("ready")
	return c
}

// TestConsumersAreKilled all the time: nothing is lost, and no group is out of order.
func TestConsumersAreKilled(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		rigOn(t, server.Client(t)).kills(server.Addr(), redistest.Count(t, 500, 10_000))
	})
}

// kills has n messages handled by processes that are killed.
func (r *rig) kills(addrs string, n int) {
	t := r.t
	t.Helper()
	const lease, groups = time.Second, 20
	add := func(from, to int) {
		for i := from; i < to; i++ {
			group := "g" + strconv.Itoa(i%groups)
			opts := []AddOption{WithHeader("group", group)}
			if i%groups < groups/2 {
				opts = append(opts, WithGroup(group))
			}
			r.adds(strconv.Itoa(i/groups), opts...)
		}
	}
	var children []*redistest.Child
	for range 3 {
		children = append(children, r.child(addrs, "serves", lease, 1000))
	}
	kills, added := 0, 0
	for deadline := time.Now().Add(3 * soon); r.counter("acked") < int64(n) || r.counter("ranout") == 0; kills++ {
		require.True(t, time.Now().Before(deadline), "%d of %d are done", r.counter("acked"), n)
		if r.counter("acked") == int64(n) { // none had a message when it was killed
			n += 100
		}
		if next := min(added+100, n); added < n { // so that there is something that it has
			add(added, next)
			added = next
		} else {
			time.Sleep(200 * time.Millisecond)
		}
		victim := kills % len(children)
		children[victim].Kill()
		children[victim] = r.child(addrs, "serves", lease, 1000)
	}
	again := 0
	for g := range groups {
		m := r.do("LRANGE", log(r.name, "g"+strconv.Itoa(g)), "0", "-1")
		all, err := m.AsStrSlice()
		require.NoError(t, err)
		seen := map[string]bool{}
		last := -1
		for _, v := range all {
			i, err := strconv.Atoi(v)
			require.NoError(t, err)
			if g < groups/2 {
				require.Contains(t, []int{last, last + 1}, i, "group %d: %v", g, all)
				last = i
			}
			if seen[v] {
				again++
			}
			seen[v] = true
		}
		require.Len(t, seen, (n+groups-1-g)/groups, "group %d", g)
	}
	t.Logf("%d kills, %d of %d messages were handled again, %d leases ran out", kills, again, n, r.counter("ranout"))
	require.Positive(t, r.counter("ranout"))
	r.leaves()
}

// TestTheMessagesOfTheDeadAreWithAnother a lease later, also if the dead one kept the
// time, and within a second: the longest of some rounds is what a busy machine makes of it.
func TestTheMessagesOfTheDeadAreWithAnother(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		redistest.Together(t, map[string]func(t *testing.T){
			"who kept the time": func(t *testing.T) { dead(t, server.Addr(), server.Client(t), true) },
			"another":           func(t *testing.T) { dead(t, server.Addr(), server.Client(t), false) },
		})
	})
}

func dead(t *testing.T, addrs string, raw rueidis.Client, keeps bool) {
	const lease = time.Second
	redistest.Within(t, lease+time.Second, func() time.Duration { // in the middle; none later than one whose time was not kept
		var all []time.Duration
		for range redistest.Count(t, 3, 20) {
			r := rigOn(t, raw).with(WithLease(lease))
			r.adds("late", WithDelay(time.Hour)) // there is a time to keep
			ctx, cancel := context.WithCancel(t.Context())
			var waiting sync.WaitGroup
			got := make(chan string, 1)
			wait := func() { // for messages, in a process each
				for range 2 {
					r.other(WithLease(lease)).waits(ctx, &waiting, got)
				}
			}
			first := r.child(addrs, "holds", lease, 3)
			if keeps {
				r.awaitIdle(1)
				r.adds("a")
				first.Await("took a")
				wait()
			} else {
				r.awaitIdle(1)
				wait()
				r.awaitIdle(3)
				r.adds("a") // the first waits for the longest time
				first.Await("took a")
			}
			r.awaitIdle(2)
			time.Sleep(rand.N(lease))
			killed := time.Now()
			first.Kill()
			require.Equal(t, "a", redistest.Done(t, got))
			all = append(all, time.Since(killed))
			cancel()
			waiting.Wait()
			_, err := r.Delete(t.Context())
			require.NoError(t, err)
		}
		slices.Sort(all)
		t.Logf("after %v", all)
		return max(all[len(all)/2], all[len(all)-1]-mostWait/2+time.Second)
	})
}

// TestADeputyThatIsBusyIsNone: another sees to it that the time is kept.
func TestADeputyThatIsBusyIsNone(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.adds("a")
		r.do("ZADD", r.part("idle"), "0", "another")
		r.do("SET", r.part("deputy"), r.e.ClientID, "PX", "60000")
		m, err := r.Poll(t.Context())
		require.NoError(t, err)
		who := r.do("GET", r.part("deputy"))
		is, _ := who.ToString()
		require.NotEqual(t, r.e.ClientID, is)
		require.NoError(t, m.Ack(t.Context()))
	})
}

// TestAConsumerIsStoppedBeyondItsLease: it knows when it goes on, and harms nobody.
func TestAConsumerIsStoppedBeyondItsLease(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		const lease = time.Second
		r := rigOn(t, server.Client(t))
		stopped := r.child(server.Addr(), "holds", lease, 3)
		r.adds("a")
		stopped.Await("took a")
		stopped.Stop()
		m := r.gets("a")
		require.Equal(t, 2, m.Attempt)
		stopped.Send("check")
		stopped.Cont()
		said := strings.Split(stopped.Next(), "|")
		require.Len(t, said, 3)
		require.Contains(t, said[0], ErrLost.Error())
		require.Equal(t, context.Canceled.Error(), said[1])
		require.Contains(t, said[2], ErrLost.Error())
		require.NoError(t, m.Err())
		info, err := r.Find(t.Context(), m.ID)
		require.NoError(t, err)
		require.Equal(t, Running, info.State)
		require.NoError(t, m.Ack(t.Context()))
		r.leaves()
	})
}

// TestAPoisonMessageIsBuried, which kills each process that handles it. What waits there
// beside it is not, however often that happens.
func TestAPoisonMessageIsBuried(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		const most = 4
		r := rigOn(t, server.Client(t))
		r.adds("poison")
		for i := range 20 {
			r.adds(strconv.Itoa(i), WithHeader("group", "rest"))
		}
		deaths := 0
		for deadline := time.Now().Add(soon); r.counter("dead") == 0; deaths++ {
			require.True(t, time.Now().Before(deadline))
			r.child(server.Addr(), "serves one", redistest.Scaled(2*time.Second), most).AwaitFor("ended", 5*time.Second)
		}
		for info, err := range r.Messages(t.Context(), Dead) {
			require.NoError(t, err)
			require.Equal(t, "poison", string(info.Body))
			require.Equal(t, most, info.Attempts)
			require.Contains(t, info.Cause, "lease ran out")
		}
		t.Logf("%d processes", deaths)
		redistest.Eventually(t, func() bool { return r.counter("acked") == 20 }, soon, 10*time.Millisecond)
		require.EqualValues(t, 1, r.counter("dead"))
	})
}

// TestThousandsOfLeasesRunOutAtOnce: their contexts end, and others do the work.
func TestThousandsOfLeasesRunOutAtOnce(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		n := redistest.Count(t, 600, 10_000)
		r := rigOn(t, server.Client(t))
		client, proxy := redistest.ThroughProxy(t, server)
		cut := &rig{t: t, raw: r.raw, e: engineOn(t, client)}
		cut.Queue = New[string](cut.e, r.name, WithLease(redistest.Scaled(6*time.Second))) // all are taken before it ends
		_, err := r.AddAll(t.Context(), make([]string, n))
		require.NoError(t, err)
		var took, lost atomic.Int64
		stop := cut.serves(func(ctx context.Context, _ *Message[string]) error {
			took.Add(1)
			<-ctx.Done()
			if errors.Is(context.Cause(ctx), ErrLost) {
				lost.Add(1)
			}
			return context.Cause(ctx)
		}, WithConcurrency(n), WithPrefetch(0), WithGrace(time.Second))
		redistest.Eventually(t, func() bool { return took.Load() == int64(n) }, soon, time.Millisecond)
		proxy.Refuse()
		proxy.BlackHole()
		redistest.Eventually(t, func() bool { return lost.Load() == int64(n) }, soon, time.Millisecond)
		var again atomic.Int64
		done := r.serves(func(_ context.Context, m *Message[string]) error {
			if m.Attempt != 2 {
				return fmt.Errorf("attempt %d", m.Attempt)
			}
			again.Add(1)
			return nil
		}, WithConcurrency(50))
		redistest.Eventually(t, func() bool { return r.counter("acked") == int64(n) }, soon, time.Millisecond)
		require.EqualValues(t, n, again.Load())
		require.EqualValues(t, n, r.counter("ranout"))
		require.NoError(t, done())
		proxy.Accept()
		proxy.Restore()
		_ = stop()
		r.leaves()
	})
}

// TestRepliesAreLost all the time: nothing comes twice.
func TestRepliesAreLost(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		n := redistest.Count(t, 100, 5000)
		client, proxy := redistest.ThroughProxy(t, server)
		r := &rig{t: t, raw: server.Client(t), e: engineOn(t, client)}
		r.Queue = New[string](r.e, redistest.Name(t))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		all.Go(func() {
			for ctx.Err() == nil {
				proxy.ResetLog()
				proxy.DropReply(redistest.AnyScript(), 1)
				for ctx.Err() == nil && proxy.Count(redistest.AnyScript()) < 3 { // that some get through on a busy machine, too
					time.Sleep(10 * time.Millisecond)
				}
				if rand.N(5) == 0 {
					proxy.CutAll()
				}
			}
		})
		var mu sync.Mutex
		sure, came := map[string]bool{}, map[string]int{}
		stop := r.serves(func(_ context.Context, m *Message[string]) error {
			mu.Lock()
			defer mu.Unlock()
			came[m.Value]++
			return nil
		}, WithConcurrency(4))
		for i := range n {
			_, err := r.Add(t.Context(), strconv.Itoa(i))
			if err == nil {
				mu.Lock()
				sure[strconv.Itoa(i)] = true
				mu.Unlock()
			} else {
				require.ErrorIs(t, err, ErrOutcomeUnknown)
			}
		}
		redistest.Eventually(t, func() bool {
			s, err := r.Stats(t.Context())
			return err == nil && s.Acked == s.Added && s.Added >= int64(len(sure))
		}, 2*soon, 20*time.Millisecond)
		cancel()
		all.Wait()
		require.NoError(t, stop())
		for v := range sure {
			assert.Equal(t, 1, came[v], v)
		}
		for v, times := range came {
			assert.Equal(t, 1, times, v)
		}
		t.Logf("%d for sure, %d in all", len(sure), len(came))
		r.leaves()
	})
}

// TestOnACluster does to queues of different slots what waits for most of its time, at the same time. A replica takes over when that is done.
func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	tests := map[string]func(t *testing.T){
		"all paths": func(t *testing.T) {
			rigOn(t, cluster.Client(t), WithLease(redistest.Scaled(6*time.Second)), WithMaxAttempts(2)).everything()
		},
		"a name that breaks slots": func(t *testing.T) {
			_, err := New[string](engineOn(t, cluster.Client(t)), "{}orders").Add(t.Context(), "a")
			require.ErrorIs(t, err, ErrInvalidArgument)
		},
		"queues of all masters are listed": func(t *testing.T) {
			client := cluster.Client(t)
			queuesAreListed(t, engineOn(t, client), client)
		},
		"queues of several nodes are served together": func(t *testing.T) {
			r, done := rigOn(t, cluster.Client(t)), make(chan string, 30)
			queues := make([]Served, 6)
			for i := range queues {
				q := r.beside(strconv.Itoa(i))
				queues[i] = q.With(func(_ context.Context, m *Message[string]) error { done <- m.Value; return nil })
				q.fills("v", 3)
			}
			stop := servesAll(t, 2, queues...)
			for range 18 {
				redistest.Done(t, done)
			}
			require.NoError(t, stop())
		},
		"a slot moves for three leases":                  func(t *testing.T) { slotMoves(t, cluster) },
		"a slot moves under an acknowledgement":          func(t *testing.T) { slotMovesUnderAnAck(t, cluster) },
		"a slot moves under transfers":                   func(t *testing.T) { slotMovesUnderTransfers(t, cluster) },
		"a slot moves when a caller leaves its transfer": func(t *testing.T) { slotMovesUnderACancellation(t, cluster) },
	}
	t.Run("who waits is woken", func(t *testing.T) { whoWaitsIsWoken(t, cluster) }) // alone: it judges how long that takes
	redistest.Together(t, tests)
	t.Run("a replica takes over from the master of transfers", func(t *testing.T) { transfersWithAReplica(t, cluster) })
}

// whoWaitsIsWoken before anything would be looked for.
func whoWaitsIsWoken(t *testing.T, cluster *redistest.Cluster) {
	redistest.Within(t, mostWait/2, func() time.Duration {
		longest := time.Duration(0)
		r := rigOn(t, cluster.Client(t))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		got := make(chan string, 1)
		r.other().waits(ctx, &all, got)
		r.awaitIdle(1)
		for i := range 10 {
			began := time.Now()
			r.adds(strconv.Itoa(i))
			require.Equal(t, strconv.Itoa(i), redistest.Done(t, got))
			longest = max(longest, time.Since(began))
		}
		return longest
	})
}

// TestOnAClusterOfItsOwn is what other tests do to one server, with fewer messages.
func TestOnAClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	addrs := strings.Join(cluster.Addrs(), ",")
	redistest.Together(t, map[string]func(t *testing.T){
		"consumers are killed": func(t *testing.T) {
			rigOn(t, cluster.Client(t)).kills(addrs, redistest.Count(t, 400, 4000))
		},
		"the messages of the dead": func(t *testing.T) { dead(t, addrs, cluster.Client(t), true) },
		"every script twice":       func(t *testing.T) { sentTwice(t, cluster.Client(t), redistest.Count(t, 360, 6000)) },
	})
	t.Run("a failover", func(t *testing.T) {
		f := newFailover(t, cluster.Client)
		f.runs(func() {
			key := f.adder.of.parts[0]
			master := cluster.Master(key)
			master.Kill()
			cluster.AwaitMaster(t, key, master.Addr())
		})
	})
}

// slotMoves: no message's context ends, nothing is handled twice, and adds and takes go on
// behind it.
func slotMoves(t *testing.T, cluster *redistest.Cluster) {
	const lease, held = 5 * time.Second, 30
	r := rigOn(t, cluster.Client(t)).with(WithLease(lease))
	var mu sync.Mutex
	came := map[string]int{}
	var lost []error // why contexts ended
	release := make(chan struct{})
	h := func(ctx context.Context, m *Message[string]) error {
		mu.Lock()
		came[m.Value]++
		mu.Unlock()
		if strings.HasPrefix(m.Value, "long") {
			select {
			case <-release:
			case <-ctx.Done():
				mu.Lock()
				lost = append(lost, context.Cause(ctx))
				mu.Unlock()
			}
		}
		return nil
	}
	stops := []func() error{
		r.serves(h, WithConcurrency(2*held), WithLease(lease)), r.other().serves(h, WithConcurrency(2*held), WithLease(lease)),
	}
	for i := range held {
		r.adds("long" + strconv.Itoa(i))
	}
	redistest.Eventually(t, func() bool { s, err := r.Stats(t.Context()); return err == nil && s.Running == held }, soon, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	added := make(chan int)
	go func() { // load
		n := 0
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := r.Add(context.Background(), "short"+strconv.Itoa(i)); err == nil {
				n++
			}
			time.Sleep(5 * time.Millisecond)
		}
		added <- n
	}()
	time.Sleep(200 * time.Millisecond)
	m := cluster.StartMigration(t, r.part("body"))
	m.Move(t, r.part("body"), r.part("ready"))
	time.Sleep(lease)
	m.Move(t, r.part("lease"))
	time.Sleep(2 * lease)
	m.Finish(t)
	behind := r.counterOn("acked")
	redistest.Eventually(t, func() bool { return r.counterOn("acked") > behind+20 }, soon, 10*time.Millisecond)
	cancel()
	n := <-added
	close(release)
	redistest.Eventually(t, func() bool { s, err := r.Stats(t.Context()); return err == nil && s.Acked == s.Added }, soon, 10*time.Millisecond)
	for _, stop := range stops {
		require.NoError(t, stop())
	}
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, lost)
	for v, times := range came {
		assert.Equal(t, 1, times, v)
	}
	require.GreaterOrEqual(t, len(came), n+held)
	t.Logf("%d messages", len(came))
}

// slotMovesUnderAnAck, for longer than its lease: nobody else gets the message meanwhile,
// nor the one that is given back.
func slotMovesUnderAnAck(t *testing.T, cluster *redistest.Cluster) {
	const lease = 2 * time.Second
	r := rigOn(t, cluster.Client(t)).with(WithLease(lease))
	r.adds("acked")
	r.adds("released")
	acked, released := r.gets("acked"), r.gets("released")
	m := cluster.StartMigration(t, r.part("body"))
	m.Move(t, r.part("body"), r.part("meta"))
	var all sync.WaitGroup
	for _, settle := range []func(context.Context) error{acked.Ack, func(ctx context.Context) error { return released.Release(ctx) }} {
		all.Go(func() {
			if err := settle(context.Background()); err != nil {
				assert.ErrorIs(t, err, ErrOutcomeUnknown) // it goes on
			}
		})
	}
	time.Sleep(3 * lease)
	m.Finish(t)
	again := r.other().gets("released")
	require.Equal(t, 1, again.Attempt)
	require.NoError(t, again.Ack(t.Context()))
	all.Wait()
	redistest.Eventually(t, func() bool { return r.counterOn("acked") == 2 }, soon, 10*time.Millisecond)
	require.Zero(t, r.counterOn("ranout"))
}

// counterOn is counter while a slot may be on the move.
func (r *rig) counterOn(name string) int64 {
	var n int64
	redistest.Eventually(r.t, func() bool {
		got, err := r.raw.Do(r.t.Context(), r.raw.B().Hget().Key(r.part("meta")).Field(name).Build()).AsInt64()
		n = got
		return err == nil || rueidis.IsRedisNil(err)
	}, soon, 10*time.Millisecond)
	return n
}
