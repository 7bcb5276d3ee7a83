//go:build interop

package interop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
)

// goReenters: Java sees one hold, which ends with the last level.
func goReenters(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	outer := mustLock(ctx, t, c.Lock(name), lock.WithLease(longLease))
	inner := mustLock(outer.Context(ctx), t, c.Lock(name))
	theirs := w.thread(t, name)
	got := w.javaWaits(ctx, t, theirs, name)
	require.NoError(t, inner.Unlock(ctx))
	requireTruth(ctx, t, true, w.thread(t, name).IsLocked)
	require.NoError(t, outer.Unlock(ctx))
	javaHas(t, got)
	require.NoError(t, theirs.Unlock(ctx))
}

// javaReenters: Go sees each level, and waits for the last.
func javaReenters(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	thread := redistest.Name(t)
	theirs, owner := w.java.Lock(thread, name), w.owner(ctx, t, thread)
	for level := 1; level <= 2; level++ {
		require.NoError(t, theirs.LockFor(ctx, longLease))
		requireHolder(ctx, t, c.Lock(name), owner, level)
	}
	got := w.goWaits(ctx, t, c.Lock(name))
	require.NoError(t, theirs.Unlock(ctx))
	requireHolder(ctx, t, c.Lock(name), owner, 1)
	require.NoError(t, theirs.Unlock(ctx))
	mine, _ := goHas(t, got)
	require.NoError(t, mine.Unlock(ctx))
	requireFree(ctx, t, c.Lock(name))
}

// goHoldIsJoined: a hold that Go makes joinable has levels on the server, and Java waits for all of them.
func goHoldIsJoined(t *testing.T, w *world) {
	ctx, c, other, name := within(t), w.client(t), w.client(t), redistest.Name(t)
	first := mustLock(ctx, t, c.Lock(name), lock.WithLease(longLease))
	token, err := first.Token(ctx)
	require.NoError(t, err)
	second, err := other.Lock(name).Join(ctx, token, lock.WithLease(longLease))
	require.NoError(t, err)
	require.Equal(t, map[string]string{token.String(): "2"}, w.hash(ctx, t, name))

	theirs := w.thread(t, name)
	requireTruth(ctx, t, true, theirs.IsLocked)
	requireHolds(ctx, t, 0, theirs)
	requireNotHeld(t, theirs.Unlock(ctx))
	got := w.javaWaits(ctx, t, theirs, name)
	require.NoError(t, first.Unlock(ctx))
	requireHolder(ctx, t, c.Lock(name), token.String(), 1)
	requireTruth(ctx, t, true, w.thread(t, name).IsLocked)
	require.NoError(t, second.Unlock(ctx))
	javaHas(t, got)
	require.NoError(t, theirs.Unlock(ctx))
}

// goJoinsJava: levels are given back in any order, and the last one of either side frees the lock.
func goJoinsJava(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	thread := redistest.Name(t)
	theirs, owner := w.java.Lock(thread, name), w.owner(ctx, t, thread)
	token, err := lock.ParseToken(owner)
	require.NoError(t, err)
	for _, goFirst := range []bool{true, false} {
		w.requireHeldBy(ctx, t, false, thread, name)
		require.NoError(t, theirs.Lock(ctx))
		require.NoError(t, theirs.Lock(ctx))
		requireHolder(ctx, t, c.Lock(name), owner, 2)
		mine, err := c.Lock(name).Join(ctx, token)
		require.NoError(t, err)
		requireHolder(ctx, t, c.Lock(name), owner, 3)
		requireHolds(ctx, t, 3, theirs)
		requireTruth(ctx, t, false, w.thread(t, name).TryLock)

		unlocks := []func(context.Context) error{mine.Unlock, theirs.Unlock, theirs.Unlock}
		if !goFirst {
			unlocks = []func(context.Context) error{theirs.Unlock, theirs.Unlock, mine.Unlock}
		}
		for i, unlock := range unlocks {
			requireHolder(ctx, t, c.Lock(name), owner, 3-i)
			w.requireHeldBy(ctx, t, true, thread, name) // at last by Go's level alone
			require.NoError(t, unlock(ctx))
		}
		requireFree(ctx, t, c.Lock(name))
		requireNotHeld(t, theirs.Unlock(ctx))
		_, err = c.Lock(name).Join(ctx, token)
		require.ErrorIs(t, err, lock.ErrLost)
	}
}

