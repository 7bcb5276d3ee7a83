package semaphore

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/pace"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestPermitsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("names that break slots are refused", func(t *testing.T) {
		r := permitRigOn(t, cluster.Client(t), "{}stock")
		for name, op := range permitOperations {
			require.ErrorIs(t, op(t.Context(), r.PermitSemaphore, 1), ErrInvalidArgument, name)
		}
	})
	t.Run("the suite", func(t *testing.T) {
		for name, test := range permitSuite {
			if name != "not set" { // which asks one node for its keys
				t.Run(name, func(t *testing.T) { test(t, permitRigOn(t, cluster.Client(t), redistest.Name(t))) })
			}
		}
	})
	t.Run("a slot moves", func(t *testing.T) { permitsMove(t, cluster) })
	t.Run("replicas confirm", func(t *testing.T) {
		r := permitRigOn(t, cluster.Client(t), redistest.Name(t), acked(1)).set(2)
		p := r.take()
		q, err := r.Acquire(t.Context())
		require.NoError(t, err)
		r.refused()
		r.give(p)
		r.give(q)
	})
	t.Run("a failover", func(t *testing.T) {
		r := permitRigOn(t, cluster.Client(t), redistest.Name(t))
		permitsFailOver(t, r, cluster.Master(r.of.key), func(addr string) { cluster.AwaitMaster(t, r.of.key, addr) })
	})
}

// permitsMove moves a name under those who hold and wait: holds are renewed, the
// wait goes on, and what is released comes back when the move is over.
func permitsMove(t *testing.T, cluster *redistest.Cluster) {
	r := permitRigOn(t, cluster.Client(t), redistest.Name(t), func(c *core.Config) { c.WatchdogTimeout = 6 * time.Second }).set(2)
	p, q := r.take(), r.take()
	done := r.acquiring(t.Context())
	r.waiting(1)
	m := cluster.StartMigration(t, r.of.key)
	m.Move(t, r.of.leases)
	require.NoError(t, p.Extend(t.Context(), 8*time.Second), "leases are one key")
	require.Error(t, p.Release(t.Context()), "the number is elsewhere: the server answers when the move is over")
	time.Sleep(8 * time.Second) // nobody is told of it: all it takes is time
	require.NoError(t, q.Err(), "it is renewed")
	redistest.Waits(t, done)
	m.Move(t, r.of.key)
	m.Finish(t)
	gotPermit(t, done)
	r.awaitStands(0, 2)
	r.give(q)
}

// permitsFailOver has the master die under those who hold and wait.
func permitsFailOver(t *testing.T, r *permitRig, master *redistest.Server, await func(addr string)) {
	p := r.set(1).take()
	done := r.acquiring(t.Context())
	r.waiting(1)
	master.AwaitReplica(t)
	master.Kill()
	await(master.Addr())
	require.Eventually(t, func() bool { return p.Release(t.Context()) != nil }, soon, 100*time.Millisecond, "the second time at the latest")
	gotPermit(t, done)
}

func TestPermitsBehindSentinels(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	r := permitRigOn(t, sentinel.Client(t), redistest.Name(t))
	permitsFailOver(t, r, sentinel.Master(), func(addr string) { sentinel.AwaitMaster(t, addr) })
}

// TestTooFewReplicasOfAPermit: what they did not confirm goes back.
func TestTooFewReplicasOfAPermit(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t, func(c *core.Config) { c.ReplicaAcks, c.AckTimeout = 1, 20*time.Millisecond }).set(2)
	_, err := r.TryAcquire(t.Context())
	require.ErrorIs(t, err, ErrNotReplicated)
	r.stands(2, 0)
	_, err = r.Acquire(t.Context())
	require.ErrorIs(t, err, ErrNotReplicated)
	r.stands(2, 0)
	r.Ask("SET", r.of.key, "0")
	r.refused()
}

// TestTooFewReplicasOfThePermitsOfAllWaiters: one look takes permits for all waiters of a process. If no replica confirms it,
// all of the permits go back, and no waiter has one.
func TestTooFewReplicasOfThePermitsOfAllWaiters(t *testing.T) {
	t.Parallel()
	const waiters = 6
	r := newPermitRig(t, func(c *core.Config) { c.ReplicaAcks, c.AckTimeout = 1, 100*time.Millisecond }).set(0)
	ctx, leave := context.WithTimeout(t.Context(), pace.Scale(2*time.Second))
	defer leave()
	var all []<-chan acquired
	for n := range waiters {
		all = append(all, r.acquiring(ctx))
		r.waiting(n + 1)
	}
	r.Ask("SET", r.of.key, strconv.Itoa(waiters))
	r.Ask("PUBLISH", r.of.channel, strconv.Itoa(waiters))
	for _, done := range all {
		got := redistest.Done(t, done)
		require.Error(t, got.err)
		require.Nil(t, got.Permit)
	}
	r.awaitStands(waiters, 0)
}

// TestTheACLOfTheDocsLetsPermitsBe runs what a client does under the user that
// docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsLetsPermitsBe(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	user, _ := redistest.Confined(t, server, "../docs/redis.md")
	r := permitRigOn(t, user, "orders:1", enginetest.ShortSends)
	r.Raw = admin
	for name, op := range permitOperations {
		r.set(3)
		if err := op(t.Context(), r.PermitSemaphore, 1); byID(name) {
			require.ErrorIs(t, err, ErrLost)
		} else {
			require.NoError(t, err, name)
		}
	}
	p := r.set(1).take(WithLease(time.Minute))
	require.NoError(t, p.Extend(t.Context(), time.Hour))
	done := r.acquiring(t.Context())
	r.waiting(1)
	_, err := r.of.GiveBack(t.Context(), p.ID())
	require.NoError(t, err)
	q := gotPermit(t, done)
	r.give(q)
	r.wrongTypes()
	r.Ask("DEL", r.of.key) // so that nothing is left to give back when the client closes
}

func (r *permitRig) wrongTypes() {
	r.Ask("DEL", r.of.key, r.of.leases)
	r.Ask("SET", r.of.key, "many")
	r.wrongType(r.of.key, "string")
}
