package ratelimiter_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

func openCluster(t testing.TB, cluster *redistest.Cluster) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

func TestKeysSpreadOverTheSlots(t *testing.T) {
	t.Parallel()
	const n, slots, nodes = 10_000, 16384, 3
	perSlot, perNode := map[int]int{}, [nodes]int{}
	for i := range n {
		slot := redistest.Slot(keys.BucketOf("logins", fmt.Sprintf("user:%d", i)))
		perSlot[slot]++
		perNode[slot*nodes/slots]++
	}
	most := 0
	for _, count := range perSlot {
		most = max(most, count)
	}
	t.Logf("%d keys in %d slots, at most %d in one; nodes have %v", n, len(perSlot), most, perNode)
	assert.Greater(t, len(perSlot), 7000, "7,500 is what chance gives")
	assert.Less(t, most, 10)
	for _, count := range perNode {
		assert.InDelta(t, n/nodes, count, 0.06*n/nodes)
	}
}

func TestLimitersOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Config("cluster-require-full-coverage", "no"))
	t.Run("keys spread over the slots", func(t *testing.T) { spreadOverSlots(t, cluster) })
	t.Run("keys spread over the nodes", func(t *testing.T) { spread(t, cluster) })
	t.Run("all limits of one key", func(t *testing.T) { allOfOneKey(t, cluster) })
	t.Run("limits of several slots", func(t *testing.T) { acrossSlots(t, cluster) })
	t.Run("names with braces", func(t *testing.T) { namesWithBraces(t, cluster) })
	t.Run("two clients share a limit", func(t *testing.T) { sharedByTwo(t, cluster) })
	t.Run("a changed rate", func(t *testing.T) { followsWithinASecond(t, openCluster(t, cluster), openCluster(t, cluster)) })
	t.Run("a changed rate, in other processes", func(t *testing.T) { followedByProcesses(t, cluster.Addrs(), openCluster(t, cluster)) })
	t.Run("the node of the rule is silent", func(t *testing.T) { ruleIsSilent(t, cluster) })
	t.Run("a rule that goes", func(t *testing.T) { ruleGoes(t, cluster) })
	t.Run("a limit in shadow", func(t *testing.T) { shadowElsewhere(t, cluster) })
	t.Run("a failover", func(t *testing.T) { clusterFailover(t, cluster) }) // the last: it leaves a dead node behind
}

// ruleIsSilent decides about keys of other nodes while the one of the rule does
// not answer.
func ruleIsSilent(t *testing.T, cluster *redistest.Cluster) {
	// A quarter of a second is for the rule, once. Its reading takes three seconds at least.
	redistest.Within(t, 1500*time.Millisecond, func() time.Duration {
		slowest := decidedInSilence(t, cluster)
		cluster.AwaitComplete(t) // a node that stood still for too long is a replica then
		return slowest
	})
}

// decidedInSilence pauses the node of a rule, and returns how long the slowest decision took.
func decidedInSilence(t *testing.T, cluster *redistest.Cluster) (slowest time.Duration) {
	t.Helper()
	l := openCluster(t, cluster).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(1_000_000))
	require.NoError(t, err)
	node := cluster.Master(l.Name())
	var elsewhere []*ratelimiter.Bucket
	for i := 0; len(elsewhere) < 20; i++ {
		key := fmt.Sprintf("user:%d", i)
		if cluster.Master(keys.BucketOf(l.Name(), key)).Addr() != node.Addr() {
			elsewhere = append(elsewhere, l.For(key))
			gets(t, l.For(key), 1)
		}
	}
	node.Pause()
	defer node.Resume()
	silent := time.Now()
	for time.Since(silent) < 1200*time.Millisecond { // the rule is too old by then
		slowest = max(slowest, decidedSoon(t, elsewhere))
	}
	return slowest
}

