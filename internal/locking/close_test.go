package locking

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestWhatIsToRunWhenTheClientCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFake(t)
		ran := 0
		wake := make(chan struct{})
		s.e.WhenClosing(func() {
			require.ErrorIs(t, s.e.Open(), core.ErrClosed)
			ran++
			close(wake)
		})
		require.True(t, s.e.Spawn(func() { <-wake })) // whom Close waits for
		synctest.Wait()
		require.Zero(t, ran)
		require.NoError(t, Close(context.Background(), s.e))
		require.NoError(t, Close(context.Background(), s.e))
		require.Equal(t, 1, ran)
		s.e.WhenClosing(func() { ran++ })
		require.Equal(t, 2, ran, "at once")
	})
}

// TestCloseOnASilentClusterEndsSoonAfterItsContext has a client that is not the engine's
// own, and whose map of the cluster is being asked for.
func TestCloseOnASilentClusterEndsSoonAfterItsContext(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	redistest.Within(t, 1500*time.Millisecond, func() time.Duration { // a second is the bound of what a new client asks
		client, before := cluster.Proxied(t)
		e := onReal(t, client)
		for _, node := range cluster.Nodes() {
			before(node).BlackHole()
		}
		e.MarkStale()
		time.Sleep(200 * time.Millisecond) // a map that proved wrong is asked for again after half of that
		e.Topo.Node(0)                     // asks for it
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		require.NoError(t, Close(ctx, e))
		return time.Since(began)
	})
}
