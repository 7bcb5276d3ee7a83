package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/watchdog"
	"github.com/rueidisson/rueidisson/lock"
)

// outlasts is a watchdog timeout that a failover fits into.
const outlasts = 20 * time.Second

// longestWait is what a waiter sleeps at least, if no message wakes it.
const longestWait = 4500 * time.Millisecond

func TestLocksOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("a release wakes a waiter", func(t *testing.T) { wakesOnCluster(t, cluster) })
	t.Run("a name that breaks slots is refused", func(t *testing.T) { refusesBrokenNames(t, cluster) })
	t.Run("an acquire is confirmed by the replica", func(t *testing.T) { confirms(t, clusterShard{cluster}) })
	t.Run("a master that evicts is warned of", func(t *testing.T) { warnsOfEveryMaster(t, cluster) })
	t.Run("a failover", func(t *testing.T) { failsOver(t, clusterShard{cluster}) })
}

func wakesOnCluster(t *testing.T, cluster *redistest.Cluster) {
	for name, of := range map[string]struct {
		sharding rueidisson.Sharding
		command  string
	}{
		"Auto is sharded": {rueidisson.Auto, "spublish"},
		"On is sharded":   {rueidisson.On, "spublish"},
		"Off is plain":    {rueidisson.Off, "publish"},
	} {
		t.Run(name, func(t *testing.T) {
			holder := openCluster(t, cluster, rueidisson.WithShardedPubSub(of.sharding))
			waiter := openCluster(t, cluster, rueidisson.WithShardedPubSub(of.sharding))
			for _, node := range cluster.Nodes()[:3] {
				lockName := namesOn(t, cluster, node, 1)[0]
				redistest.Within(t, longestWait, func() time.Duration { // the message woke the waiter
					node.ResetStats()
					took := wakes(t, holder.Lock(lockName), waiter.Lock(lockName))
					require.EqualValues(t, 2, node.CommandCalls(t, of.command), "the holder's release and the waiter's")
					return took
				})
			}
		})
	}
}

// wakes measures how long it took from the start of a wait until a release had reached the waiter. Less than the
// longest sleep: the message woke it.
func wakes(t testing.TB, holder, waiter *lock.Lock) time.Duration {
	t.Helper()
	hold := acquire(t, holder)
	began := time.Now()
	waiting := lockLater(t, waiter)
	awaitWaiters(t, holder, 1)
	require.NoError(t, hold.Unlock(t.Context()))
	next, err := waiting.result(t)
	require.NoError(t, err)
	require.NoError(t, next.Unlock(t.Context()))
	return waiting.at.Sub(began)
}

func refusesBrokenNames(t *testing.T, cluster *redistest.Cluster) {
	c := openCluster(t, cluster)
	for _, node := range cluster.Nodes() {
		node.ResetStats()
	}
	for _, name := range []string{"{}order", "order}42", "order{42", "}{", "a{}b{c}"} {
		for op, err := range everyOperation(t.Context(), c.Lock(name), javaToken(t)) {
			require.ErrorIs(t, err, lock.ErrInvalidArgument, op)
			require.ErrorIs(t, err, keys.ErrSlot, op)
			require.ErrorContains(t, err, name, op)
		}
	}
	for _, node := range cluster.Nodes() {
		require.Zero(t, node.ScriptCalls(t), "nothing was sent")
	}
	for _, name := range []string{"{order}42", "order{42}", "a{b}c{d"} {
		tail := redistest.Name(t)
		require.NoError(t, acquire(t, c.Lock(name+tail)).Unlock(t.Context()), name)
	}
}

// shard is a master with a replica that takes over from it.
type shard interface {
	open(t testing.TB, opts ...rueidisson.Option) *rueidisson.Client
	// name is a fresh one of the shard that all tests share.
	name(t testing.TB) string
	master(t testing.TB) *redistest.Server
	replica(t testing.TB) *redistest.Server
	awaitMaster(t testing.TB, not string) *redistest.Server
	awaitComplete(t testing.TB)
}

const shardTag = "{topology}"

