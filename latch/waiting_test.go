package latch

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestNeitherWaitsForReplicas, of which there are none here.
func TestNeitherWaitsForReplicas(t *testing.T) {
	t.Parallel()
	acked := func(c *core.Config) { c.ReplicaAcks, c.AckTimeout = 1, time.Minute }
	server := redistest.Start(t)
	for name, test := range suite {
		t.Run(name, func(t *testing.T) { test(t, rigOn(t, server.Client(t), redistest.Name(t), acked)) })
	}
	for name, test := range barrierSuite {
		t.Run(name, func(t *testing.T) { test(t, barrierOn(t, server.Client(t), redistest.Name(t), 3, acked)) })
	}
	require.Zero(t, server.CommandCalls(t, "wait"))
}

// TestNoGoroutineWaitsBesideTheCallers, at a latch or a barrier. Not parallel: those of
// other tests would be counted.
func TestNoGoroutineWaitsBesideTheCallers(t *testing.T) {
	const callers, own = 2_000, 25
	raw := redistest.Shared(t).Client(t)
	patient := func(c *core.Config) { c.WatchdogTimeout = 10 * time.Minute } // a busy machine is no silent server
	r := rigOn(t, raw, redistest.Name(t), patient).arm(1)
	b := barrierOn(t, raw, redistest.Name(t), callers+1, patient)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	before := runtime.NumGoroutine()
	var waiters []<-chan error
	var parties []<-chan arrived
	for range callers {
		waiters, parties = append(waiters, r.awaiting(ctx)), append(parties, b.arriving(ctx))
	}
	r.waiting(callers)
	b.waiting(callers)
	// Goroutines that have just worked go when they have idled for a second.
	require.Eventually(t, func() bool {
		return runtime.NumGoroutine()-before <= 2*callers+own
	}, redistest.Soon, 100*time.Millisecond, "more than the callers and %d", own)
	leave()
	for n := range callers {
		require.ErrorIs(t, redistest.Done(t, waiters[n]), context.Canceled)
		require.Error(t, redistest.Done(t, parties[n]).err) // cancelled, or broken by who was
	}
}
