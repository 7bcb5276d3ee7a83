//go:build interop

package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

const (
	// shortLease is waited for.
	shortLease = time.Second
	// rounding is what a clock in whole milliseconds may seem to be early.
	rounding = 2 * time.Millisecond
	// freedIn is generous, and too short for a Go waiter that looks by itself after 4.5 s at the earliest:
	// the leases here, which began no later than its sleep, are of 2 s at most.
	freedIn = 2 * time.Second
)

// requireFreedBy: a waiter gets the lock by the end of a lease, not before and not by something later.
func requireFreedBy(t *testing.T, leaseEnds, got time.Time) {
	t.Helper()
	t.Logf("got it %v after the end of the lease", got.Sub(leaseEnds))
	require.Greater(t, got, leaseEnds.Add(-rounding))
	require.Less(t, got, leaseEnds.Add(freedIn))
}

// goLeaseEnds begins to wait at once, since the lease does not stand still until it knows that it waits.
func goLeaseEnds(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	theirs := w.thread(t, name)
	began := time.Now()
	mine := mustLock(ctx, t, c.Lock(name), lock.WithLease(shortLease))
	got := begin(func() (bool, error) { return theirs.TryLockWait(ctx, patience) })
	requireFreedBy(t, began.Add(shortLease), javaHas(t, got))

	require.ErrorIs(t, mine.Err(), lock.ErrLost)
	require.ErrorIs(t, mine.Unlock(ctx), lock.ErrLost)
	requireHolds(ctx, t, 1, theirs)
	require.NoError(t, theirs.Unlock(ctx))
}

func javaLeaseEnds(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	theirs := w.thread(t, name)
	began := time.Now()
	require.NoError(t, theirs.LockFor(ctx, shortLease))
	got := begin(func() (*lock.Hold, error) { return c.Lock(name).Lock(ctx) })
	mine, at := goHas(t, got)
	requireFreedBy(t, began.Add(shortLease), at)

	requireHolds(ctx, t, 0, theirs)
	requireNotHeld(t, theirs.Unlock(ctx))
	require.NoError(t, mine.Err())
	require.NoError(t, mine.Unlock(ctx))
}

// goRenews waits for three leases: a hold that was not renewed would have ended long before.
func goRenews(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	mine := mustLock(ctx, t, c.Lock(name))
	require.LessOrEqual(t, w.pttl(ctx, t, name), watchdog)
	theirs := w.thread(t, name)
	got, err := theirs.TryLockWait(ctx, 3*watchdog)
	require.NoError(t, err)
	require.False(t, got)

	require.NoError(t, mine.Err())
	require.NoError(t, mine.Unlock(ctx))
	requireTruth(ctx, t, true, theirs.TryLock)
	require.NoError(t, theirs.Unlock(ctx))
}

func javaRenews(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	theirs := w.thread(t, name)
	require.NoError(t, theirs.Lock(ctx))
	require.LessOrEqual(t, w.pttl(ctx, t, name), watchdog)
	_, err := c.Lock(name).TryLock(ctx, lock.WithWait(3*watchdog))
	require.ErrorIs(t, err, lock.ErrNotAcquired)

	requireHolds(ctx, t, 1, theirs)
	require.NoError(t, theirs.Unlock(ctx))
	mine, err := c.Lock(name).TryLock(ctx)
	require.NoError(t, err)
	require.NoError(t, mine.Unlock(ctx))
}
