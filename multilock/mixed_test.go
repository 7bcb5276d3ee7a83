package multilock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// A lock under the name of a group that is held is refused, and the reverse:
// in the process that holds it, and in others.
func TestALockAndAGroupOfOneNameRefuseEachOther(t *testing.T) {
	t.Parallel()
	locks := map[string]func(c *rueidisson.Client, name string) lock.Locker{
		"lock":   func(c *rueidisson.Client, name string) lock.Locker { return c.Lock(name) },
		"fenced": func(c *rueidisson.Client, name string) lock.Locker { return c.FencedLock(name) },
		"fair":   func(c *rueidisson.Client, name string) lock.Locker { return c.FairLock(name) },
		"read":   func(c *rueidisson.Client, name string) lock.Locker { return c.RWLock(name).Read() },
		"write":  func(c *rueidisson.Client, name string) lock.Locker { return c.RWLock(name).Write() },
	}
	for kind, of := range locks {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			name := redistest.Name(t)
			here, there := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
			group := locktest.Take(t, here.LockGroup(name).Of("a"))
			for _, c := range []*rueidisson.Client{here, there} {
				_, err := of(c, name).TryLock(locktest.Bounded(t))
				require.ErrorIs(t, err, lock.ErrWrongKind)
				_, err = of(c, name).Lock(locktest.Bounded(t))
				require.ErrorIs(t, err, lock.ErrWrongKind)
				if forced, is := of(c, name).(*lock.Lock); is {
					_, err = forced.ForceUnlock(t.Context())
					require.ErrorIs(t, err, lock.ErrWrongKind)
				}
			}
			require.NoError(t, group.Err())
			require.NoError(t, group.Unlock(t.Context()))

			hold := locktest.Take(t, of(here, name))
			for _, c := range []*rueidisson.Client{here, there} {
				_, err := c.LockGroup(name).TryLock(locktest.Bounded(t), "a")
				require.ErrorIs(t, err, lock.ErrWrongKind)
				_, err = c.LockGroup(name).Lock(locktest.Bounded(t), "a", "b")
				require.ErrorIs(t, err, lock.ErrWrongKind)
			}
			require.NoError(t, hold.Unlock(t.Context()))
			locktest.RequireFree(t, here.LockGroup(name).Of("a"))
		})
	}
}