type clusterShard struct{ *redistest.Cluster }

func (s clusterShard) open(t testing.TB, opts ...rueidisson.Option) *rueidisson.Client {
	return openCluster(t, s.Cluster, opts...)
}
func (s clusterShard) name(t testing.TB) string               { return redistest.Name(t) + shardTag }
func (s clusterShard) master(testing.TB) *redistest.Server    { return s.Master(shardTag) }
func (s clusterShard) replica(t testing.TB) *redistest.Server { return s.Replica(shardTag) }
func (s clusterShard) awaitComplete(t testing.TB)             { s.AwaitComplete(t) }
func (s clusterShard) awaitMaster(t testing.TB, not string) *redistest.Server {
	return s.AwaitMaster(t, shardTag, not)
}

type sentinelShard struct{ *redistest.Sentinel }

func (s sentinelShard) open(t testing.TB, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{
		InitAddress: s.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: s.MasterName()}, DisableCache: true,
	}, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	return c
}
func (s sentinelShard) name(t testing.TB) string             { return redistest.Name(t) }
func (s sentinelShard) master(testing.TB) *redistest.Server  { return s.Master() }
func (s sentinelShard) replica(testing.TB) *redistest.Server { return s.Replica() }
func (s sentinelShard) awaitMaster(t testing.TB, not string) *redistest.Server {
	return s.AwaitMaster(t, not)
}

// awaitComplete waits until the replica has what the master writes.
func (s sentinelShard) awaitComplete(t testing.TB) { awaitReplica(t, s) }

func TestLocksBehindSentinels(t *testing.T) {
	t.Parallel()
	s := sentinelShard{redistest.StartSentinel(t)}
	t.Run("the forms of a URL", func(t *testing.T) {
		c, err := rueidisson.Open("redis://" + s.Addrs()[0] + "?master_set=" + s.MasterName() +
			"&addr=" + s.Addrs()[1] + "&client_cache=0")
		require.NoError(t, err)
		defer locktest.Close(c)
		require.NoError(t, acquire(t, c.Lock(s.name(t))).Unlock(t.Context()))
	})
	t.Run("a release wakes a waiter", func(t *testing.T) {
		name := s.name(t)
		redistest.Within(t, longestWait, func() time.Duration { return wakes(t, s.open(t).Lock(name), s.open(t).Lock(name)) })
	})
	t.Run("an acquire is confirmed by the replica", func(t *testing.T) { confirms(t, s) })
	t.Run("a failover", func(t *testing.T) { failsOver(t, s) })
}

// confirms shows what WithReplicaAcks promises: the replica has the hold, or
// there is none.
func confirms(t *testing.T, s shard) {
	awaitReplica(t, s)
	master, replica := s.master(t).Client(t), s.replica(t)
	patient := s.open(t, rueidisson.WithReplicaAcks(1, 10*time.Second)).Lock(s.name(t))
	l := s.open(t, rueidisson.WithReplicaAcks(1, 300*time.Millisecond)).Lock(patient.Name())
	hold := acquire(t, patient)
	require.Positive(t, keyLeft(t, readsReplica(t, replica), l.Name()), "the replica has it as soon as Lock returns")
	require.NoError(t, hold.Unlock(t.Context()))

	replica.Pause()
	_, err := l.Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotReplicated)
	require.ErrorContains(t, err, l.Name())
	require.NotErrorIs(t, err, lock.ErrOutcomeUnknown)
	require.Empty(t, ownersOf(t, master, l.Name()), "the acquire was undone")
	_, err = l.TryLock(t.Context(), lock.WithWait(soon))
	require.ErrorIs(t, err, lock.ErrNotReplicated, "it is not waited for")
	replica.Resume()

	s.awaitComplete(t)
	require.NoError(t, acquire(t, patient).Unlock(t.Context()))
}

