//go:build interop

package interop

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// The leases outlive the tests and nobody polls as often as this, so a waiter that gets the lock in time
// got the message.
const (
	wakeUps    = 9
	mostOf     = 7 // so a busy machine may pause for a moment or two
	wokenIn    = 100 * time.Millisecond
	wokenAtAll = time.Second
)

func goWakesJava(t *testing.T, w *world) {
	ctx, c := within(t), w.client(t)
	requireWakeUps(t, func(name string) time.Duration {
		mine := mustLock(ctx, t, c.Lock(name), lock.WithLease(longLease))
		theirs := w.thread(t, name)
		got := w.javaWaits(ctx, t, theirs, name)
		released := time.Now()
		require.NoError(t, mine.Unlock(ctx))
		woken := javaHas(t, got)
		require.NoError(t, theirs.Unlock(ctx))
		return woken.Sub(released)
	})
}

func javaWakesGo(t *testing.T, w *world) {
	ctx, c := within(t), w.client(t)
	requireWakeUps(t, func(name string) time.Duration {
		theirs := w.thread(t, name)
		require.NoError(t, theirs.LockFor(ctx, longLease))
		got := w.goWaits(ctx, t, c.Lock(name))
		released := time.Now()
		require.NoError(t, theirs.Unlock(ctx))
		mine, woken := goHas(t, got)
		require.NoError(t, mine.Unlock(ctx))
		return woken.Sub(released)
	})
}

func requireWakeUps(t *testing.T, wakeUp func(name string) time.Duration) {
	t.Helper()
	redistest.Within(t, wokenIn, func() time.Duration {
		var took []time.Duration
		for range wakeUps {
			took = append(took, wakeUp(redistest.Name(t)).Round(10*time.Microsecond))
		}
		slices.Sort(took)
		t.Logf("woken after %v", took)
		return max(took[mostOf-1], took[len(took)-1]-wokenAtAll+wokenIn)
	})
}

// requireWoken is for a single waiter: since is when it could first have been told.
func requireWoken(t *testing.T, since, got time.Time) {
	t.Helper()
	redistest.Within(t, wokenAtAll, func() time.Duration { // nobody told the waiter
		t.Logf("woken after %v", got.Sub(since))
		return got.Sub(since)
	})
}
