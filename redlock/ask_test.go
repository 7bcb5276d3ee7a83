package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/redlock"
)

// TestRedLockIsAskedAndForced counts members: a quorum that is held is a holder, and a
// quorum that answers is enough.
func TestRedLockIsAskedAndForced(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	here, there := f.direct(rueidisson.WithWatchdogTimeout(9*time.Second)), f.through()
	holds := []*lock.Hold{locktest.Take(t, here.locks[0]), locktest.Take(t, here.locks[1])}
	holder, err := there.red().Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, lock.Holder{}, holder, "two are no quorum")
	for _, h := range holds {
		require.NoError(t, h.Unlock(t.Context()))
	}

	hold := locktest.Take(t, here.red())
	f.heldOn(5, everyServer...)
	holder, err = here.red().Holder(t.Context())
	require.NoError(t, err)
	require.True(t, holder.Mine)
	left, err := there.red().Remaining(t.Context())
	require.NoError(t, err)
	require.Positive(t, left)
	require.LessOrEqual(t, left, 9*time.Second)
	for _, p := range f.proxies[:2] {
		p.BlackHole()
	}
	locked, err := there.red().Locked(t.Context())
	require.NoError(t, err, "three of five answer")
	require.True(t, locked)
	forced, err := there.red().ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, forced)
	thief := f.direct()
	for _, i := range []int{2, 3, 4} {
		locktest.Take(t, thief.locks[i]) // it is free, and would else be asked for again
	}
	locktest.Ended(t, "the end of the hold", hold.Lost())
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)

	f.proxies[2].BlackHole()
	for _, ask := range []func(ctx context.Context) error{
		func(ctx context.Context) error { _, err := there.red().Locked(ctx); return err },
		func(ctx context.Context) error { _, err := there.red().ForceUnlock(ctx); return err },
	} {
		few, cancel := context.WithTimeout(t.Context(), time.Second)
		err := ask(few)
		cancel()
		require.ErrorContains(t, err, "of 5 members answered")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	for _, p := range f.proxies[:3] {
		p.Restore()
	}
}

// TestRedLockForceUnlockEndsWithItsReturn has a member refuse it, and take it later.
func TestRedLockForceUnlockEndsWithItsReturn(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	kept := locktest.Take(t, f.direct().locks[0], lock.WithLease(time.Minute))
	raw := f.servers[0].Client(t)
	redistest.Do(t, raw, "CONFIG", "SET", "min-replicas-to-write", "9")
	held, err := f.through().red().With(redlock.WithMemberTimeout(100 * time.Millisecond)).ForceUnlock(t.Context())
	require.NoError(t, err, "four of five answer")
	require.False(t, held)
	time.Sleep(100 * time.Millisecond) // for what was on its way
	redistest.Do(t, raw, "CONFIG", "SET", "min-replicas-to-write", "0")
	time.Sleep(3 * time.Second) // for as long as a request that is refused is sent again
	require.Len(t, locktest.Left(t, raw, f.name), 1)
	require.NoError(t, kept.Unlock(t.Context()))
}
