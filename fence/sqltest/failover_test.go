package sqltest

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func open(t *testing.T, cluster *redistest.Cluster) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(t.Context()) }) // the test's context has ended: holds are left
	return c
}

// forgotten is the token of a hold that a failover has forgotten, and that of the
// one who took the lock after it.
func forgotten(t *testing.T) (old, own fence.Token) {
	t.Helper()
	cluster, name := redistest.StartCluster(t), redistest.Name(t)
	holder, other := open(t, cluster), open(t, cluster)
	first, err := holder.FencedLock(name).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.Unlock(t.Context()))
	cluster.AwaitComplete(t)
	master, replica := cluster.Master(name), cluster.Replica(name)
	replica.Pause()
	cut := master.Client(t) // else the hold would wait in the replica's socket
	require.NoError(t, cut.Do(t.Context(), cut.B().ClientKill().TypeReplica().Build()).Error())
	lost, err := holder.FencedLock(name).Lock(t.Context())
	require.NoError(t, err)
	master.Kill()
	replica.Resume()
	cluster.AwaitMaster(t, name, master.Addr())
	var second *lock.Hold
	redistest.Eventually(t, func() bool {
		second, err = other.FencedLock(name).TryLock(t.Context())
		return err == nil
	}, 30*time.Second, 50*time.Millisecond, "the new master does not know the hold") // no longer than a lease
	old, ok := lost.Fence()
	require.True(t, ok)
	own, ok = second.Fence()
	require.True(t, ok)
	return old, own
}

// Two hold the lock after a failover that forgot the first: the row takes what the
// second writes, and refuses the first from then on.
func TestARowRefusesWhomAFailoverHasForgotten(t *testing.T) {
	t.Parallel()
	old, own := forgotten(t)
	for title, write := range writers {
		db := orders(t)
		require.True(t, write(t, db, 1, old), "%s: nobody else has written", title)
		require.True(t, write(t, db, 2, own), title)
		require.False(t, write(t, db, 3, old), title)
		var total int64
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT total FROM orders").Scan(&total))
		require.EqualValues(t, 2, total, title)
	}
}
