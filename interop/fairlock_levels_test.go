//go:build interop

package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// goReentersFairly: Java sees one hold, which ends with the last level.
func goReentersFairly(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	outer := mustFairLock(ctx, t, c.FairLock(name), lock.WithLease(longLease))
	theirs := w.fairThread(t, name)
	got := w.javaQueues(ctx, t, theirs, name, 1, patience)
	inner := mustFairLock(outer.Context(ctx), t, c.FairLock(name)) // past who is queued
	require.NoError(t, inner.Unlock(ctx))
	requireTruth(ctx, t, true, w.fairThread(t, name).IsLocked)
	require.Empty(t, got)
	require.NoError(t, outer.Unlock(ctx))
	javaHas(t, got)
	require.NoError(t, theirs.Unlock(ctx))
}

// javaReentersFairly: Go sees each level, and waits for the last.
func javaReentersFairly(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	thread := redistest.Name(t)
	theirs, owner := w.java.LockOf("fairlock", thread, name), w.owner(ctx, t, thread)
	require.NoError(t, theirs.LockFor(ctx, longLease))
	got := w.goQueues(ctx, t, c.FairLock(name), 1)
	require.NoError(t, theirs.LockFor(ctx, longLease))
	requireFairHolder(t, c.FairLock(name), owner, 2)
	require.NoError(t, theirs.Unlock(ctx))
	requireFairHolder(t, c.FairLock(name), owner, 1)
	require.Empty(t, got)
	require.NoError(t, theirs.Unlock(ctx))
	mine, _ := goHas(t, got)
	require.NoError(t, mine.Unlock(ctx))
	requireFairHolder(t, c.FairLock(name), "", 0)
}

func requireFairHolder(t *testing.T, l *fairlock.Lock, owner string, count int) {
	t.Helper()
	h, err := l.Holder(within(t))
	require.NoError(t, err)
	require.Equal(t, owner, h.Owner)
	require.Equal(t, count, h.Count)
}

// goFairLeaseEnds: who is queued in Java has the lock when Go's lease is over, and Go knows before.
func goFairLeaseEnds(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	theirs := w.fairThread(t, name)
	mine := mustFairLock(ctx, t, c.FairLock(name), lock.WithLease(2*shortLease))
	ends := time.Now().Add(2 * shortLease)
	got := w.javaQueues(ctx, t, theirs, name, 1, patience)
	at := javaHas(t, got)
	require.Greater(t, at, ends.Add(-shortLease), "not before its end")
	require.Error(t, mine.Err())
	require.ErrorIs(t, mine.Unlock(ctx), lock.ErrLost)
	requireTruth(ctx, t, true, theirs.IsHeldByCurrentThread)
	require.NoError(t, theirs.Unlock(ctx))
}

func javaFairLeaseEnds(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	theirs := w.fairThread(t, name)
	began := time.Now()
	require.NoError(t, theirs.LockFor(ctx, 2*shortLease))
	ends := time.Now().Add(2 * shortLease) // or before
	mine, at := goHas(t, w.goQueues(ctx, t, c.FairLock(name), 1))
	require.Greater(t, at, began.Add(2*shortLease-rounding))
	require.Less(t, at, ends.Add(freedIn))
	requireTruth(ctx, t, false, theirs.IsHeldByCurrentThread)
	require.NoError(t, mine.Unlock(ctx))
}

// goForcesFairly: the next in Java's queue is told at once.
func goForcesFairly(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	require.NoError(t, w.fairThread(t, name).LockFor(ctx, longLease))
	theirs := w.fairThread(t, name)
	got := w.javaQueues(ctx, t, theirs, name, 1, patience)
	behind := w.goQueues(ctx, t, c.FairLock(name), 2)
	held, err := c.FairLock(name).ForceUnlock(ctx)
	require.NoError(t, err)
	require.True(t, held)
	javaHas(t, got)
	require.Empty(t, behind)
	require.NoError(t, theirs.Unlock(ctx))
	mine, _ := goHas(t, behind)
	require.NoError(t, mine.Unlock(ctx))
}

// javaForcesFairly: the hold is gone, and the next one is Go's.
func javaForcesFairly(t *testing.T, w *world) {
	ctx, c, name := within(t), w.client(t), redistest.Name(t)
	held := mustFairLock(ctx, t, c.FairLock(name))
	got := w.goQueues(ctx, t, w.client(t).FairLock(name), 1)
	requireTruth(ctx, t, true, w.fairThread(t, name).ForceUnlock)
	mine, _ := goHas(t, got)
	require.ErrorIs(t, held.Unlock(ctx), lock.ErrLost)
	require.NoError(t, mine.Err())
	requireTruth(ctx, t, false, w.fairThread(t, name).TryLock)
	require.NoError(t, mine.Unlock(ctx))
}

// goStopsAmongMany: a process that stands still for three seconds costs its places for that time only, and nobody else
// the order.
func goStopsAmongMany(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	c, d := w.client(t), w.client(t)
	held := mustFairLock(ctx, t, c.FairLock(name))
	child := w.goFront(ctx, t, name)
	second := w.goQueues(ctx, t, d.FairLock(name), 2)
	third := w.fairThread(t, name)
	thirdGot := w.javaQueues(ctx, t, third, name, 3, patience)
	fourth := w.goQueues(ctx, t, c.FairLock(name), 4)
	child.Stop()
	require.NoError(t, held.Unlock(ctx))
	mine, _ := goHas(t, second)
	<-time.After(3 * time.Second)
	require.Empty(t, thirdGot)
	child.Cont()
	w.awaitQueued(ctx, t, name, 3)
	require.NoError(t, mine.Unlock(ctx))
	require.Equal(t, "got", child.Next())
	require.Empty(t, thirdGot)
	child.Send("unlock")
	javaHas(t, thirdGot)
	require.Empty(t, fourth)
	require.NoError(t, third.Unlock(ctx))
	mine, _ = goHas(t, fourth)
	require.NoError(t, mine.Unlock(ctx))
	w.awaitQueued(ctx, t, name, 0)
}