// decidedSoon has each bucket decide, and returns how long the slowest took.
func decidedSoon(t *testing.T, buckets []*ratelimiter.Bucket) (slowest time.Duration) {
	t.Helper()
	for _, b := range buckets {
		began := time.Now()
		gets(t, b, 1)
		slowest = max(slowest, time.Since(began))
	}
	return slowest
}

// spreadOverSlots lets the nodes count what 10,000 keys of one limiter leave in
// each slot.
func spreadOverSlots(t *testing.T, cluster *redistest.Cluster) {
	const n, goroutines, slots, nodes = 10_000, 50, 16384, 3
	l := openCluster(t, cluster).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(2))
	require.NoError(t, err)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < n; i += goroutines {
				ok, err := l.For(fmt.Sprintf("user:%d", i)).Allow(t.Context())
				if !assert.NoError(t, err) || !assert.True(t, ok, "a key that another one shares a bucket with") {
					return
				}
			}
		})
	}
	all.Wait()
	sum, used, most := int64(0), 0, int64(0)
	for i, node := range cluster.Nodes()[:nodes] {
		here := int64(0)
		for _, count := range countInSlots(t, node.Client(t), i*slots/nodes, (i+1)*slots/nodes) {
			if here += count; count > 0 {
				used++
			}
			most = max(most, count)
		}
		sum += here
		assert.InDelta(t, n/nodes, here, 0.06*n/nodes, "node %d", i)
	}
	t.Logf("%d keys in %d slots, at most %d in one", sum, used, most)
	assert.EqualValues(t, n+1, sum, "a bucket for each key, and the rule")
	assert.Greater(t, used, 7000, "7,500 is what chance gives")
	assert.Less(t, most, int64(10))
}

func countInSlots(t *testing.T, node rueidis.Client, from, to int) (counts []int64) {
	t.Helper()
	var ask rueidis.Commands
	for slot := from; slot < to; slot++ {
		ask = append(ask, node.B().ClusterCountkeysinslot().Slot(int64(slot)).Build())
	}
	for _, answer := range node.DoMulti(t.Context(), ask...) {
		count, err := answer.AsInt64()
		require.NoError(t, err)
		counts = append(counts, count)
	}
	return counts
}

// spread uses many keys of one limiter from two clients: each key has the
// whole rate for itself, and every node keeps some of them.
func spread(t *testing.T, cluster *redistest.Cluster) {
	c, name := openCluster(t, cluster), redistest.Name(t)
	l := c.RateLimiter(name)
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(2))
	require.NoError(t, err)
	for _, node := range cluster.Nodes()[:3] {
		node.ResetStats()
	}
	var granted atomic.Int64
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 400 {
				key := l.For(fmt.Sprintf("user:%d", (i+g*50)%400))
				if ok, err := key.Allow(t.Context()); assert.NoError(t, err) && ok {
					granted.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 2*400, granted.Load())
	for _, node := range cluster.Nodes()[:3] {
		require.Greater(t, node.ScriptCalls(t), int64(8*400/3/2))
	}
}

func allOfOneKey(t *testing.T, cluster *redistest.Cluster) {
	c, tail := openCluster(t, cluster), redistest.Name(t)
	second, day := c.RateLimiter("second-"+tail), c.RateLimiter("day-"+tail)
	for _, l := range []*ratelimiter.Limiter{second, day} {
		_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(3))
		require.NoError(t, err)
	}
	for i := range 5 {
		all := ratelimiter.All(second, day).For(fmt.Sprintf("user:%d", i))
		d, err := all.Take(t.Context(), 2)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.Len(t, d.Members, 2)
		d, err = all.Take(t.Context(), 2)
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.EqualValues(t, 1, d.Remaining)
	}
	tagged := ratelimiter.All(c.RateLimiter("{"+tail+"}a"), c.RateLimiter("{"+tail+"}b"))
	_, err := tagged.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrNoRate, "their slot is no problem")
}

