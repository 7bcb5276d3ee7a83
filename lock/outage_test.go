package lock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/watchdog"
	"github.com/rueidisson/rueidisson/lock"
)

// openCluster connects a client to the cluster and closes it when the test ends.
func openCluster(t testing.TB, cluster *redistest.Cluster, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true}, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	return c
}

// namesOn are n names whose keys the node serves.
func namesOn(t testing.TB, cluster *redistest.Cluster, node *redistest.Server, n int) (names []string) {
	t.Helper()
	for len(names) < n {
		if name := redistest.Name(t); cluster.Master(name) == node {
			names = append(names, name)
		}
	}
	return names
}

// kept is a hold, and the first thing that went wrong with it.
type kept struct {
	*lock.Hold
	name    string
	work    context.Context
	warning <-chan struct{}
}

func keep(t testing.TB, c *rueidisson.Client, names []string) (all []kept) {
	t.Helper()
	for _, name := range names {
		hold := acquire(t, c.Lock(name))
		all = append(all, kept{hold, name, hold.Context(t.Context()), hold.Expiring()})
	}
	return all
}

// party is a client and its holds on either side of an outage.
type party struct {
	*rueidisson.Client
	lease     time.Duration
	bad, good []kept
}

// A node that has neither crashed nor answers is the worst there is: nobody
// takes over from it, and whoever asks it waits.
func TestASilentNodeCostsTheHoldsOfOthersNothing(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t,
		redistest.Config("cluster-require-full-coverage", "no"), redistest.Config("cluster-replica-no-failover", "yes"))
	silent, second, third := cluster.Nodes()[0], cluster.Nodes()[1], cluster.Nodes()[2]
	onReplica := readsReplica(t, cluster.Nodes()[3])
	parties := []*party{{lease: 9 * time.Second}, {lease: 12 * time.Second}, {lease: 9 * time.Second}, {lease: 12 * time.Second}}
	for _, p := range parties {
		p.Client = openCluster(t, cluster, rueidisson.WithWatchdogTimeout(p.lease))
		p.bad = keep(t, p.Client, namesOn(t, cluster, silent, 2))
		p.good = keep(t, p.Client, append(namesOn(t, cluster, second, 2), namesOn(t, cluster, third, 2)...))
	}
	fresh := namesOn(t, cluster, second, 1)[0]

	var bad []kept
	for _, p := range parties {
		bad = append(bad, p.bad...)
	}
	for _, hold := range bad { // replication is asynchronous, and it is the replica that will be asked
		redistest.Eventually(t, func() bool { return expiry(t, onReplica, hold.name).After(time.Now()) }, redistest.Soon, time.Millisecond)
	}
	held := watchStalls(t)
	silent.Pause()
	defer silent.Resume()
	for _, left := range endsBefore(t, onReplica, bad) {
		require.True(t, left > 0 || held() > 100*time.Millisecond, "%v: the server may have given a lock away already", left)
		t.Logf("a hold ended %v before its key", left)
	}
	for _, hold := range bad {
		require.ErrorIs(t, context.Cause(hold.work), watchdog.ErrRanOut)
		require.True(t, isDone(hold.warning))
	}
	for _, p := range parties {
		require.NoError(t, acquire(t, p.Lock(fresh)).Unlock(t.Context()), "new holds elsewhere come and go")
	}
	stays(t, parties[0].good[0].Hold, parties[0].good[0].work, 5*time.Second)
	steady := held() < time.Second
	for _, p := range parties {
		p.keepsTheGood(t, steady)
	}
}

// watchStalls returns what tells for how long, at the most, the machine has let
// nothing happen here since.
func watchStalls(t testing.TB) (longest func() time.Duration) {
	var most atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { // ended by the cleanup
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-tick.C:
			case <-done:
				return
			}
			now := time.Now()
			most.Store(max(most.Load(), int64(now.Sub(last))))
			last = now
		}
	}()
	t.Cleanup(func() { close(done); <-ended })
	return func() time.Duration { return time.Duration(most.Load()) }
}

// endsBefore waits for the end of each hold and notes by how much it preceded
// that of its key, which nobody lengthens any more.
func endsBefore(t testing.TB, onReplica rueidis.CoreClient, holds []kept) []time.Duration {
	t.Helper()
	lefts := make([]time.Duration, len(holds))
	var wg sync.WaitGroup
	for i, hold := range holds {
		end := expiry(t, onReplica, hold.name)
		wg.Go(func() { // ended by the loss
			<-hold.work.Done()
			lefts[i] = time.Until(end)
		})
	}
	wg.Wait()
	return lefts
}

// expiry is when the key ends, as its replica sees it; long ago if it is not
// there. A replica that has answered once has read what its master wrote before.
func expiry(t testing.TB, onReplica rueidis.CoreClient, key string) time.Time {
	t.Helper()
	require.NoError(t, onReplica.Do(context.Background(), onReplica.B().Ping().Build()).Error())
	at, err := onReplica.Do(context.Background(), onReplica.B().Pexpiretime().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	return time.UnixMilli(at)
}

// keepsTheGood checks that nothing was lost, and that nothing was late unless
// the machine was.
func (p *party) keepsTheGood(t testing.TB, steady bool) {
	t.Helper()
	for _, hold := range p.good {
		require.False(t, steady && isDone(hold.warning), "lease %v: a renewal on a node that answers was late", p.lease)
		require.NoError(t, hold.Err())
		require.NoError(t, hold.Unlock(t.Context()))
	}
}

// readsReplica is a connection that is told what a replica has.
func readsReplica(t testing.TB, replica *redistest.Server) rueidis.CoreClient {
	t.Helper()
	conn, release := replica.Client(t).Dedicate()
	t.Cleanup(release)
	_ = conn.Do(t.Context(), conn.B().Readonly().Build()).Error() // refused without a cluster, where it is not needed
	return conn
}