// awaitReplica waits until the replica confirms what the master writes.
func awaitReplica(t testing.TB, s shard) {
	t.Helper()
	conn, release := s.master(t).Client(t).Dedicate()
	defer release()
	require.Eventually(t, func() bool {
		set := conn.B().Set().Key("in step" + shardTag).Value("1").Build()
		acks, err := conn.DoMulti(context.Background(), set, conn.B().Wait().Numreplicas(1).Timeout(500).Build())[1].AsInt64()
		return err == nil && acks == 1
	}, soon, 10*time.Millisecond)
}

// failsOver kills the master while locks are held and waited for: first with
// holds that the replica knows, then with one that it does not.
func failsOver(t *testing.T, s shard) {
	holder := s.open(t, rueidisson.WithWatchdogTimeout(outlasts))
	waiter := s.open(t, rueidisson.WithWatchdogTimeout(3*soon)) // a wait ends when an outage lasts longer
	name := s.name(t)
	hold := acquire(t, holder.Lock(name))
	work := hold.Context(t.Context())
	waiting := lockLater(t, waiter.Lock(name))
	awaitWaiters(t, holder.Lock(name), 1)
	require.NoError(t, hold.Extend(t.Context(), 2*soon), "Sentinels may need longer than a watchdog's timeout")
	awaitReplica(t, s)

	old := s.master(t)
	old.Kill()
	s.awaitMaster(t, old.Addr())
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, hold.Extend(t.Context(), 3*soon), "the new master knows the hold, and the client the new master")
	}, soon, 50*time.Millisecond)
	stays(t, hold, work, 0)
	require.False(t, isDone(waiting.done), "the lock is held, also on the new master")
	moved := time.Now()
	require.Eventually(t, func() bool {
		n, err := holder.Lock(name).Waiting(t.Context())
		return err == nil && n == 1
	}, 15*time.Second, 10*time.Millisecond, "the waiter listens on the new master, without waiting for its own map to age") // before rueidis' map ages
	t.Logf("after the failover the waiter listened on the new master within %v", time.Since(moved))
	released := time.Now()
	require.NoError(t, hold.Unlock(t.Context()))
	next, err := waiting.result(t)
	require.NoError(t, err)
	t.Logf("after the failover the waiter had the lock %v after its release", waiting.at.Sub(released))
	require.NoError(t, next.Unlock(t.Context()))

	old.Restart()
	s.awaitComplete(t)
	forgets(t, s, holder, waiter)
}

// forgets shows what asynchronous replication costs: a hold that the replica
// had not heard of is gone with the master, and its holder learns it at the
// next renewal; until then another may hold the lock too. It has the higher
// token, also than one that was given before the failover, and what is written to
// refuses the other.
func forgets(t *testing.T, s shard, holder, other *rueidisson.Client) {
	name := s.name(t)
	for range 5 { // the counter of before stands on the replica
		require.NoError(t, acquire(t, holder.FencedLock(name)).Unlock(t.Context()))
	}
	s.awaitComplete(t)
	awaitReplica(t, s)
	replica, old := s.replica(t), s.master(t)
	replica.Pause()
	cut := old.Client(t) // else the hold would wait in the replica's socket
	require.NoError(t, cut.Do(t.Context(), cut.B().ClientKill().TypeReplica().Build()).Error())
	hold := acquire(t, holder.FencedLock(name))
	require.NoError(t, hold.Extend(t.Context(), 2*soon), "a failover may take longer than a watchdog's timeout")
	work := hold.Context(t.Context())
	old.Kill()
	replica.Resume()
	s.awaitMaster(t, old.Addr())

	var second *lock.Hold
	require.Eventually(t, func() (free bool) {
		var err error
		second, err = other.FencedLock(name).TryLock(t.Context())
		return err == nil
	}, soon, 50*time.Millisecond, "the new master does not know the hold")
	guards(t, other, name, work, second)
	locktest.Ended(t, "the loss", work.Done())
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	require.ErrorIs(t, context.Cause(work), watchdog.ErrGone)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	require.NoError(t, second.Err(), "the late unlock left the second owner alone")
	require.NoError(t, second.Extend(t.Context(), outlasts))
	require.NoError(t, second.Unlock(t.Context()))
}
