package send

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// A slot has gone to a node that rueidis has not met. It follows the slot with
// the script alone: the WAIT behind it is answered where the slot has been,
// whose replicas have all that there is.
func TestANodeThatIsNotKnownYetConfirmsNothingElsewhere(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	e := on(t, cluster.Client(t), func(c *core.Config) { c.ReplicaAcks, c.AckTimeout = 1, 300*time.Millisecond })
	c, key := cluster.Client(t), redistest.Name(t)
	require.NoError(t, c.Do(t.Context(), c.B().Set().Key(key).Value("1 0 ").Build()).Error())
	cluster.StartMigration(t, key).Finish(t)
	cluster.Replica(key).Pause()
	e.Topo.mu.Lock()
	e.Topo.slots, e.Topo.stale, e.Topo.asked = []slotRange{{0, 16383, "127.0.0.1:1"}}, false, time.Now()
	e.Topo.mu.Unlock()
	_, acks, err := e.RunAcked(t.Context(), VoidScript, []string{key}, []string{"2", "30000"})
	require.NoError(t, err)
	require.Zero(t, acks)
}
