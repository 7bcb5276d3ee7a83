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
)

func goLeaseEnds(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	began := time.Now()
	mine := mustLock(ctx, t, c.Lock(name), lock.WithLease(shortLease))
	theirs := w.thread(t, name)
	got := javaHas(t, w.javaWaits(ctx, t, theirs, name))

	require.ErrorIs(t, mine.Err(), lock.ErrLost)
	require.GreaterOrEqual(t, got.Sub(began), shortLease-rounding)
	t.Logf("Java has it %v after the end of a lease of %v", got.Sub(began)-shortLease, shortLease)
	require.ErrorIs(t, mine.Unlock(ctx), lock.ErrLost)
	requireHolds(ctx, t, 1, theirs)
	require.NoError(t, theirs.Unlock(ctx))
}

func javaLeaseEnds(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	theirs := w.thread(t, name)
	began := time.Now()
	require.NoError(t, theirs.LockFor(ctx, shortLease))
	mine, got := goHas(t, w.goWaits(ctx, t, c.Lock(name)))

	require.GreaterOrEqual(t, got.Sub(began), shortLease-rounding)
	t.Logf("Go has it %v after the end of a lease of %v", got.Sub(began)-shortLease, shortLease)
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
