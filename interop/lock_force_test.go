//go:build interop

package interop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// goForces takes a lock away from Java, and wakes a Java thread that waits for it.
func goForces(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	robbed, next := w.thread(t, name), w.thread(t, name)
	require.NoError(t, robbed.LockFor(ctx, longLease))
	require.NoError(t, robbed.LockFor(ctx, longLease))
	got := w.javaWaits(ctx, t, next, name)
	forced := time.Now()
	requireTruth(ctx, t, true, c.Lock(name).ForceUnlock)
	requireWoken(t, forced, javaHas(t, got))

	requireHolds(ctx, t, 0, robbed)
	requireNotHeld(t, robbed.Unlock(ctx))
	requireHolds(ctx, t, 1, next)
	require.NoError(t, next.Unlock(ctx))
	requireTruth(ctx, t, false, c.Lock(name).ForceUnlock)
}

// javaForces takes a lock away from Go, and wakes a goroutine that waits for it.
func javaForces(t *testing.T, w *world) {
	w.javaTellsTheRobbed(t)
	w.javaWakesTheNext(t)
}

// javaTellsTheRobbed: it learns of its loss at its next renewal, long before its lease, the only other thing
// that could tell it, is over.
func (w *world) javaTellsTheRobbed(t *testing.T) {
	ctx, name := within(t), redistest.Name(t)
	renewed := make(renewals, 100)
	c := w.client(t, rueidisson.WithObserver(renewed), rueidisson.WithWatchdogTimeout(2*watchdog))
	mine := mustLock(ctx, t, c.Lock(name))
	renewed.await(ctx, t) // so the next one is a third of the lease away
	trusted := mine.Deadline()
	next := w.thread(t, name)
	requireTruth(ctx, t, true, next.ForceUnlock)
	requireTruth(ctx, t, true, next.TryLock)
	awaitLost(ctx, t, mine)

	require.ErrorIs(t, mine.Err(), lock.ErrLost)
	require.Less(t, time.Now(), trusted, "the end of the lease was quicker")
	require.LessOrEqual(t, len(renewed), 1, "told by a later renewal than the next")
	require.ErrorIs(t, mine.Unlock(ctx), lock.ErrLost)
	requireHolds(ctx, t, 1, next)
	require.NoError(t, next.Unlock(ctx))
}

// javaWakesTheNext: the lease outlives the test, so without the message the waiter would sleep on.
func (w *world) javaWakesTheNext(t *testing.T) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	robbed := mustLock(ctx, t, c.Lock(name), lock.WithLease(longLease))
	got := w.goWaits(ctx, t, w.client(t).Lock(name))
	forced := time.Now()
	requireTruth(ctx, t, true, w.thread(t, name).ForceUnlock)
	next, at := goHas(t, got)
	requireWoken(t, forced, at)

	require.ErrorIs(t, robbed.Unlock(ctx), lock.ErrLost)
	require.NoError(t, next.Err())
	require.NoError(t, next.Unlock(ctx))
	requireTruth(ctx, t, false, w.thread(t, name).ForceUnlock)
}

func awaitLost(ctx context.Context, t *testing.T, mine *lock.Hold) {
	t.Helper()
	select {
	case <-mine.Lost():
	case <-ctx.Done():
		t.Fatal("the hold was not told that it is lost")
	}
}

// renewals notes each renewal of a client.
type renewals chan struct{}

func (r renewals) Renewed(int, time.Duration, error) {
	select {
	case r <- struct{}{}:
	default: // nobody looks at that many
	}
}

func (r renewals) await(ctx context.Context, t *testing.T) {
	t.Helper()
	select {
	case <-r:
	case <-ctx.Done():
		t.Fatal("the hold was not renewed")
	}
}

func (renewals) WaitStarted(context.Context, string, string)                     {}
func (renewals) WaitEnded(context.Context, string, string, time.Duration, error) {}
func (renewals) Acquired(context.Context, string, string, bool)                  {}
func (renewals) Released(context.Context, string, string, bool)                  {}
func (renewals) Lost(string, string, error)                                      {}
func (renewals) ScriptRan(context.Context, string, time.Duration, int, error)    {}
