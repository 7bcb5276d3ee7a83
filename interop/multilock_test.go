//go:build interop

package interop

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
)

var multiLockProofs = []proof{
	{row: "multi-lock/mutual_exclusion/go-java", test: goHoldsSeveral},
	{row: "multi-lock/mutual_exclusion/java-go", test: javaHoldsSeveral},
	{row: "group_of_locks/mutual_exclusion/go-java", test: goHoldsValues},
	{row: "group_of_locks/mutual_exclusion/java-go", test: javaHoldsValues},
	{row: "group_of_locks/wake-up/both", test: valuesWake},
}

// groupWaits do next to nothing but wait for a lease.
var groupWaits = []proof{
	{row: "group_of_locks/watchdog/both", test: valuesAreRenewed},
}

// several are three names, of other slots on a cluster, and the Java lock of them.
func (w *world) several(t *testing.T) (names []string, theirs peer.Lock) {
	t.Helper()
	name := redistest.Name(t)
	names = []string{name + "-a", name + "-b", name + "-c"}
	return names, w.java.LockOf("multilock", redistest.Name(t), names[2]+"|"+names[0]+"|"+names[1])
}

func (w *world) multi(t *testing.T, names []string) *multilock.MultiLock {
	t.Helper()
	c := w.client(t)
	var locks []lock.Locker
	for _, name := range names {
		locks = append(locks, c.Lock(name))
	}
	return multilock.Multi(locks...)
}

func goHoldsSeveral(t *testing.T, w *world) {
	ctx := within(t)
	names, theirs := w.several(t)
	hold, err := w.multi(t, names).Lock(ctx)
	require.NoError(t, err)
	got, err := theirs.TryLockWait(ctx, 300*time.Millisecond)
	require.NoError(t, err)
	require.False(t, got)
	for _, name := range names {
		requireTruth(ctx, t, false, w.thread(t, name).TryLock)
	}
	waits := begin(func() (bool, error) { return theirs.TryLockWait(ctx, patience) })
	require.NoError(t, hold.Unlock(ctx))
	javaHas(t, waits)
	require.NoError(t, theirs.Unlock(ctx))
	for _, name := range names {
		require.False(t, w.exists(ctx, t, name))
	}
}

func javaHoldsSeveral(t *testing.T, w *world) {
	ctx := within(t)
	names, theirs := w.several(t)
	mine := w.multi(t, names)
	require.NoError(t, theirs.Lock(ctx))
	_, err := mine.TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	for _, name := range names {
		requireTruth(ctx, t, true, w.thread(t, name).IsLocked)
	}
	waits := begin(func() (*lock.Hold, error) { return mine.Lock(ctx) })
	w.awaitListener(ctx, t, names[0])
	require.NoError(t, theirs.Unlock(ctx))
	hold, _ := goHas(t, waits)
	requireTruth(ctx, t, false, w.thread(t, names[1]).TryLock)
	require.NoError(t, hold.Unlock(ctx))
	for _, name := range names {
		require.False(t, w.exists(ctx, t, name))
	}
}

// values is the Java lock of values of a group.
func (w *world) values(t *testing.T, group string, values ...string) peer.Lock {
	t.Helper()
	return w.java.LockOf("lockgroup", redistest.Name(t), group+"|"+strings.Join(values, "|"))
}

func goHoldsValues(t *testing.T, w *world) {
	ctx := within(t)
	name := redistest.Name(t)
	hold, err := w.client(t).LockGroup(name).Lock(ctx, "a", "student:001")
	require.NoError(t, err)
	requireTruth(ctx, t, false, w.values(t, name, "student:001", "other").TryLock)
	requireTruth(ctx, t, true, w.values(t, name, "a").IsLocked)
	free := w.values(t, name, "free")
	requireTruth(ctx, t, true, free.TryLock)
	require.NoError(t, hold.Unlock(ctx))
	theirs := w.values(t, name, "student:001", "other")
	requireTruth(ctx, t, true, theirs.TryLock)
	require.NoError(t, theirs.Unlock(ctx))
	require.NoError(t, free.Unlock(ctx))
	require.False(t, w.exists(ctx, t, name))
}

func javaHoldsValues(t *testing.T, w *world) {
	ctx := within(t)
	name := redistest.Name(t)
	theirs := w.values(t, name, "a", "student:001")
	requireTruth(ctx, t, true, theirs.TryLock)
	fields := w.hash(ctx, t, name)
	require.Len(t, fields, 6)
	for _, f := range []string{"qwvAS12pR0CgRitaypEjUw", "DqvoYruF5eyLDrILcprmBw"} {
		require.Contains(t, fields, f)
		require.Equal(t, "1", fields[f+":"+fields[f]+":lock_count"])
	}
	group := w.client(t).LockGroup(name)
	_, err := group.TryLock(ctx, "b", "a")
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	free, err := group.TryLock(ctx, "b")
	require.NoError(t, err)
	require.NoError(t, theirs.Unlock(ctx))
	hold, err := group.TryLock(ctx, "a")
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(ctx))
	require.NoError(t, free.Unlock(ctx))
	require.False(t, w.exists(ctx, t, name))
}

func valuesWake(t *testing.T, w *world) {
	ctx := within(t)
	name := redistest.Name(t)
	group := w.client(t).LockGroup(name)
	hold, err := group.Of("a", "b").Lock(ctx, lock.WithLease(longLease))
	require.NoError(t, err)
	theirs := w.values(t, name, "b", "c")
	waits := begin(func() (bool, error) { return theirs.TryLockWait(ctx, patience) })
	w.awaitListener(ctx, t, name)
	require.NoError(t, hold.Unlock(ctx))
	javaHas(t, waits)
	mine := begin(func() (*lock.Hold, error) { return group.Lock(ctx, "c") })
	w.awaitListener(ctx, t, name)
	require.NoError(t, theirs.Unlock(ctx))
	hold, _ = goHas(t, mine)
	require.NoError(t, hold.Unlock(ctx))
	require.False(t, w.exists(ctx, t, name))
}

// valuesAreRenewed has holders of both sides in one group for longer than a lease.
func valuesAreRenewed(t *testing.T, w *world) {
	ctx := within(t)
	name := redistest.Name(t)
	group := w.client(t).LockGroup(name)
	one, err := group.Lock(ctx, "a")
	require.NoError(t, err)
	two, err := group.Lock(ctx, "b")
	require.NoError(t, err)
	theirs := w.values(t, name, "c")
	requireTruth(ctx, t, true, theirs.TryLock)
	<-time.After(watchdog + watchdog/2)
	require.NoError(t, one.Err())
	require.NoError(t, two.Err())
	for _, value := range []string{"a", "b"} {
		requireTruth(ctx, t, false, w.values(t, name, value).TryLock)
	}
	_, err = group.TryLock(ctx, "c")
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.NoError(t, theirs.Unlock(ctx))
	require.NoError(t, one.Unlock(ctx))
	require.NoError(t, two.Unlock(ctx))
	require.False(t, w.exists(ctx, t, name))
}
