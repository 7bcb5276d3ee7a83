package lock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

func TestADetachedContextEndsWithTheHoldAndKeepsTheValues(t *testing.T) {
	t.Parallel()
	type key struct{}
	hold := acquire(t, locktest.Open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t)))
	worker := lock.Detach(hold.Context(context.WithValue(t.Context(), key{}, "value")))
	derived, cancel := context.WithCancel(worker)
	defer cancel()
	require.NoError(t, worker.Err())
	require.Equal(t, "value", worker.Value(key{}))
	require.NoError(t, hold.Unlock(t.Context()))
	for _, ctx := range []context.Context{worker, derived} {
		locktest.Ended(t, "the unlock", ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), lock.ErrReleased)
	}
}

func TestWorkersUnderADetachedContextExcludeEachOther(t *testing.T) {
	t.Parallel()
	c := locktest.Open(t, redistest.Shared(t).Addr())
	outer, inner := c.Lock(redistest.Name(t)+"outer"), c.Lock(redistest.Name(t)+"inner")
	held := acquire(t, outer)
	both := held.Context(acquire(t, inner).Context(t.Context()))

	for title, l := range map[string]*lock.Lock{"the nearest hold": outer, "one around it": inner} {
		again := acquireUnder(both, t, l)
		require.NoError(t, again.Unlock(t.Context()), title)
		_, err := l.TryLock(lock.Detach(both))
		require.ErrorIs(t, err, lock.ErrNotAcquired, title)
	}

	third := c.Lock(redistest.Name(t) + "third")
	fresh := acquireUnder(lock.Detach(both), t, third)
	under := fresh.Context(lock.Detach(both))
	again := acquireUnder(under, t, third)
	require.NoError(t, again.Unlock(t.Context()), "what is taken below it is carried again")
	_, err := outer.TryLock(under)
	require.ErrorIs(t, err, lock.ErrNotAcquired)
}
