package reliable

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestServeEndsBeforeAHandlerHasBegun, while the server does not answer that one is about to: nobody has seen the message.
func TestServeEndsBeforeAHandlerHasBegun(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		r.failsOnce(1)
		client, proxy := redistest.ThroughProxy(t, server)
		other := &rig{t: t, raw: r.raw, e: engineOn(t, client)}
		other.Queue = New[string](other.e, r.name)
		begins := proxy.HoldRequest(redistest.All(redistest.AnyScript(), redistest.Arg("-4")))
		handled := make(chan struct{}, 10)
		stop := other.serves(func(context.Context, *Message[string]) error {
			handled <- struct{}{}
			return nil
		}, WithPrefetch(1), WithGrace(5*time.Second))
		begins.Await(t)
		require.NoError(t, stop())
		begins.Release()
		require.Empty(t, handled)
		m := r.gets("0")
		require.Equal(t, 2, m.Attempt)
		require.NoError(t, m.Ack(t.Context()))
	})
}

// TestServeEndsBeforeItIsAnswered: no handler is left, but nobody knows whether what they did counts.
func TestServeEndsBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		client, proxy := redistest.ThroughProxy(t, server)
		other := &rig{t: t, raw: r.raw, e: engineOn(t, client)}
		other.Queue = New[string](other.e, r.name)
		handled := make(chan struct{})
		stop := other.serves(func(context.Context, *Message[string]) error {
			proxy.BlackHole()
			close(handled)
			return nil
		}, WithGrace(100*time.Millisecond))
		r.adds("a")
		redistest.Done(t, handled)
		err := stop()
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.NotContains(t, err.Error(), "handlers of")
		proxy.Restore()
		redistest.Eventually(t, func() bool { return r.counter("acked") == 1 }, soon, 10*time.Millisecond)
	})
}
