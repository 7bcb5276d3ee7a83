package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestSemaphoreObserverIsToldOfRefusalsAndUnknownOutcomes, of each call once.
func TestSemaphoreObserverIsToldOfRefusalsAndUnknownOutcomes(t *testing.T) {
	t.Parallel()
	told := new(enginetest.Outcomes)
	tells := func(c *core.Config) { c.Outcomes, c.Deferrals = told, told }
	r, proxy := faulty(t, enginetest.ShortSends, tells)
	r.set(1)
	p := &permitRig{NewPermits(r.E, r.of.key+"p"), enginetest.Rig{T: t, Raw: r.Raw, E: r.E}}
	p.set(1)
	for range 2 {
		r.refused(2)
	}
	require.ErrorIs(t, r.TryAcquire(t.Context(), 2, WithWait(300*time.Millisecond)), ErrNotAcquired)
	_, err := p.TryAcquireN(t.Context(), 2)
	require.ErrorIs(t, err, ErrNotAcquired)
	plain, leased := "semaphore "+r.of.key, "permit "+p.of.key
	require.Equal(t, []string{"refused " + plain, "refused " + plain, "refused " + plain, "refused " + leased}, told.Take())
	proxy.BlackHole()
	require.ErrorIs(t, r.SetPermits(t.Context(), 3), ErrOutcomeUnknown)
	require.ErrorIs(t, r.Release(t.Context(), 1), ErrOutcomeUnknown)
	_, err = p.TryAcquire(t.Context())
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.Equal(t, []string{"unknown " + plain + ": set permits", "unknown " + plain + ": release", "unknown " + leased + ": try acquire"}, told.Take())
	proxy.Restore()
	r.take(1)
	require.Empty(t, told.Take())
}

// TestSemaphoreObserverIsToldOfAReleaseThatWasGivenUp: the server refuses it until the
// client closes.
func TestSemaphoreObserverIsToldOfAReleaseThatWasGivenUp(t *testing.T) {
	t.Parallel()
	told := new(enginetest.Outcomes)
	server := redistest.Start(t)
	c := core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute, Deferrals: told}
	enginetest.ShortSends(&c)
	raw := server.Client(t)
	e, err := locking.New(t.Context(), raw, c)
	require.NoError(t, err)
	r := (&rig{New(e, redistest.Name(t)), enginetest.Rig{T: t, Raw: raw, E: e}}).set(5)
	r.take(2)
	r.Ask("CONFIG", "SET", "min-replicas-to-write", "1")
	require.ErrorIs(t, r.Release(t.Context(), 2), ErrDeferred)
	require.ErrorContains(t, locking.Close(context.Background(), r.E), "release 2")
	require.Equal(t, []string{"gave up semaphore " + r.of.key + ": release 2"}, told.Take())
}
