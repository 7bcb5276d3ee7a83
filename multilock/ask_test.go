package multilock_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
)

// TestMultiLockIsAskedAndForced asks who holds members of every kind, and takes them all
// away, also the one that is held alone.
func TestMultiLockIsAskedAndForced(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	mine, theirs := everyKind(locktest.Open(t, server.Addr()), name), everyKind(locktest.Open(t, server.Addr()), name)
	here, there := multilock.Multi(all(mine)...), multilock.Multi(all(theirs)...)
	holder, err := there.Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, lock.Holder{}, holder)
	forced, err := there.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.False(t, forced)
	for kind, l := range mine {
		one := locktest.Take(t, l, lock.WithLease(20*time.Second))
		holder, err = there.Holder(t.Context())
		require.NoError(t, err, kind)
		require.True(t, holder.Held(), "a member is held: %s", kind)
		require.False(t, holder.Mine, kind)
		require.NoError(t, one.Unlock(t.Context()))
		locked, err := there.Locked(t.Context())
		require.NoError(t, err)
		require.False(t, locked, kind)
	}

	hold, alone := locktest.Take(t, here, lock.WithLease(20*time.Second)), locktest.Take(t, everyKind(locktest.Open(t, server.Addr()), name)["read"], lock.WithLease(25*time.Second))
	holder, err = here.Holder(t.Context())
	require.NoError(t, err)
	require.Greater(t, holder.Remaining, 5*time.Second)
	left, err := there.Remaining(t.Context())
	require.NoError(t, err)
	require.Greater(t, left, 5*time.Second, "of the longest lease")
	forced, err = there.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, forced)
	locked, err := here.Locked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)
	locktest.RequireFree(t, there)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	require.ErrorIs(t, alone.Unlock(t.Context()), lock.ErrLost)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = here.Locked(ended)
	require.ErrorIs(t, err, context.Canceled)
	_, err = multilock.Multi().ForceUnlock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
}

// TestGroupIsShownByItsName: the key that stands for its values in the client is no
// concern of users.
func TestGroupIsShownByItsName(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	proxy := redistest.NewProxy(t, server.Addr())
	seen, said := new(names), new(enginetest.Log)
	c := locktest.Open(t, proxy.Addr(), rueidisson.WithObserver(seen), rueidisson.WithLogger(slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	values := c.LockGroup(name).Of("a", "b")
	require.NoError(t, locktest.Take(t, values).Unlock(t.Context()))
	hold := locktest.Take(t, values)
	waited := make(chan error, 1)
	go func() { // ends with the lock
		next, err := values.Lock(locktest.Bounded(t))
		if err == nil {
			err = next.Unlock(context.Background())
		}
		waited <- err
	}()
	redistest.Eventually(t, func() bool { return seen.has("wait started") }, soon, time.Millisecond, "it does not wait")
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, <-waited)
	hold = locktest.Take(t, values)
	_, err := locktest.Open(t, server.Addr()).LockGroup(name).Of("a").ForceUnlock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lock.ErrLost)
	locktest.Ended(t, "the loss", hold.Lost())
	require.NoError(t, func() error { _, err := c.LockGroup(name).Of("c", "d").Lock(locktest.Bounded(t)); return err }())
	now, cancel := context.WithCancel(context.Background())
	cancel()
	err = c.Close(now)
	require.ErrorContains(t, err, name)
	require.True(t, seen.has("lost"))
	require.Contains(t, said.String(), name)
	require.NoError(t, seen.only(name))
	for _, text := range []string{err.Error(), said.String()} {
		require.NotContains(t, text, "{"+name+"}", "the key that stands for values has braces")
	}
}
