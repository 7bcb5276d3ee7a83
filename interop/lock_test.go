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
	{"lock/mutual_exclusion/both", exclusion},
	{"lock/killed_contender/both", contenderIsKilled},
	{"lock/wake-up/go-java", goWakesJava},
	{"lock/wake-up/java-go", javaWakesGo},
	{"lock/force_unlock/go-java", goForces},
	{"lock/force_unlock/java-go", javaForces},
	{"lock/re-entry/go-java", goReenters},
	{"lock/re-entry/java-go", javaReenters},
	{"lock/joined_hold/go-java", goHoldIsJoined},
	{"lock/joined_hold/java-go", goJoinsJava},
	{"lock/inspection/go-java", javaLooksAtGo},
	{"lock/inspection/java-go", goLooksAtJava},
	{"lock/names/both", names},
	{"lock/no_key_left_behind/go-java", goLeavesNothing},
	{"lock/no_key_left_behind/java-go", javaLeavesNothing},
}

// lockWaits do next to nothing but wait for a lease.
var lockWaits = []proof{
	{"lock/lease_expiry/go-java", goLeaseEnds},
	{"lock/lease_expiry/java-go", javaLeaseEnds},
	{"lock/watchdog/go-java", goRenews},
	{"lock/watchdog/java-go", javaRenews},
	{"lock/joined_hold_alone/java-go", goKeepsWhatItJoined},
	{"lock/killed_holder/go-java", goIsKilled},
	{"lock/killed_holder/java-go", javaIsKilled},
}

var lockEssentials = []proof{
	{"lock/mutual_exclusion/both", exclusion},
	{"lock/wake-up/go-java", goWakesJava},
	{"lock/wake-up/java-go", javaWakesGo},
	{"lock/no_key_left_behind/java-go", javaLeavesNothing},
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
