package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// A new master that has the holds keeps them; what it had not heard of is lost,
// and its holders learn it at the next renewal.
func TestHoldsOverAFailover(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := openCluster(t, cluster, rueidisson.WithWatchdogTimeout(20*time.Second))
	other := openCluster(t, cluster)
	tag := "{" + redistest.Name(t) + "}"
	read, write := c.RWLock(tag+"read"), c.RWLock(tag+"write")
	kept := map[string]*lock.Hold{"read": locktest.Take(t, read.Read()), "write": locktest.Take(t, write.Write())}
	for side, hold := range kept {
		require.NoError(t, hold.Extend(t.Context(), 2*redistest.Soon), side) // a failover may take longer than a watchdog's timeout
	}
	redistest.Eventually(t, func() bool { // they have been replicated
		replica := cluster.Replica(tag).Client(t)
		defer replica.Close()
		_ = replica.Do(t.Context(), replica.B().Readonly().Build()).Error()
		n, err := replica.Do(t.Context(), replica.B().Dbsize().Build()).AsInt64()
		return err == nil && n >= 3
	}, redistest.Soon, 20*time.Millisecond)
	old := cluster.Master(tag)
	old.Kill()
	cluster.AwaitMaster(t, tag, old.Addr())
	for side, hold := range kept {
		require.Eventually(t, func() bool { return hold.Extend(t.Context(), 3*redistest.Soon) == nil }, redistest.Soon, 50*time.Millisecond, side)
		require.NoError(t, hold.Err(), side)
	}
	locktest.RequireBusy(t, other.RWLock(tag+"read").Write())
	locktest.RequireBusy(t, other.RWLock(tag+"write").Read())
	for _, hold := range kept {
		locktest.Unlock(t, hold)
	}
	old.Restart()
	cluster.AwaitComplete(t)

	replica, master := cluster.Replica(tag), cluster.Master(tag)
	replica.Pause()
	cut := master.Client(t) // else the holds would wait in the replica's socket
	require.NoError(t, cut.Do(t.Context(), cut.B().ClientKill().TypeReplica().Build()).Error())
	forgotten := map[string]*lock.Hold{"read": locktest.Take(t, read.Read()), "write": locktest.Take(t, write.Write())}
	master.Kill()
	replica.Resume()
	cluster.AwaitMaster(t, tag, master.Addr())
	for side, hold := range forgotten {
		work := hold.Context(t.Context())
		<-work.Done()
		require.ErrorIs(t, context.Cause(work), lock.ErrLost, side)
		require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost, side)
	}
	locktest.Unlock(t, locktest.Take(t, other.RWLock(tag+"read").Write()))
	locktest.Unlock(t, locktest.Take(t, other.RWLock(tag+"write").Read()))
}