// goKeepsWhatItJoined: the level that Go has left keeps the lock by Go's renewals alone. The JVM that held it
// first is dead, so it cannot be the one that renews.
func goKeepsWhatItJoined(t *testing.T, w *world) {
	java := peer.Start(t, w.jvm)
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	theirs := java.Lock("holder", name)
	owner, err := java.Owner(ctx, "holder")
	require.NoError(t, err)
	require.NoError(t, theirs.Lock(ctx))
	token, err := lock.ParseToken(owner)
	require.NoError(t, err)
	mine, err := c.Lock(name).Join(ctx, token)
	require.NoError(t, err)
	require.NoError(t, theirs.Unlock(ctx))
	java.Kill()

	got, err := w.thread(t, name).TryLockWait(ctx, 3*watchdog)
	require.NoError(t, err)
	require.False(t, got)
	require.NoError(t, mine.Err())
	requireHolder(ctx, t, c.Lock(name), owner, 1)
	require.NoError(t, mine.Unlock(ctx))
	requireFree(ctx, t, c.Lock(name))
}

// javaLooksAtGo asks Java everything that it knows to say about a hold of Go.
func javaLooksAtGo(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	thread := redistest.Name(t)
	theirs := w.java.Lock(thread, name)
	requireJavaSeesFree(ctx, t, theirs)
	mine := mustLock(ctx, t, c.Lock(name), lock.WithLease(longLease))
	requireJavaSeesHeld(ctx, t, theirs)
	w.requireHeldBy(ctx, t, false, thread, name)

	token, err := mine.Token(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]string{token.String(): "1"}, w.hash(ctx, t, name))
	requireJavaSeesHeld(ctx, t, theirs)
	require.NoError(t, mine.Unlock(ctx))
	requireJavaSeesFree(ctx, t, theirs)
}

func requireJavaSeesFree(ctx context.Context, t *testing.T, theirs peer.Lock) {
	t.Helper()
	requireTruth(ctx, t, false, theirs.IsLocked)
	requireTruth(ctx, t, false, theirs.IsHeldByCurrentThread)
	requireHolds(ctx, t, 0, theirs)
	left, err := theirs.RemainTimeToLive(ctx)
	require.NoError(t, err)
	require.EqualValues(t, -2, left)
}

func requireJavaSeesHeld(ctx context.Context, t *testing.T, theirs peer.Lock) {
	t.Helper()
	requireTruth(ctx, t, true, theirs.IsLocked)
	requireTruth(ctx, t, false, theirs.IsHeldByCurrentThread)
	requireHolds(ctx, t, 0, theirs)
	requireTruth(ctx, t, false, theirs.TryLock)
	requireNotHeld(t, theirs.Unlock(ctx))
	left, err := theirs.RemainTimeToLive(ctx)
	require.NoError(t, err)
	require.Greater(t, left, (longLease - patience).Milliseconds())
	require.LessOrEqual(t, left, longLease.Milliseconds())
}

func goLooksAtJava(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	thread := redistest.Name(t)
	theirs, mine := w.java.Lock(thread, name), c.Lock(name)
	requireFree(ctx, t, mine)
	require.NoError(t, theirs.LockFor(ctx, longLease))
	requireHolder(ctx, t, mine, w.owner(ctx, t, thread), 1)
	requireTruth(ctx, t, true, mine.Locked)
	_, err := mine.TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	left, err := mine.Remaining(ctx)
	require.NoError(t, err)
	require.InDelta(t, longLease, left, float64(patience))
	require.NoError(t, theirs.Unlock(ctx))
	requireFree(ctx, t, mine)
}

func (w *world) owner(ctx context.Context, t *testing.T, thread string) string {
	t.Helper()
	owner, err := w.java.Owner(ctx, thread)
	require.NoError(t, err)
	return owner
}

// requireHeldBy has another Java thread ask whether that one holds the lock.
func (w *world) requireHeldBy(ctx context.Context, t *testing.T, want bool, thread, name string) {
	t.Helper()
	id, err := w.java.ThreadID(ctx, thread)
	require.NoError(t, err)
	held, err := w.thread(t, name).IsHeldByThread(ctx, id)
	require.NoError(t, err)
	require.Equal(t, want, held)
}

func requireHolder(ctx context.Context, t *testing.T, l *lock.Lock, owner string, count int) {
	t.Helper()
	h, err := l.Holder(ctx)
	require.NoError(t, err)
	require.Equal(t, owner, h.Owner)
	require.Equal(t, count, h.Count)
	require.Positive(t, h.Remaining)
}

func requireFree(ctx context.Context, t *testing.T, l *lock.Lock) {
	t.Helper()
	h, err := l.Holder(ctx)
	require.NoError(t, err)
	require.Equal(t, lock.Holder{}, h)
	requireTruth(ctx, t, false, l.Locked)
	left, err := l.Remaining(ctx)
	require.NoError(t, err)
	require.Equal(t, time.Duration(0), left)
}
