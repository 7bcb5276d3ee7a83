//go:build interop

package interop

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
)

var fairLockProofs = []proof{
	{row: "fair_lock/mutual_exclusion/both", test: fairExclusion, alone: true},
	{row: "fair_lock/order/both", test: fairOrder},
	{row: "fair_lock/wake-up/go-java", test: goWakesJavaFairly},
	{row: "fair_lock/wake-up/java-go", test: javaWakesGoFairly},
	{row: "fair_lock/queue/both", test: fairQueue},
	{row: "fair_lock/re-entry/go-java", test: goReentersFairly},
	{row: "fair_lock/re-entry/java-go", test: javaReentersFairly},
	{row: "fair_lock/force_unlock/go-java", test: goForcesFairly},
	{row: "fair_lock/force_unlock/java-go", test: javaForcesFairly},
}

// fairLockWaits do next to nothing but wait for somebody to be passed over.
var fairLockWaits = []proof{
	{row: "fair_lock/place_after_java/java-go", test: goKeepsItsPlace},
	{row: "fair_lock/killed_front/go-java", test: goFrontIsKilled},
	{row: "fair_lock/killed_front/java-go", test: javaFrontIsKilled},
	{row: "fair_lock/stopped_front/go-java", test: goFrontIsStopped},
	{row: "fair_lock/stopped_among_many/go-java", test: goStopsAmongMany},
	{row: "fair_lock/lease_expiry/go-java", test: goFairLeaseEnds},
	{row: "fair_lock/lease_expiry/java-go", test: javaFairLeaseEnds},
}

// fairThread is a fair lock as a Java thread of its own uses it.
func (w *world) fairThread(t *testing.T, name string) peer.Lock {
	return w.java.LockOf("fairlock", redistest.Name(t), name)
}

func (w *world) awaitQueued(ctx context.Context, t *testing.T, name string, n int) {
	t.Helper()
	eventually(ctx, t, "that many are queued", func() bool {
		length, err := w.redis.Do(ctx, w.redis.B().Llen().Key("redisson_lock_queue:{"+name+"}").Build()).AsInt64()
		return err == nil && length == int64(n)
	})
}

// javaQueues begins a wait in Java, which is queued as the n-th when it returns.
func (w *world) javaQueues(ctx context.Context, t *testing.T, theirs peer.Lock, name string, n int, wait time.Duration) <-chan outcome[bool] {
	t.Helper()
	got := begin(func() (bool, error) { return theirs.TryLockWait(ctx, wait) })
	w.awaitQueued(ctx, t, name, n)
	return got
}

func (w *world) goQueues(ctx context.Context, t *testing.T, mine *fairlock.Lock, n int) <-chan outcome[*lock.Hold] {
	t.Helper()
	got := begin(func() (*lock.Hold, error) { return mine.Lock(ctx) })
	w.awaitQueued(ctx, t, mine.Name(), n)
	return got
}

// fairExclusion is a mixed queue: four Java threads, and eight goroutines of each of two clients.
func fairExclusion(t *testing.T, w *world) {
	c := w.contest(t, redistest.Span(t, 2*time.Second, 20*time.Second))
	ctx := within(t)
	goes := func() party {
		client := w.client(t)
		return party{"Go", func(ctx context.Context) ([]int64, error) {
			return addTogether(ctx, client.FairLock(c.Lock), w.redis, c)
		}}
	}
	javas := party{"Redisson", func(ctx context.Context) ([]int64, error) {
		done, err := w.java.LockOf("fairlock", "contest", c.Lock).Contend(ctx, c.Counter, 4, c.For, longLease)
		return done.Threads, err
	}}
	w.requireNoneLost(ctx, t, c, compete(ctx, t, javas, goes(), goes()))
	w.awaitQueued(ctx, t, c.Lock, 0)
}

