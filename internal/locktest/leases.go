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
		hold := Take(t, here, lock.WithLease(short))
		ctx := hold.Context(context.Background())
		second := Take(t, there)
		require.ErrorIs(t, hold.Err(), lock.ErrLost)
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(ctx), lock.ErrLost)
		await(t, hold.Lost(), "the loss")
		require.ErrorIs(t, hold.Unlock(context.Background()), lock.ErrLost)
		require.NoError(t, second.Err(), "the late unlock harms the new holder")
		RequireBusy(t, here)
		Unlock(t, second)
	},
	"the watchdog keeps a hold for longer than its lease, and again": func(t *testing.T, s Suite) {
		name := s.Name(t)
		here, there := s.Start(t, kept).Locker(name), rival(s.Start(t, long), name)
		hold := Take(t, here)
		until := time.Now().Add(kept + kept/2) // what the first renewal grants ends earlier
		for time.Now().Before(until) {
			RequireBusy(t, there)
			require.NoError(t, hold.Err())
			pause(t, kept/20)
		}
		Unlock(t, hold)
		requireFree(t, there)
	},
	"extend lengthens a fixed lease and never shortens one": func(t *testing.T, s Suite) {
		hold := Take(t, s.one(t, ample), lock.WithLease(25*time.Second))
		require.NoError(t, hold.Extend(Bounded(t), time.Minute))
		require.Greater(t, time.Until(hold.Deadline()), 30*time.Second)
		require.NoError(t, hold.Extend(Bounded(t), time.Second))
		require.Greater(t, time.Until(hold.Deadline()), 30*time.Second)
		Unlock(t, hold)
	},
	"extend of a hold that has ended says so": func(t *testing.T, s Suite) {
		l := s.one(t, long)
		hold := Take(t, l)
		Unlock(t, hold)
		require.ErrorIs(t, hold.Extend(Bounded(t), time.Minute), lock.ErrReleased)
		hold = Take(t, l, lock.WithLease(short))
		await(t, hold.Lost(), "the loss")
		require.ErrorIs(t, hold.Extend(Bounded(t), time.Minute), lock.ErrLost)
	},
	"a lease or wait that cannot be used is refused": func(t *testing.T, s Suite) {
		l := s.one(t, long)
		for _, opt := range []lock.TryOption{
			lock.WithLease(0), lock.WithLease(-time.Second), lock.WithLease(9 * time.Millisecond),
			lock.WithLease(101 * 365 * 24 * time.Hour), lock.WithWait(-1),
		} {
			_, err := l.TryLock(Bounded(t), opt)
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
