package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// process is a client as the conformance suite sees it.
type process struct{ *rueidisson.Client }

func (p process) Locker(name string) lock.Locker { return p.Lock(name) }

func suite(option rueidis.ClientOption, opts ...rueidisson.Option) locktest.Suite {
	start := func(t testing.TB, option rueidis.ClientOption, watchdog time.Duration) locktest.Process {
		return process{locktest.Connected(t, option, append(opts[:len(opts):len(opts)], rueidisson.WithWatchdogTimeout(watchdog))...)}
	}
	return locktest.Suite{
		Start: func(t testing.TB, watchdog time.Duration) locktest.Process { return start(t, option, watchdog) },
		Mute: func(t testing.TB, watchdog time.Duration) (locktest.Process, func(), func()) {
			through, silence, restore := redistest.Mute(t, option)
			return start(t, through[0], watchdog), silence, restore
		},
		Name: redistest.Name,
	}
}

func TestLockConformsOnEveryServer(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(version))
			suite(rueidis.ClientOption{InitAddress: []string{server.Addr()}}).Run(t)
		})
	}
}

func TestLockConformsOnMiniredis(t *testing.T) {
	t.Parallel()
	suite(redistest.Miniredis(t).ClientOption()).Run(t)
}

func TestLockConformsWithoutHandOver(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	suite(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true}, rueidisson.WithHandover(0, 0)).Run(t)
}

func TestForceUnlockTakesTheLockAwayAndTheHolderLearnsIt(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	here, there := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(6*time.Second)), locktest.Open(t, server.Addr())
	name := redistest.Name(t)

	held, err := there.Lock(name).ForceUnlock(t.Context())
	require.NoError(t, err)
	require.False(t, held, "nobody held it")

	hold, err := here.Lock(name).Lock(t.Context())
	require.NoError(t, err)
	held, err = there.Lock(name).ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	<-hold.Lost() // at the next renewal
	require.ErrorIs(t, hold.Err(), lock.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
}

func TestForceUnlockByTheHoldersOwnClientEndsTheHoldAtOnce(t *testing.T) {
	t.Parallel()
	c := locktest.Open(t, redistest.Shared(t).Addr(), rueidisson.WithWatchdogTimeout(time.Minute))
	name := redistest.Name(t)
	hold, err := c.Lock(name).Lock(t.Context())
	require.NoError(t, err)
	held, err := c.Lock(name).ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, held)
	<-hold.Lost()
	require.ErrorIs(t, hold.Err(), lock.ErrLost)
}

func TestUnlockAfterForceUnlockIsALossAndHarmsNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	here, there := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	name := redistest.Name(t)
	hold, err := here.Lock(name).Lock(t.Context())
	require.NoError(t, err)
	_, err = there.Lock(name).ForceUnlock(t.Context())
	require.NoError(t, err)
	second, err := there.Lock(name).Lock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	holder, err := here.Lock(name).Holder(t.Context())
	require.NoError(t, err)
	require.True(t, holder.Held())
	require.NoError(t, second.Unlock(t.Context()))
}

func TestInspectionTellsTheHolder(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	here, there := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	name := redistest.Name(t)
	ctx := t.Context()

	nobody, err := here.Lock(name).Holder(ctx)
	require.NoError(t, err)
	require.Zero(t, nobody)
	left, err := here.Lock(name).Remaining(ctx)
	require.NoError(t, err)
	require.Zero(t, left)

	hold, err := here.Lock(name).Lock(ctx)
	require.NoError(t, err)
	mine, err := here.Lock(name).Holder(ctx)
	require.NoError(t, err)
	require.True(t, mine.Mine)
	require.Equal(t, 1, mine.Count)
	require.InDelta(t, 30*time.Second, mine.Remaining, float64(5*time.Second))
	require.Contains(t, mine.Owner, here.ID()+":")
	theirs, err := there.Lock(name).Holder(ctx)
	require.NoError(t, err)
	require.False(t, theirs.Mine)
	require.Equal(t, mine.Owner, theirs.Owner)
	locked, err := there.Lock(name).Locked(ctx)
	require.NoError(t, err)
	require.True(t, locked)
	require.NoError(t, hold.Unlock(ctx))

	raw := server.Client(t)
	require.NoError(t, raw.Do(ctx, raw.B().Hset().Key(name).FieldValue().FieldValue("somebody:1", "1").Build()).Error())
	endless, err := here.Lock(name).Remaining(ctx)
	require.NoError(t, err)
	require.EqualValues(t, -1, endless, "a key without a lease")
}

func TestWaitingCountsTheProcessesThatListen(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	holder := locktest.Open(t, server.Addr())
	hold, err := holder.Lock(name).Lock(t.Context())
	require.NoError(t, err)
	const processes = 3
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 2*processes)
	for range processes {
		c := locktest.Open(t, server.Addr())
		for range 2 {
			go func() { // ends with ctx
				_, err := c.Lock(name).Lock(ctx)
				left <- err
			}()
		}
	}
	require.Eventually(t, func() bool {
		n, err := holder.Lock(name).Waiting(t.Context())
		return err == nil && n == processes
	}, redistest.Soon, 10*time.Millisecond)
	cancel()
	for range 2 * processes {
		require.ErrorIs(t, <-left, context.Canceled)
	}
	require.NoError(t, hold.Unlock(t.Context()))
}
