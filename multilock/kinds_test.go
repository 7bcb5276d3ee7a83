package multilock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
)

// everyKind is a member of each kind of lock.
func everyKind(c *rueidisson.Client, name string) map[string]lock.Locker {
	return map[string]lock.Locker{
		"reentrant": c.Lock(name + ":lock"),
		"fair":      c.FairLock(name + ":fair"),
		"fenced":    c.FencedLock(name + ":fenced"),
		"write":     c.RWLock(name + ":write").Write(),
		"read":      c.RWLock(name + ":read").Read(),
		"values":    c.LockGroup(name+":group").Of("a", "b"),
	}
}

func all(kinds map[string]lock.Locker) (locks []lock.Locker) {
	for _, l := range kinds {
		locks = append(locks, l)
	}
	return locks
}

func TestMembersMayBeOfAnyKind(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	mine, theirs := everyKind(locktest.Open(t, server.Addr()), name), everyKind(locktest.Open(t, server.Addr()), name)
	here, there := multilock.Multi(all(mine)...), multilock.Multi(all(theirs)...)
	for kind, l := range theirs {
		busy := locktest.Take(t, l)
		if kind == "read" {
			locktest.RequireFree(t, here) // readers share
		} else {
			locktest.RequireBusy(t, here)
		}
		require.NoError(t, busy.Unlock(t.Context()))
	}
	hold := locktest.Take(t, here)
	_, fenced := hold.Fence()
	require.False(t, fenced)
	locktest.RequireBusy(t, there)
	for kind, l := range mine {
		inner, err := l.TryLock(hold.Context(t.Context()))
		require.NoError(t, err, "%s is re-entered", kind)
		_, fenced := inner.Fence()
		require.Equal(t, kind == "fenced", fenced, "%s: the token is the member's", kind)
		require.NoError(t, inner.Unlock(t.Context()))
	}
	for kind, l := range theirs {
		if kind == "read" {
			locktest.RequireFree(t, l)
		} else {
			locktest.RequireBusy(t, l)
		}
	}
	require.NoError(t, hold.Unlock(t.Context()))
	locktest.RequireFree(t, there)
	_, err := multilock.Multi(mine["read"], locktest.Open(t, server.Addr()).Lock("other"), mine["write"], mine["read"]).Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
}

// Both sides of a read-write lock are one lock: no hold could have both.
func TestBothSidesOfOneLockAreTheSameTwice(t *testing.T) {
	t.Parallel()
	rw := locktest.Open(t, redistest.Shared(t).Addr()).RWLock(redistest.Name(t))
	_, err := multilock.Multi(rw.Read(), rw.Write()).Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	require.ErrorContains(t, err, "twice")
}
