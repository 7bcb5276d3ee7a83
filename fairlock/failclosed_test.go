package fairlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/watchdog"
	"github.com/rueidisson/rueidisson/lock"
)

// lost expects that a hold which the server does not know ends, and that its late
// unlock leaves the other's alone, if there is another, who gives it back.
func lost(t testing.TB, hold, other *lock.Hold) {
	t.Helper()
	work := hold.Context(t.Context())
	select {
	case <-work.Done():
	case <-time.After(soon):
		require.FailNow(t, "the loss was not told")
	}
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	require.ErrorIs(t, context.Cause(work), watchdog.ErrGone, "the server said so; the lease did not run out")
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	if other != nil {
		require.NoError(t, other.Err(), "the late unlock left it alone")
		require.NoError(t, other.Extend(t.Context(), time.Minute))
		locktest.Unlock(t, other)
	}
}

func TestARestartThatForgetsIsALossAtTheNextRenewal(t *testing.T) {
	t.Parallel()
	server, name := redistest.Start(t), redistest.Name(t)
	first := locktest.Take(t, locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(20*time.Second)).FairLock(name))
	server.Restart()
	lost(t, first, locktest.Take(t, locktest.Open(t, server.Addr()).FairLock(name)))
}

// set makes the key a string, as another program would by mistake.
func set(t testing.TB, raw rueidis.Client, key string) {
	t.Helper()
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(key).Value("data").Build()).Error())
}

func TestAKeyOverwrittenUnderAHoldIsALoss(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, l := server.Client(t), locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second)).FairLock(redistest.Name(t))
	hold := locktest.Take(t, l)
	set(t, raw, l.Name())
	lost(t, hold, nil)
	value, err := raw.Do(t.Context(), raw.B().Get().Key(l.Name()).Build()).ToString()
	require.NoError(t, err)
	require.Equal(t, "data", value, "somebody's data is left alone")
}

func TestEveryOperationReportsAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	l := locktest.Open(t, server.Addr()).FairLock(redistest.Name(t))
	set(t, server.Client(t), l.Name())
	for op, call := range map[string]func() error{
		"lock":         func() error { _, err := l.Lock(t.Context()); return err },
		"try lock":     func() error { _, err := l.TryLock(t.Context(), lock.WithWait(soon)); return err },
		"force unlock": func() error { _, err := l.ForceUnlock(t.Context()); return err },
		"inspect":      func() error { _, err := l.Holder(t.Context()); return err },
	} {
		err := call()
		require.ErrorContains(t, err, "WRONGTYPE", op)
		require.ErrorContains(t, err, l.Name(), op)
		require.NotErrorIs(t, err, lock.ErrOutcomeUnknown, op)
	}
}

func TestAWaiterWhoseKeyIsOverwrittenStopsWaiting(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()).FairLock(name), locktest.Open(t, server.Addr()).FairLock(name)
	hold := locktest.Take(t, here)
	waited := lockLater(t.Context(), there)
	awaitQueue(t, here, 1)
	set(t, raw, name)
	err := redistest.Done(t, waited).err
	require.ErrorContains(t, err, "WRONGTYPE")
	require.ErrorContains(t, err, name)
	require.ErrorContains(t, hold.Unlock(t.Context()), "WRONGTYPE")
}

// TestAKeyOfAnotherTypeBesideTheLockIsNamed, and whoever came leaves no place
// there.
func TestAKeyOfAnotherTypeBesideTheLockIsNamed(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"redisson_lock_queue", "redisson_lock_timeout", "rueidisson_fair_alive", "rueidisson_gone"} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			raw, name := server.Client(t), redistest.Name(t)
			here, there := locktest.Open(t, server.Addr()).FairLock(name), locktest.Open(t, server.Addr()).FairLock(name)
			hold, key := locktest.Take(t, here), prefix+":{"+name+"}"
			set(t, raw, key)
			for _, l := range []*fairlock.Lock{here, there} {
				_, err := l.TryLock(t.Context(), lock.WithWait(soon))
				require.ErrorContains(t, err, "WRONGTYPE")
				require.ErrorContains(t, err, key)
				require.ErrorContains(t, err, "string")
			}
			redistest.Do(t, raw, "DEL", key)
			mustWait(t, there, 0)
			locktest.Unlock(t, hold)
			mustBeFree(t, here)
		})
	}
}

// mustWait expects that so many wait.
func mustWait(t testing.TB, l *fairlock.Lock, n int) {
	t.Helper()
	queue, err := l.Queue(t.Context())
	require.NoError(t, err)
	require.Len(t, queue, n)
}
