package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/lock"
)

var leases = map[string]func(*testing.T, Suite){
	"a fixed lease ends the hold before another can have the lock": func(t *testing.T, s Suite) {
		here, there := s.pair(t, long)
		hold := take(t, here, lock.WithLease(short))
		ctx := hold.Context(context.Background())
		second := take(t, there)
		require.ErrorIs(t, hold.Err(), lock.ErrLost)
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(ctx), lock.ErrLost)
		await(t, hold.Lost(), "the loss")
		require.ErrorIs(t, hold.Unlock(context.Background()), lock.ErrLost)
		require.NoError(t, second.Err(), "the late unlock harms the new holder")
		requireBusy(t, here)
		unlock(t, second)
	},
	"the watchdog keeps a hold for longer than its lease, and again": func(t *testing.T, s Suite) {
		name := s.Name(t)
		here, there := s.Start(t, kept).Locker(name), rival(s.Start(t, long), name)
		hold := take(t, here)
		until := time.Now().Add(kept + kept/2) // what the first renewal grants ends earlier
		for time.Now().Before(until) {
			requireBusy(t, there)
			require.NoError(t, hold.Err())
			pause(t, kept/20)
		}
		unlock(t, hold)
		requireFree(t, there)
	},
	"extend lengthens a fixed lease and never shortens one": func(t *testing.T, s Suite) {
		hold := take(t, s.one(t, ample), lock.WithLease(5*time.Second))
		require.NoError(t, hold.Extend(bounded(t), time.Minute))
		require.Greater(t, time.Until(hold.Deadline()), 30*time.Second)
		require.NoError(t, hold.Extend(bounded(t), time.Second))
		require.Greater(t, time.Until(hold.Deadline()), 30*time.Second)
		unlock(t, hold)
	},
	"extend of a hold that has ended says so": func(t *testing.T, s Suite) {
		l := s.one(t, long)
		hold := take(t, l)
		unlock(t, hold)
		require.ErrorIs(t, hold.Extend(bounded(t), time.Minute), lock.ErrReleased)
		hold = take(t, l, lock.WithLease(short))
		await(t, hold.Lost(), "the loss")
		require.ErrorIs(t, hold.Extend(bounded(t), time.Minute), lock.ErrLost)
	},
	"a lease or wait that cannot be used is refused": func(t *testing.T, s Suite) {
		l := s.one(t, long)
		for _, opt := range []lock.TryOption{
			lock.WithLease(0), lock.WithLease(-time.Second), lock.WithLease(9 * time.Millisecond),
			lock.WithLease(101 * 365 * 24 * time.Hour), lock.WithWait(-1),
		} {
			_, err := l.TryLock(bounded(t), opt)
			require.ErrorIs(t, err, lock.ErrInvalidArgument)
		}
		requireFree(t, l)
	},
}

// pause is for tests that watch something stay as it is.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
