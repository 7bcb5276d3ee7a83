//go:build interop

package interop

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/lock"
)

var entryObjectProofs = []proof{
	{row: "map/objects_of_an_entry/both", test: bothUseObjectsOfAnEntry},
}

// bothUseObjectsOfAnEntry: the map of either side hands out the same ones. What one side holds, the other sees.
func bothUseObjectsOfAnEntry(t *testing.T, w *world) {
	m := w.sharedMap(t)
	t.Cleanup(func() { // semaphores and latches have no end of their own
		for _, left := range w.keys(context.Background(), t, m.mine.Name()) {
			w.del(context.Background(), t, left)
		}
	})
	named := func(getter, name string) string {
		t.Helper()
		got, err := m.theirs.NameOfEntryObject(m.ctx, getter, str("abc"))
		require.NoError(t, err)
		require.Equal(t, got, name, getter)
		return name
	}
	fair, rw := m.mine.FairLock("abc"), m.mine.RWLock("abc")
	read, write := w.rwTheirs(t, named("getReadWriteLock", rw.Name()))
	for _, both := range []struct {
		mine   lock.Locker
		locked func(ctx context.Context) (bool, error)
		theirs peer.Lock
	}{
		{fair, fair.Locked, w.java.LockOf("fairlock", m.mine.Name(), named("getFairLock", fair.Name()))},
		{rw.Read(), rw.Read().Locked, read},
		{rw.Write(), rw.Write().Locked, write},
	} {
		hold := mustTake(m.ctx, t, both.mine)
		requireTruth(m.ctx, t, true, both.theirs.IsLocked)
		require.NoError(t, hold.Unlock(m.ctx))
		requireTruth(m.ctx, t, true, both.theirs.TryLock)
		requireTruth(m.ctx, t, true, both.locked)
		require.NoError(t, both.theirs.Unlock(m.ctx))
		requireTruth(m.ctx, t, false, both.locked)
	}
	bothTakePermitsOfAnEntry(t, w, m, named)
	bothCountAnEntryDown(t, w, m, named)
}

func bothTakePermitsOfAnEntry(t *testing.T, w *world, m *sharedMap, named func(getter, name string) string) {
	free := func(want int64, counts ...func(ctx context.Context) (int64, error)) {
		t.Helper()
		for _, count := range counts {
			n, err := count(m.ctx)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
	}
	plain, leased := m.mine.Semaphore("abc"), m.mine.PermitSemaphore("abc")
	javaPlain := w.java.Semaphore(m.mine.Name(), named("getSemaphore", plain.Name()))
	did, err := plain.TrySetPermits(m.ctx, 3)
	require.NoError(t, err)
	require.True(t, did)
	require.NoError(t, plain.Acquire(m.ctx, 1))
	require.NoError(t, javaPlain.Acquire(m.ctx, 1))
	free(1, plain.Available, javaPlain.AvailablePermits)
	require.NoError(t, javaPlain.Release(m.ctx, 2))
	free(3, plain.Available, javaPlain.AvailablePermits)

	javaLeased := w.java.PermitSemaphore(m.mine.Name(), named("getPermitExpirableSemaphore", leased.Name()))
	requireTruth(m.ctx, t, true, func(ctx context.Context) (bool, error) { return javaLeased.TrySetPermits(ctx, 3) })
	permit, err := leased.Acquire(m.ctx)
	require.NoError(t, err)
	id, err := javaLeased.Acquire(m.ctx, longLease)
	require.NoError(t, err)
	free(1, leased.Available, javaLeased.AvailablePermits)
	require.NoError(t, permit.Release(m.ctx))
	require.NoError(t, leased.ReleaseID(m.ctx, id))
	free(3, leased.Available, javaLeased.AvailablePermits)
}

// bothCountAnEntryDown: on a cluster the name of the latch has braces, which no latch may have there.
func bothCountAnEntryDown(t *testing.T, w *world, m *sharedMap, named func(getter, name string) string) {
	mine := m.mine.Latch("abc")
	name := named("getCountDownLatch", mine.Name())
	if w.cluster {
		_, err := mine.Count(m.ctx)
		require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
		return
	}
	theirs := w.java.Latch(m.mine.Name(), name)
	did, err := mine.TrySetCount(m.ctx, 2)
	require.NoError(t, err)
	require.True(t, did)
	require.NoError(t, theirs.CountDown(m.ctx))
	left, err := mine.CountDown(m.ctx)
	require.NoError(t, err)
	require.Zero(t, left)
	n, err := theirs.GetCount(m.ctx)
	require.NoError(t, err)
	require.Zero(t, n)
}
