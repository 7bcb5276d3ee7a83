package fairlock_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// outlasts is a lease that no failover takes longer than.
const outlasts = 2 * time.Minute

// shard is a master with a replica that takes over from it.
type shard struct {
	option          rueidis.ClientOption
	tag             string // of names that it serves
	master, replica func() *redistest.Server
	awaitMaster     func(t testing.TB, not string) *redistest.Server
	awaitComplete   func(t testing.TB)
}

func clusterShard(t testing.TB) shard {
	const tag = "{fair topology}"
	c := redistest.StartCluster(t)
	return shard{
		option: rueidis.ClientOption{InitAddress: c.Addrs(), DisableCache: true}, tag: tag,
		master:        func() *redistest.Server { return c.Master(tag) },
		replica:       func() *redistest.Server { return c.Replica(tag) },
		awaitMaster:   func(t testing.TB, not string) *redistest.Server { return c.AwaitMaster(t, tag, not) },
		awaitComplete: c.AwaitComplete,
	}
}

func sentinelShard(t testing.TB) shard {
	s := redistest.StartSentinel(t)
	return shard{
		option: rueidis.ClientOption{
			InitAddress: s.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: s.MasterName()}, DisableCache: true,
		},
		master: s.Master, replica: s.Replica, awaitMaster: s.AwaitMaster,
		awaitComplete: func(testing.TB) {}, // where the replica is in step, all is
	}
}

func (s shard) open(t testing.TB, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	return locktest.Connected(t, s.option, opts...)
}

func (s shard) name(t testing.TB) string { return redistest.Name(t) + s.tag }

// awaitReplica waits until the replica confirms what the master writes.
func (s shard) awaitReplica(t testing.TB) {
	t.Helper()
	conn, release := s.master().Client(t).Dedicate()
	defer release()
	require.Eventually(t, func() bool {
		set := conn.B().Set().Key("in step" + s.tag).Value("1").Build()
		acks, err := conn.DoMulti(context.Background(), set, conn.B().Wait().Numreplicas(1).Timeout(500).Build())[1].AsInt64()
		return err == nil && acks == 1
	}, soon, 10*time.Millisecond)
}

func TestFairLocksOnACluster(t *testing.T) {
	t.Parallel()
	overAReplica(t, clusterShard(t))
}

func TestFairLocksBehindSentinels(t *testing.T) {
	t.Parallel()
	overAReplica(t, sentinelShard(t))
}

func overAReplica(t *testing.T, s shard) {
	t.Run("an acquire is confirmed by the replica", func(t *testing.T) { confirms(t, s) })
	t.Run("so is a waiter's", func(t *testing.T) { confirmsWaiters(t, s) })
	t.Run("a failover", func(t *testing.T) { failsOver(t, s) })
	t.Run("a failover that forgets", func(t *testing.T) { forgets(t, s) })
}

// confirms shows what WithReplicaAcks promises: the replica has the hold, or
// there is none.
func confirms(t *testing.T, s shard) {
	s.awaitReplica(t)
	patient := s.open(t, rueidisson.WithReplicaAcks(1, 10*time.Second)).FairLock(s.name(t))
	hasty := s.open(t, rueidisson.WithReplicaAcks(1, 300*time.Millisecond)).FairLock(patient.Name())
	hold := locktest.Take(t, patient)
	onReplica, release := s.replica().Client(t).Dedicate()
	defer release()
	_ = onReplica.Do(t.Context(), onReplica.B().Readonly().Build()).Error() // refused without a cluster, where it is not needed
	left, err := onReplica.Do(t.Context(), onReplica.B().Pttl().Key(patient.Name()).Build()).AsInt64()
	require.NoError(t, err)
	require.Positive(t, left, "the replica has it as soon as Lock returns")
	locktest.Unlock(t, hold)

	s.replica().Pause()
	_, err = hasty.Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotReplicated)
	require.NotErrorIs(t, err, lock.ErrOutcomeUnknown)
	mustBeFree(t, hasty)
	_, err = hasty.TryLock(t.Context(), lock.WithWait(soon))
	require.ErrorIs(t, err, lock.ErrNotReplicated, "it is not waited for")
	mustBeFree(t, hasty)
	s.replica().Resume()
	s.awaitReplica(t)
	locktest.Unlock(t, locktest.Take(t, patient))
	mustBeFree(t, patient)
}

