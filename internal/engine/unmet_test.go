package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// A slot has gone to a node that rueidis has not met. It follows the slot with
// the script alone: the WAIT behind it is answered where the slot has been,
// whose replicas have all that there is.
func TestANodeThatIsNotKnownYetConfirmsNothingElsewhere(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	e, err := New(t.Context(), cluster.Client(t), Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 9 * time.Second, ReplicaAcks: 1, AckTimeout: 300 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close(context.Background())) })
	c, key := cluster.Client(t), redistest.Name(t)
	require.NoError(t, c.Do(t.Context(), c.B().Hset().Key(key).FieldValue().FieldValue("owner", "1").Build()).Error())
	cluster.StartMigration(t, key).Finish(t)
	cluster.Replica(key).Pause()
	e.topo.mu.Lock()
	e.topo.slots, e.topo.stale, e.topo.asked = []slotRange{{0, 16383, "127.0.0.1:1"}}, false, time.Now()
	e.topo.mu.Unlock()
	_, acks, err := e.RunAcked(t.Context(), LockRenewal.Script, []string{key}, []string{"owner", "30000"})
	require.NoError(t, err)
	require.Zero(t, acks)
}
