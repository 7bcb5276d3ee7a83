package fairlock_test

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestPlainChannelsOnACluster: the order is kept by them as by the sharded ones,
// and who has fallen silent is passed over, as nobody is taken for killed.
func TestPlainChannelsOnACluster(t *testing.T) {
	t.Parallel()
	cluster, name := redistest.StartCluster(t), redistest.Name(t)
	option, plain := rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true}, rueidisson.WithShardedPubSub(rueidisson.Off)
	here, there := locktest.Connected(t, option, plain).FairLock(name), locktest.Connected(t, option, plain).FairLock(name)
	master := cluster.Master(name)
	master.ResetStats()
	held := locktest.Take(t, here)
	redistest.Do(t, cluster.Client(t), "RPUSH", "redisson_lock_queue:{"+name+"}", "99999999-9999-4999-8999-999999999999:4611686018427387999")
	var waited []<-chan result
	for i, on := range []int{1, 0, 1, 1} {
		l := here
		if on == 1 {
			l = there
		}
		waited = append(waited, lockLater(t.Context(), l))
		awaitQueue(t, here, i+2)
	}
	locktest.Unlock(t, held)
	inOrder(t, waited)
	mustBeFree(t, there)
	require.Positive(t, master.CommandCalls(t, "publish"))
	require.Zero(t, master.CommandCalls(t, "spublish"))
}