// fairOrder queues Go and Java by turns: each has the lock in the order of the queue.
func fairOrder(t *testing.T, w *world) {
	ctx, name := within(t), redistest.Name(t)
	c, d := w.client(t), w.client(t)
	held := mustFairLock(ctx, t, c.FairLock(name))
	first := w.goQueues(ctx, t, d.FairLock(name), 1)
	second := w.fairThread(t, name)
	secondGot := w.javaQueues(ctx, t, second, name, 2, patience)
	third := w.fairThread(t, name)
	thirdGot := w.javaQueues(ctx, t, third, name, 3, patience)
	fourth := w.goQueues(ctx, t, c.FairLock(name), 4)
	require.NoError(t, held.Unlock(ctx))
	hold, at := goHas(t, first)
	require.NoError(t, hold.Unlock(ctx))
	at2 := javaHas(t, secondGot)
	require.Empty(t, thirdGot)
	require.Empty(t, fourth)
	require.NoError(t, second.Unlock(ctx))
	at3 := javaHas(t, thirdGot)
	require.Empty(t, fourth)
	require.NoError(t, third.Unlock(ctx))
	hold, at4 := goHas(t, fourth)
	require.NoError(t, hold.Unlock(ctx))
	require.True(t, at.Before(at2) && at2.Before(at3) && at3.Before(at4))
	w.awaitQueued(ctx, t, name, 0)
}

func mustFairLock(ctx context.Context, t *testing.T, l *fairlock.Lock, opts ...lock.LockOption) *lock.Hold {
	t.Helper()
	h, err := l.Lock(ctx, opts...)
	require.NoError(t, err)
	return h
}

func goWakesJavaFairly(t *testing.T, w *world) {
	ctx, c := within(t), w.client(t)
	requireWakeUps(t, func(name string) time.Duration {
		mine := mustFairLock(ctx, t, c.FairLock(name), lock.WithLease(longLease))
		theirs := w.fairThread(t, name)
		got := w.javaQueues(ctx, t, theirs, name, 1, patience)
		for range 2 { // until it listens, and has asked once more
			requireTruth(ctx, t, true, w.fairThread(t, name).IsLocked)
		}
		released := time.Now()
		require.NoError(t, mine.Unlock(ctx))
		woken := javaHas(t, got)
		require.NoError(t, theirs.Unlock(ctx))
		return woken.Sub(released)
	})
}

func javaWakesGoFairly(t *testing.T, w *world) {
	ctx, c := within(t), w.client(t)
	requireWakeUps(t, func(name string) time.Duration {
		theirs := w.fairThread(t, name)
		require.NoError(t, theirs.LockFor(ctx, longLease))
		got := w.goQueues(ctx, t, c.FairLock(name), 1)
		for range 2 {
			requireTruth(ctx, t, true, c.FairLock(name).Locked)
		}
		released := time.Now()
		require.NoError(t, theirs.Unlock(ctx))
		mine, woken := goHas(t, got)
		require.NoError(t, mine.Unlock(ctx))
		return woken.Sub(released)
	})
}

// fairQueue shows both sides in order, and each side's try leaves the other's queue alone.
func fairQueue(t *testing.T, w *world) {
	ctx, name, c := within(t), redistest.Name(t), w.client(t)
	l := c.FairLock(name)
	held := mustFairLock(ctx, t, l)
	theirs := w.fairThread(t, name)
	javas := w.javaQueues(ctx, t, theirs, name, 1, patience)
	goes := w.goQueues(ctx, t, l, 2)
	queue, err := l.Queue(ctx)
	require.NoError(t, err)
	require.Len(t, queue, 2)
	require.True(t, queue[0].Java && !queue[0].Mine)
	require.True(t, queue[1].Mine && !queue[1].Java)
	requireTruth(ctx, t, false, w.fairThread(t, name).TryLock)
	_, err = w.client(t).FairLock(name).TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	w.awaitQueued(ctx, t, name, 2)
	require.NoError(t, held.Unlock(ctx))
	javaHas(t, javas)
	require.NoError(t, theirs.Unlock(ctx))
	hold, _ := goHas(t, goes)
	require.NoError(t, hold.Unlock(ctx))
}

