package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// TestUnlockEndsSoonAfterItsContext, and goes on: by its own bound it would take
// more than four seconds.
func TestUnlockEndsSoonAfterItsContext(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 2*time.Second, func() time.Duration {
		longest := time.Duration(0)
		server := redistest.Shared(t)
		proxy := redistest.NewProxy(t, server.Addr())
		c, l := locktest.Open(t, proxy.Addr()), redistest.Name(t)
		hold := acquire(t, c.Lock(l))
		proxy.BlackHole()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		err := hold.Unlock(ctx)
		longest = max(longest, time.Since(began))
		require.ErrorIs(t, err, lock.ErrDeferred)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, hold.Unlock(ctx), lock.ErrReleased)
		proxy.Restore()
		admin := server.Client(t)
		redistest.Eventually(t, func() bool { return !exists(t, admin, l) }, 25*time.Second, 10*time.Millisecond, "it goes on") // before the lease ends by itself
		return longest
	})
}

func TestUnlockUnderAContextThatHasEndedIsDone(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c, raw := locktest.Open(t, server.Addr()), server.Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	redistest.Eventually(t, func() bool {
		l := redistest.Name(t)
		err := acquire(t, c.Lock(l)).Unlock(ctx)
		if err != nil { // the machine stood still for a quarter of a second
			require.ErrorIs(t, err, lock.ErrDeferred)
			return false
		}
		require.False(t, exists(t, raw, l))
		return true
	}, redistest.Soon, time.Millisecond, "each unlock goes on")
}

// TestCloseEndsSoonAfterItsContext on a silent server, with a release that goes on.
func TestCloseEndsSoonAfterItsContext(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 3*time.Second, func() time.Duration {
		longest := time.Duration(0)
		proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
		c, l := locktest.Open(t, proxy.Addr()), redistest.Name(t)
		hold := acquire(t, c.Lock(l))
		proxy.BlackHole()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, hold.Unlock(ctx), lock.ErrDeferred)
		began := time.Now()
		err := c.Close(ctx)
		longest = max(longest, time.Since(began))
		require.ErrorContains(t, err, l)
		return longest
	})
}
