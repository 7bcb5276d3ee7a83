package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// TestGroupIsAskedAndForced asks who holds values of a group, and takes one of them away:
// its hold is lost, and the other's value stays.
func TestGroupIsAskedAndForced(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	c := locktest.Open(t, server.Addr())
	here, there := c.LockGroup(name), locktest.Open(t, server.Addr()).LockGroup(name)
	holder, err := here.Of("a").Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, lock.Holder{}, holder)
	forced, err := here.Of("a").ForceUnlock(t.Context())
	require.NoError(t, err)
	require.False(t, forced)

	one, two := locktest.Take(t, here.Of("a", "b"), lock.WithLease(time.Minute)), locktest.Take(t, here.Of("c"))
	holder, err = there.Of("a", "c", "d").Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, holder.Count)
	require.False(t, holder.Mine)
	require.Greater(t, holder.Remaining, 35*time.Second, "that of the longest lease")
	holder, err = here.Of("c").Holder(t.Context())
	require.NoError(t, err)
	require.True(t, holder.Mine)
	locked, err := there.Of("d").Locked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)

	forced, err = there.Of("a").ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, forced)
	locktest.RequireFree(t, there.Of("a"))
	locktest.RequireBusy(t, there.Of("b"))
	require.ErrorIs(t, one.Unlock(t.Context()), lock.ErrLost)
	locktest.RequireFree(t, there.Of("b"))
	require.NoError(t, two.Err())
	require.NoError(t, two.Unlock(t.Context()))
	left, err := there.Of("a", "b", "c").Remaining(t.Context())
	require.NoError(t, err)
	require.Zero(t, left)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = here.Of("a").Locked(ended)
	require.ErrorIs(t, err, context.Canceled)
	_, err = here.Of().ForceUnlock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
}