// confirmsWaiters lets a waiter's turn come while the replica is silent: the
// lock goes on to the next, who is more patient.
func confirmsWaiters(t *testing.T, s shard) {
	s.awaitReplica(t)
	hasty := s.open(t, rueidisson.WithReplicaAcks(1, 300*time.Millisecond)).FairLock(s.name(t))
	other := s.open(t).FairLock(hasty.Name())
	var held *lock.Hold
	redistest.Eventually(t, func() bool {
		var err error
		if held, err = hasty.Lock(t.Context()); err != nil {
			require.ErrorIs(t, err, lock.ErrNotReplicated, "the replica was slow")
		}
		return err == nil
	}, soon, time.Millisecond, "nothing is confirmed in time")
	first := lockLater(t.Context(), hasty)
	awaitQueue(t, other, 1)
	second := lockLater(t.Context(), other)
	awaitQueue(t, other, 2)
	s.replica().Pause()
	locktest.Unlock(t, held)
	require.ErrorIs(t, (<-first).err, lock.ErrNotReplicated)
	locktest.Unlock(t, got(t, second))
	s.replica().Resume()
	mustBeFree(t, other)
}

// failsOver kills the master while a lock is held and waited for: hold and
// order outlast it.
func failsOver(t *testing.T, s shard) {
	name := s.name(t)
	here, there := s.open(t, rueidisson.WithWatchdogTimeout(outlasts)), s.open(t, rueidisson.WithWatchdogTimeout(outlasts))
	held := locktest.Take(t, here.FairLock(name))
	var waited []<-chan result
	for i, c := range []*rueidisson.Client{there, here, there, there} {
		waited = append(waited, lockLater(t.Context(), c.FairLock(name)))
		awaitQueue(t, here.FairLock(name), i+1)
	}
	before := awaitQueue(t, here.FairLock(name), len(waited))
	s.awaitReplica(t)

	old := s.master()
	old.Kill()
	s.awaitMaster(t, old.Addr())
	require.Eventually(t, func() bool {
		return held.Extend(t.Context(), 2*outlasts) == nil
	}, soon, 50*time.Millisecond, "the new master knows the hold, and the client the new master")
	require.Equal(t, before, awaitQueue(t, here.FairLock(name), len(before)), "and the queue")
	locktest.Unlock(t, held)
	inOrder(t, waited)
	old.Restart()
	s.awaitReplica(t)
	mustBeFree(t, there.FairLock(name))
}

// forgets is what asynchronous replication costs: a hold that the replica had not
// heard of is gone with the master, and its holder learns it at the next renewal,
// and takes nothing from another who holds the lock by then.
func forgets(t *testing.T, s shard) {
	watchdog := rueidisson.WithWatchdogTimeout(20 * time.Second) // a renewal comes every third of it
	name, here, there := s.name(t), s.open(t, watchdog), s.open(t, watchdog)
	locktest.Unlock(t, locktest.Take(t, here.FairLock(name)))
	s.awaitComplete(t)
	s.awaitReplica(t)
	old := s.master()
	var first *lock.Hold
	redistest.Forgotten(t, old, s.replica(), func() {
		first = locktest.Take(t, here.FairLock(name))
		require.NoError(t, first.Extend(t.Context(), 2*soon), "a failover may take longer than a watchdog's timeout")
	})
	s.awaitMaster(t, old.Addr())
	lost(t, first, locktest.Take(t, there.FairLock(name)))
	mustBeFree(t, there.FairLock(name))
}

// A process that was killed is passed over by the unlock itself, on a cluster as
// elsewhere: nobody else is there to do it. One that was not heard of for so long
// that the machine stood still proves nothing.
func TestAKilledWaiterOfAClusterIsPassedOverByTheUnlock(t *testing.T) {
	t.Parallel()
	s := clusterShard(t)
	for try := range 20 {
		l := s.open(t).FairLock(fmt.Sprintf("%s%d", s.name(t), try))
		held := locktest.Take(t, l)
		child := redistest.StartChild(t, "holder", "FAIR_ADDR="+s.master().Addr(), "FAIR_NAME="+l.Name())
		gone := awaitQueue(t, l, 1)[0].Owner
		said := time.Now()
		child.Kill()
		node := s.master().Client(t)
		channel := "rueidisson_fair:" + l.Name() + ":" + gone[:36]
		redistest.Eventually(t, func() bool {
			counts, err := node.Do(t.Context(), node.B().PubsubShardnumsub().Channel(channel).Build()).AsIntMap()
			return err == nil && counts[channel] == 0
		}, soon, time.Millisecond)
		locktest.Unlock(t, held)
		left, err := l.Queue(t.Context())
		require.NoError(t, err)
		if time.Since(said) < 800*time.Millisecond {
			require.Empty(t, left)
			return
		}
	}
	t.Fatal("the machine stood still each time")
}

// inOrder takes the turns of the waiters, none of which has its own before the
// one ahead has had it.
func inOrder(t testing.TB, waited []<-chan result) {
	t.Helper()
	for i, w := range waited {
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(waited[i:], func(w <-chan result) bool { return len(w) > 0 })
		}, soon, time.Millisecond, "nobody's turn came")
		require.NotEmpty(t, w, "another was before it")
		hold := got(t, w)
		for _, later := range waited[i+1:] {
			require.Empty(t, later, "the order is kept")
		}
		locktest.Unlock(t, hold)
	}
}
