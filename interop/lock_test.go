//go:build interop

package interop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
)

var lockProofs = []proof{
	{row: "lock/mutual_exclusion/both", test: exclusion, alone: true},
	{row: "lock/killed_contender/both", test: contenderIsKilled, alone: true},
	{row: "lock/wake-up/go-java", test: goWakesJava},
	{row: "lock/wake-up/java-go", test: javaWakesGo},
	{row: "lock/force_unlock/go-java", test: goForces},
	{row: "lock/force_unlock/java-go", test: javaForces},
	{row: "lock/re-entry/go-java", test: goReenters},
	{row: "lock/re-entry/java-go", test: javaReenters},
	{row: "lock/joined_hold/go-java", test: goHoldIsJoined},
	{row: "lock/joined_hold/java-go", test: goJoinsJava},
	{row: "lock/inspection/go-java", test: javaLooksAtGo},
	{row: "lock/inspection/java-go", test: goLooksAtJava},
	{row: "lock/names/both", test: names},
	{row: "lock/no_key_left/go-java", test: goLeavesNothing},
	{row: "lock/no_key_left/java-go", test: javaLeavesNothing},
}

// lockWaits do next to nothing but wait for a lease.
var lockWaits = []proof{
	{row: "lock/lease_expiry/go-java", test: goLeaseEnds},
	{row: "lock/lease_expiry/java-go", test: javaLeaseEnds},
	{row: "lock/watchdog/go-java", test: goRenews},
	{row: "lock/watchdog/java-go", test: javaRenews},
	{row: "lock/joined_hold_alone/java-go", test: goKeepsWhatItJoined},
	{row: "lock/killed_holder/go-java", test: goIsKilled},
	{row: "lock/killed_holder/java-go", test: javaIsKilled},
}

var lockEssentials = []proof{
	{row: "lock/mutual_exclusion/both", test: exclusion, alone: true},
	{row: "lock/wake-up/go-java", test: goWakesJava},
	{row: "lock/wake-up/java-go", test: javaWakesGo},
	{row: "lock/no_key_left/java-go", test: javaLeavesNothing},
}

func mustLock(ctx context.Context, t *testing.T, l *lock.Lock, opts ...lock.LockOption) *lock.Hold {
	t.Helper()
	h, err := l.Lock(ctx, opts...)
	require.NoError(t, err)
	return h
}

// javaWaits begins a wait in Java that only the lock ends, and returns when Java listens.
func (w *world) javaWaits(ctx context.Context, t *testing.T, theirs peer.Lock, name string) <-chan outcome[bool] {
	t.Helper()
	got := begin(func() (bool, error) { return theirs.TryLockWait(ctx, patience) })
	w.awaitListener(ctx, t, name)
	// Java tries once more after it was told that it listens. By the time that it has answered two
	// questions of other threads, that try is over, and only a message or a lease can wake it.
	for range 2 {
		requireTruth(ctx, t, true, w.thread(t, name).IsLocked)
	}
	return got
}

// goWaits is javaWaits for the other side.
func (w *world) goWaits(ctx context.Context, t *testing.T, mine *lock.Lock) <-chan outcome[*lock.Hold] {
	t.Helper()
	got := begin(func() (*lock.Hold, error) { return mine.Lock(ctx) })
	w.awaitListener(ctx, t, mine.Name())
	for range 2 {
		locked, err := mine.Locked(ctx)
		require.NoError(t, err)
		require.True(t, locked)
	}
	return got
}

// javaHas waits for the end of javaWaits, and returns when that was.
func javaHas(t *testing.T, got <-chan outcome[bool]) time.Time {
	t.Helper()
	o := <-got
	require.NoError(t, o.err)
	require.True(t, o.value)
	return o.at
}

func goHas(t *testing.T, got <-chan outcome[*lock.Hold]) (*lock.Hold, time.Time) {
	t.Helper()
	o := <-got
	require.NoError(t, o.err)
	return o.value, o.at
}

func requireTruth(ctx context.Context, t *testing.T, want bool, ask func(context.Context) (bool, error)) {
	t.Helper()
	got, err := ask(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func requireHolds(ctx context.Context, t *testing.T, want int64, theirs peer.Lock) {
	t.Helper()
	got, err := theirs.HoldCount(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// requireNotHeld expects Java to say that the thread does not hold the lock that it wants to unlock.
func requireNotHeld(t *testing.T, err error) {
	t.Helper()
	require.Equal(t, "IllegalMonitorStateException", peer.Thrown(err), "%v", err)
}
