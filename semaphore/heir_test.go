package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestSemaphoreAcquireOfFewerAsksAfterALargerRequestLeaves: the refusal of the
// larger request says nothing about the smaller one.
func TestSemaphoreAcquireOfFewerAsksAfterALargerRequestLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t, enginetest.NoLooks).set(3)
	ctx, leave := context.WithCancel(t.Context())
	large := r.acquiring(ctx, 5)
	r.waiting(1)
	small := r.acquiring(t.Context(), 2)
	r.waiting(2)
	smaller := r.acquiring(t.Context(), 1)
	r.waiting(3)
	leave()
	require.ErrorIs(t, redistest.Done(t, large), context.Canceled)
	got(t, small)
	got(t, smaller)
	require.Zero(t, r.free())
}

// TestSemaphoreAcquireOfAsManyRestsAfterAnotherLeaves: the refusal of the one that
// left is the answer to its heir too.
func TestSemaphoreAcquireOfAsManyRestsAfterAnotherLeaves(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), enginetest.NoLooks).known().set(3)
	ctx, leave := context.WithCancel(t.Context())
	first := r.acquiring(ctx, 5)
	r.waiting(1)
	second := r.acquiring(t.Context(), 5)
	r.waiting(2)
	before := server.ScriptCalls(t)
	leave()
	require.ErrorIs(t, redistest.Done(t, first), context.Canceled)
	redistest.Waits(t, second)
	require.Equal(t, before, server.ScriptCalls(t))
	r.give(2)
	got(t, second)
}

// aSecond caps the sleep of a waiter at a second.
func aSecond(c *core.Config) { c.LongestSleep = time.Second }

// stream starts a wait of 200 ms every 50 ms, so that somebody always waits and
// nobody waits for long, until one of them is served.
func stream(t *testing.T, try func() error) {
	t.Helper()
	served := make(chan struct{}, 1)
	redistest.Eventually(t, func() bool {
		go func() { // ends with its wait
			if try() == nil {
				select {
				case served <- struct{}{}:
				default:
				}
			}
		}()
		select {
		case <-served:
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	}, soon, time.Millisecond, "no short wait is served")
}

// TestSemaphoreShortWaitsFindPermitsOfWhichNoMessageCame: the time since the last
// look counts for the name, not for each head of its waiters.
func TestSemaphoreShortWaitsFindPermitsOfWhichNoMessageCame(t *testing.T) {
	t.Parallel()
	r := newRig(t, aSecond).set(3)
	r.take(3)
	ctx, leave := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer leave()
	_ = r.acquiring(ctx, 1)
	r.waiting(1)
	r.Ask("INCRBY", r.of.key, "3")
	stream(t, func() error { return r.TryAcquire(context.Background(), 1, WithWait(200*time.Millisecond)) })
}

// TestPermitShortWaitsFindPermitsOfWhichNoMessageCame.
func TestPermitShortWaitsFindPermitsOfWhichNoMessageCame(t *testing.T) {
	t.Parallel()
	r := newPermitRig(t, aSecond).set(1)
	r.take(WithLease(time.Hour))
	ctx, leave := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer leave()
	_ = r.acquiring(ctx)
	r.waiting(1)
	r.Ask("INCRBY", r.of.key, "1")
	stream(t, func() error {
		p, err := r.TryAcquire(context.Background(), WithWait(200*time.Millisecond))
		if err == nil {
			err = p.Release(context.Background())
		}
		return err
	})
}
