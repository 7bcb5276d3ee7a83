package semaphore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("names that break slots are refused", func(t *testing.T) {
		r := rigOn(t, cluster.Client(t), "{}stock")
		for name, op := range operations {
			require.ErrorIs(t, op(t.Context(), r.Semaphore, 1), ErrInvalidArgument, name)
		}
	})
	t.Run("the suite", func(t *testing.T) {
		for name, test := range suite {
			if name != "not set" { // which asks one node for its keys
				t.Run(name, func(t *testing.T) { test(t, rigOn(t, cluster.Client(t), redistest.Name(t))) })
			}
		}
	})
	t.Run("a slot moves", func(t *testing.T) { aSlotMoves(t, cluster) })
	t.Run("replies are lost around moves there and back", func(t *testing.T) { repliesAreLostAroundMoves(t, cluster) })
	t.Run("replicas confirm", func(t *testing.T) {
		r := rigOn(t, cluster.Client(t), redistest.Name(t), acked(1)).set(3)
		r.take(2)
		require.NoError(t, r.Acquire(t.Context(), 1))
		r.refused(1)
		r.give(3)
	})
	t.Run("a failover", func(t *testing.T) {
		r := rigOn(t, cluster.Client(t), redistest.Name(t))
		failsOver(t, r, cluster.Master(r.of.key), func(addr string) { cluster.AwaitMaster(t, r.of.key, addr) })
	})
}

func acked(n int) func(*core.Config) {
	return func(c *core.Config) { c.ReplicaAcks, c.AckTimeout = n, 2*time.Second }
}

// aSlotMoves moves a name with the permits that are taken of it under somebody
// who waits.
func aSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	r := rigOn(t, cluster.Client(t), redistest.Name(t)).set(2)
	r.take(2)
	done := r.acquiring(t.Context(), 1)
	r.waiting(1)
	m := cluster.StartMigration(t, r.of.key)
	m.Move(t, r.of.key)
	require.ErrorIs(t, r.Release(t.Context(), 2), ErrDeferred, "its lane is elsewhere: the server answers when the move is over")
	redistest.Waits(t, done)
	m.Finish(t)
	got(t, done)
	r.awaitFree(1)
	r.give(1)
	r.awaitFree(2)
}

// repliesAreLostAroundMoves: what is sent again comes behind the move of the slot,
// whole or by half, and finds its answer in the lane that came along.
func repliesAreLostAroundMoves(t *testing.T, cluster *redistest.Cluster) {
	through, before := cluster.Proxied(t)
	r := rigOn(t, through, redistest.Name(t), enginetest.ShortSends).set(5)
	r.Raw = cluster.Client(t)
	serves := cluster.Master(r.of.key)
	for range 2 {
		lost := before(serves).DropReply(r.sent(takeScript), 1, redistest.Silent())
		taken := r.acquiring(t.Context(), 3)
		lost.Await(t)
		there := cluster.StartMigration(t, r.of.key)
		there.Finish(t)
		got(t, taken)
		require.EqualValues(t, 2, r.free())

		lost = before(there.To()).DropReply(r.sent(giveScript), 1, redistest.Silent())
		given := make(chan error, 1)
		go func() { given <- r.Release(context.Background(), 3) }() // ends with its sends
		lost.Await(t)
		back := there.StartBack(t)
		back.Move(t, r.of.key)
		if err := redistest.Done(t, given); !errors.Is(err, ErrDeferred) && err != nil {
			require.ErrorIs(t, err, ErrOutcomeUnknown, "its lane is where it was")
		}
		back.Finish(t)
		r.awaitFree(5)
		redistest.Eventually(t, func() bool { return !r.E.CleaningUp() }, soon, time.Millisecond, "the release knows its answer")
	}
	require.Same(t, serves, cluster.Master(r.of.key))
	r.take(5)
	r.refused(1)
}

// failsOver has the master die under somebody who waits.
func failsOver(t *testing.T, r *rig, master *redistest.Server, await func(addr string)) {
	r.set(1)
	r.take(1)
	done := r.acquiring(t.Context(), 1)
	r.waiting(1)
	master.AwaitReplica(t)
	master.Kill()
	await(master.Addr())
	require.Eventually(t, func() bool {
		err := r.AddPermits(t.Context(), 1)
		return err == nil
	}, soon, 100*time.Millisecond)
	got(t, done)
}

func TestBehindSentinels(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	r := rigOn(t, sentinel.Client(t), redistest.Name(t))
	failsOver(t, r, sentinel.Master(), func(addr string) { sentinel.AwaitMaster(t, addr) })
}

// TestTooFewReplicas: what they did not confirm goes back.
func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), func(c *core.Config) { c.ReplicaAcks, c.AckTimeout = 1, 20*time.Millisecond })
	r.set(5)
	require.ErrorIs(t, r.TryAcquire(t.Context(), 2), ErrNotReplicated)
	require.EqualValues(t, 5, r.free())
	require.ErrorIs(t, r.Acquire(t.Context(), 2), ErrNotReplicated)
	require.EqualValues(t, 5, r.free())
	r.refused(6)
	r.give(1)
	require.EqualValues(t, 6, r.free())
}

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs what a client does under the
// user that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	user, proxy := redistest.Confined(t, server, "../docs/redis.md")
	r := rigOn(t, user, "orders:1", enginetest.ShortSends)
	r.Raw = admin
	for name, op := range operations {
		r.set(3)
		require.NoError(t, op(t.Context(), r.Semaphore, 1), name)
	}
	other := rigOn(t, admin, "orders:1")
	other.set(5)
	lost := proxy.DropReply(r.sent(takeScript), 100, redistest.Silent())
	require.ErrorIs(t, r.TryAcquire(t.Context(), 1), ErrOutcomeUnknown)
	lost.Cancel()
	proxy.Restore()
	require.Eventually(t, r.settledAll, soon, time.Millisecond)
	require.EqualValues(t, 5, r.free())
	r.Ask("SET", "orders:2", "many")
	require.ErrorContains(t, New(r.E, "orders:2").TryAcquire(t.Context(), 1), "string")
	r.set(1)
	r.take(1)
	done := r.acquiring(t.Context(), 1)
	r.waiting(1)
	other.give(1)
	got(t, done)
}

// TestTheACLOfTheDocsOnACluster is with what the page adds for one.
func TestTheACLOfTheDocsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	user := redistest.ConfinedOn(t, cluster, "../docs/redis.md")
	r, other := rigOn(t, cluster.Client(t, user), "orders:1"), rigOn(t, cluster.Client(t, user), "orders:1")
	for name, op := range operations {
		r.set(3)
		require.NoError(t, op(t.Context(), r.Semaphore, 1), name)
	}
	r.Raw = cluster.Client(t)
	r.set(1).take(1)
	done := r.acquiring(t.Context(), 1)
	r.waiting(1)
	other.give(1)
	got(t, done)
	p := permitRigOn(t, cluster.Client(t, user), "orders:2").set(1)
	held := p.take(WithLease(time.Minute))
	require.NoError(t, held.Extend(t.Context(), time.Hour))
	waits := p.acquiring(t.Context())
	p.waiting(1)
	p.give(held)
	p.give(gotPermit(t, waits))
}
