package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestSemaphoreReleaseWithRequestIDCountsOnce, however often and wherever it is called.
func TestSemaphoreReleaseWithRequestIDCountsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t).set(0)
	other := r.beside()
	for range 3 {
		require.NoError(t, r.Release(t.Context(), 2, WithRequestID("job 7", time.Hour)))
		require.NoError(t, other.Release(t.Context(), 2, WithRequestID("job 7", time.Minute)))
		require.EqualValues(t, 2, r.free())
	}
	require.NoError(t, r.Release(t.Context(), 2, WithRequestID("job 8", time.Hour)))
	require.EqualValues(t, 4, r.free())
	require.ErrorIs(t, r.Release(t.Context(), 3, WithRequestID("job 8", time.Hour)), ErrInvalidArgument, "it gave two")
	require.EqualValues(t, 4, r.free())
	ttl := r.Ask("PTTL", keys.CallerRequest(r.of.key, "job 7"))
	n, err := ttl.AsInt64()
	require.NoError(t, err)
	require.Greater(t, n, (59 * time.Minute).Milliseconds())

	full := WithRequestID("job 9", time.Hour)
	r.set(most)
	require.ErrorIs(t, r.Release(t.Context(), 1, full), ErrInvalidArgument)
	r.set(1)
	require.NoError(t, r.Release(t.Context(), 1, full), "what was refused was not done")
	require.EqualValues(t, 2, r.free())
	_, err = r.Delete(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, r.Release(t.Context(), 1, WithRequestID("job 10", time.Hour)), ErrNotSet)
	r.set(0)
	require.NoError(t, r.Release(t.Context(), 1, WithRequestID("job 10", time.Hour)))
	require.EqualValues(t, 1, r.free())
}

// TestSemaphoreReleaseWithRequestIDIsRepeatedAfterAnUnknownOutcome: the first call gave,
// and its reply did not come.
func TestSemaphoreReleaseWithRequestIDIsRepeatedAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	r, proxy := faulty(t, enginetest.ShortSends)
	r.set(0)
	id := WithRequestID("job 7", time.Hour)
	lost := proxy.DropReply(r.sent(giveOnceScript), 1, redistest.Silent())
	done := make(chan error, 1)
	go func() { done <- r.Release(context.Background(), 2, id) }()
	lost.Await(t)
	proxy.BlackHole()
	require.ErrorIs(t, redistest.Done(t, done), ErrOutcomeUnknown)
	proxy.Restore()
	require.EqualValues(t, 2, r.free())
	require.NoError(t, r.Release(t.Context(), 2, id))
	require.EqualValues(t, 2, r.free())
}

// TestSemaphoreReleaseWithRequestIDServesWhoWaits, in this process and in others, also
// where the server is full.
func TestSemaphoreReleaseWithRequestIDServesWhoWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, enginetest.NoLooks).set(0)
	here := r.acquiring(t.Context(), 1)
	r.waiting(1)
	require.NoError(t, r.Release(t.Context(), 1, WithRequestID("a", time.Hour)))
	got(t, here)
	other := r.beside(enginetest.NoLooks)
	there := other.acquiring(t.Context(), 2)
	other.waiting(1)
	require.NoError(t, r.Release(t.Context(), 2, WithRequestID("b", time.Hour)))
	got(t, there)
	require.Zero(t, r.free())
}

func TestSemaphoreReleaseWithRequestIDOnAFullServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t)).set(0)
	require.NoError(t, r.Release(t.Context(), 1, WithRequestID("warm", time.Hour)))
	r.Ask("CONFIG", "SET", "maxmemory", "1")
	require.NoError(t, r.Release(t.Context(), 1, WithRequestID("full", time.Hour)))
	require.NoError(t, r.Release(t.Context(), 1, WithRequestID("full", time.Hour)))
	r.Ask("CONFIG", "SET", "maxmemory", "0")
	require.EqualValues(t, 2, r.free())
}