// goKeepsItsPlace: Java grants and cancels ahead of a Go waiter, which takes off its deadline more than there is left.
func goKeepsItsPlace(t *testing.T, w *world) {
	ctx, name, c := within(t), redistest.Name(t), w.client(t)
	first, second := w.fairThread(t, name), w.fairThread(t, name)
	require.NoError(t, first.LockFor(ctx, longLease))
	granted := w.javaQueues(ctx, t, second, name, 1, patience)
	canceled := w.javaQueues(ctx, t, w.fairThread(t, name), name, 2, 5*time.Second)
	mine := w.goQueues(ctx, t, c.FairLock(name), 3)
	require.NoError(t, first.Unlock(ctx))
	javaHas(t, granted)
	o := <-canceled
	require.NoError(t, o.err)
	require.False(t, o.value)
	for range 8 { // somebody's try, which drops a front whose deadline has passed
		requireTruth(ctx, t, false, w.fairThread(t, name).TryLock)
		w.awaitQueued(ctx, t, name, 1)
		<-time.After(500 * time.Millisecond)
	}
	require.NoError(t, second.Unlock(ctx))
	hold, _ := goHas(t, mine)
	require.NoError(t, hold.Unlock(ctx))
}

// goFront starts a Go process that is queued first, behind held.
func (w *world) goFront(ctx context.Context, t *testing.T, name string) *redistest.Child {
	t.Helper()
	child := startChild(t, "fair waiter", contest{Addrs: w.addrs, Sharded: w.sharded, Lock: name, Watchdog: watchdog})
	w.awaitQueued(ctx, t, name, 1)
	return child
}

func goFrontIsKilled(t *testing.T, w *world) {
	ctx, name, c := within(t), redistest.Name(t), w.client(t)
	held := mustFairLock(ctx, t, c.FairLock(name))
	child := w.goFront(ctx, t, name)
	theirs := w.fairThread(t, name)
	got := w.javaQueues(ctx, t, theirs, name, 2, patience)
	child.Kill()
	require.NoError(t, held.Unlock(ctx))
	javaHas(t, got) // at once, or when a process that is not heard of counts as gone
	require.NoError(t, theirs.Unlock(ctx))
}

func javaFrontIsKilled(t *testing.T, w *world) {
	redistest.Within(t, patience/2, func() time.Duration { // its own deadline is minutes away
		java := peer.Start(t, w.jvm)
		ctx, name, c := within(t), redistest.Name(t), w.client(t)
		held := mustFairLock(ctx, t, c.FairLock(name))
		w.javaQueues(ctx, t, java.LockOf("fairlock", "front", name), name, 1, patience)
		got := w.goQueues(ctx, t, c.FairLock(name), 2)
		java.Kill()
		require.NoError(t, held.Unlock(ctx))
		released := time.Now()
		hold, at := goHas(t, got)
		t.Logf("passed over after %v", at.Sub(released))
		took := at.Sub(released)
		require.NoError(t, hold.Unlock(ctx))
		return took
	})
}

// goFrontIsStopped: who stands still for three seconds is passed over, and comes back at the front.
func goFrontIsStopped(t *testing.T, w *world) {
	ctx, name, c := within(t), redistest.Name(t), w.client(t)
	held := mustFairLock(ctx, t, c.FairLock(name))
	child := w.goFront(ctx, t, name)
	theirs := w.fairThread(t, name)
	got := w.javaQueues(ctx, t, theirs, name, 2, patience)
	behind := w.goQueues(ctx, t, c.FairLock(name), 3)
	child.Stop()
	require.NoError(t, held.Unlock(ctx))
	javaHas(t, got)
	<-time.After(3 * time.Second)
	child.Cont()
	w.awaitQueued(ctx, t, name, 2)
	require.NoError(t, theirs.Unlock(ctx))
	require.Equal(t, "got", child.Next())
	require.Empty(t, behind, "it is back at the front")
	child.Send("unlock")
	hold, _ := goHas(t, behind)
	require.NoError(t, hold.Unlock(ctx))
}

// fairWaiter is a Go process that waits for a fair lock, and unlocks it when it is told to.
func fairWaiter(p *redistest.Parent) {
	inContest(p, func(ctx context.Context, c contest, client *rueidisson.Client, _ rueidis.Client) error {
		p.Say("ready")
		hold, err := client.FairLock(c.Lock).Lock(ctx)
		if err != nil {
			return err
		}
		p.Say("got")
		p.Hear()
		return hold.Unlock(ctx)
	})
}