// acrossSlots sends nothing, not even a question for the rule.
func acrossSlots(t *testing.T, cluster *redistest.Cluster) {
	c, tail := openCluster(t, cluster), redistest.Name(t)
	one, other := c.RateLimiter("one-"+tail), c.RateLimiter("other-"+tail)
	require.NotEqual(t, redistest.Slot(keys.Bucket(one.Name())), redistest.Slot(keys.Bucket(other.Name())))
	for _, node := range cluster.Nodes() {
		node.ResetStats()
	}
	for name, all := range map[string]*ratelimiter.Combined{
		"without keys":      ratelimiter.All(one, other),
		"one with a key":    ratelimiter.All(one, other.For("u")),
		"of different keys": ratelimiter.All(one.For("u"), other.For("v")),
	} {
		_, err := all.Take(t.Context(), 1)
		require.ErrorIs(t, err, ratelimiter.ErrCrossSlot, name)
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, name)
		require.NotContains(t, err.Error(), "{u}", "a key's text: %s", name)
		require.ErrorIs(t, all.Wait(t.Context()), ratelimiter.ErrCrossSlot, name)
	}
	for _, node := range cluster.Nodes() {
		require.Zero(t, node.ScriptCalls(t), "something was sent")
	}
}

func namesWithBraces(t *testing.T, cluster *redistest.Cluster) {
	c, tail := openCluster(t, cluster), redistest.Name(t)
	for _, name := range []string{"{}limit", "limit}42", "limit{42", "}{", "a{}b{c}"} {
		l := c.RateLimiter(name + tail)
		_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(1))
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, name)
		require.ErrorIs(t, err, keys.ErrSlot, name)
		_, err = l.For("u").Take(t.Context(), 1)
		require.ErrorIs(t, err, keys.ErrSlot, name)
		_, err = ratelimiter.All(l.For("u")).Take(t.Context(), 1)
		require.ErrorIs(t, err, keys.ErrSlot, name)
	}
	for _, name := range []string{"{limit}42", "limit{42}", "a{b}c{d"} {
		l := c.RateLimiter(name + tail)
		_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(1))
		require.NoError(t, err, name)
		for _, key := range []string{"u", "{u}", "}{", "%7B", "u}v{w", "a very long key that is longer than sixty-four bytes, and so hashed"} {
			ok, err := l.For(key).Allow(t.Context())
			require.NoError(t, err, name+" "+key)
			require.True(t, ok, name+" "+key)
		}
		there, err := l.Delete(t.Context())
		require.NoError(t, err, name)
		require.True(t, there, name)
	}
}

func sharedByTwo(t *testing.T, cluster *redistest.Cluster) {
	name := redistest.Name(t)
	var granted atomic.Int64
	var all sync.WaitGroup
	for i := range 2 {
		l := openCluster(t, cluster).RateLimiter(name)
		_, created, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(100))
		require.NoError(t, err)
		require.Equal(t, i == 0, created)
		for range 16 {
			all.Go(func() {
				for range 10 {
					if ok, err := l.Allow(t.Context()); assert.NoError(t, err) && ok {
						granted.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	require.EqualValues(t, 100, granted.Load())
}

// clusterFailover kills the node that has the rule and the bucket without a key.
func clusterFailover(t *testing.T, cluster *redistest.Cluster) {
	l := openCluster(t, cluster).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(10))
	require.NoError(t, err)
	ok, err := l.AllowN(t.Context(), 6)
	require.NoError(t, err)
	require.True(t, ok)
	old := cluster.Master(l.Name())
	inStep(t, old.Client(t), "{"+l.Name()+"}in step")
	old.Kill()
	cluster.AwaitMaster(t, l.Name(), old.Addr())
	began := time.Now()
	var d ratelimiter.Decision
	require.Eventually(t, func() bool {
		d, err = l.Take(t.Context(), 5)
		return err == nil
	}, soon, 10*time.Millisecond, "calls never went on: %v", err)
	t.Logf("calls went on %v after the failover", time.Since(began))
	require.False(t, d.Allowed, "of 10 tokens 6 were taken")
	require.EqualValues(t, 4, d.Remaining)
}
