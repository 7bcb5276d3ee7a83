package locking

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var patience = redistest.Soon

// onReal returns an engine on a real client. It is closed when the test ends.
func onReal(t *testing.T, client rueidis.Client) *Engine {
	t.Helper()
	e, err := New(t.Context(), client, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second, Linger: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { _ = Close(context.Background(), e) })
	return e
}

// TestAClusterThatNamesNoHosts is one whose nodes say of each other only the
// port: the host is the one that was asked.
func TestAClusterThatNamesNoHosts(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, redistest.Version(version),
				redistest.Config("cluster-preferred-endpoint-type", "unknown-endpoint"))
			e := onReal(t, cluster.Client(t))
			for i := range 3 {
				name := keyOfShard(i)
				require.Equal(t, cluster.Nodes()[i].Addr(), e.Topo.Node(e.Topo.Slot(name)))
				hears(t, e, name)
			}
		})
	}
}

// keyOfShard is a key that master i of a fresh cluster of three serves.
func keyOfShard(i int) string {
	for n := 0; ; n++ {
		if key := fmt.Sprint("key", n); redistest.Slot(key)*3/16384 == i {
			return key
		}
	}
}

// hears subscribes to a channel, and says something there.
func hears(t *testing.T, e *Engine, name string) {
	t.Helper()
	heard := make(chan string, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sub, err := e.Subscribe(ctx, name, func(ev pubsub.Event) { heard <- ev.Payload })
	require.NoError(t, err)
	defer sub.Close()
	n, err := e.Listeners(ctx, name)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, e.Redis.Do(ctx, e.Redis.B().Arbitrary(e.Publish()).Keys(name).Args("hello").Build()).Error())
	select {
	case said := <-heard:
		require.Equal(t, "hello", said)
	case <-ctx.Done():
		require.Fail(t, "nothing was heard")
	}
}

// TestACheckAsksOnceWhoTheMasterIs has many channels on a client that also
// knows the replica, so that somebody has to be asked.
func TestACheckAsksOnceWhoTheMasterIs(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	client := sentinel.Client(t, func(o *rueidis.ClientOption) {
		o.SendToReplicas = func(cmd rueidis.Completed) bool { return cmd.IsReadOnly() }
	})
	require.Len(t, client.Nodes(), 2)
	e := onReal(t, client)
	hub := pubsub.New(pubsub.NewRedis(client, e.Topo.Where), pubsub.Options{Check: 20 * time.Millisecond})
	defer hub.Close()
	const channels = 200
	for i := range channels {
		_, err := hub.Subscribe(t.Context(), pubsub.Channel{Name: fmt.Sprint("channel", i)}, func(pubsub.Event) {})
		require.NoError(t, err)
	}
	master, replica := sentinel.Master(), sentinel.Replica()
	asked := func() int64 { return master.CommandCalls(t, "role") + replica.CommandCalls(t, "role") }
	before, checked := asked(), master.CommandCalls(t, "subscribe")
	redistest.Eventually(t, func() bool { return master.CommandCalls(t, "subscribe") >= checked+5 }, patience, 5*time.Millisecond)
	roles := asked() - before
	checks := master.CommandCalls(t, "subscribe") - checked + 1 // each repeats one subscription after it has asked
	require.LessOrEqual(t, roles, 2*checks)
}
