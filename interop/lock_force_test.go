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
	requireTruth(ctx, t, true, c.Lock(name).ForceUnlock)
	javaHas(t, got)

	requireHolds(ctx, t, 0, robbed)
	requireNotHeld(t, robbed.Unlock(ctx))
	requireHolds(ctx, t, 1, next)
	require.NoError(t, next.Unlock(ctx))
	requireTruth(ctx, t, false, c.Lock(name).ForceUnlock)
}

// javaForces takes a lock away from Go, which learns it at its next renewal: long before its lease, the
// only other thing that could tell it, is over.
func javaForces(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	renewed := make(renewals, 100)
	c := w.client(t, rueidisson.WithObserver(renewed), rueidisson.WithWatchdogTimeout(2*watchdog))
	mine := mustLock(ctx, t, c.Lock(name))
	renewed.await(ctx, t) // so the next one is a third of the lease away
	trusted := mine.Deadline()
	next := w.thread(t, name)
	requireTruth(ctx, t, true, next.ForceUnlock)
	requireTruth(ctx, t, true, next.TryLock)
	<-mine.Lost()

	require.ErrorIs(t, mine.Err(), lock.ErrLost)
	require.Less(t, time.Now(), trusted, "the end of the lease was quicker")
	require.LessOrEqual(t, len(renewed), 1, "told by a later renewal than the next")
	require.ErrorIs(t, mine.Unlock(ctx), lock.ErrLost)
	requireHolds(ctx, t, 1, next)
	require.NoError(t, next.Unlock(ctx))
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
