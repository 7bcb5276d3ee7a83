package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

func TestLevelsThatAreUnlockedAtOnceAreNoLoss(t *testing.T) {
	t.Parallel()
	l := locktest.Open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t))
	for range redistest.Count(t, 500, 20_000) {
		outer, err := l.Lock(t.Context())
		require.NoError(t, err)
		inner, err := l.Lock(outer.Context(t.Context()))
		require.NoError(t, err)
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, h := range []*lock.Hold{outer, inner} {
			wg.Go(func() { errs[i] = h.Unlock(context.Background()) })
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
	}
}

func TestCloseGivesBackWhatAnAcquireInFlightWins(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	cancellable := func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) }
	endless := func() (context.Context, context.CancelFunc) { return context.Background(), func() {} }
	for _, of := range []struct {
		title string
		ctx   func() (context.Context, context.CancelFunc)
		delay time.Duration
	}{
		{"that can be cancelled", cancellable, 30 * time.Millisecond},
		{"that outlasts the grace", cancellable, 200 * time.Millisecond},
		{"that cannot be cancelled", endless, 30 * time.Millisecond},
	} {
		t.Run(of.title, func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, server.Addr())
			c, name := locktest.Open(t, proxy.Addr()), redistest.Name(t)
			warm, err := c.Lock(name + "warm").Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, warm.Unlock(t.Context()))
			proxy.Delay(0, of.delay)
			ctx, cancel := of.ctx()
			defer cancel()
			failed := make(chan error, 1)
			go func() { // ends with the client
				_, err := c.Lock(name).Lock(ctx)
				failed <- err
			}()
			proxy.AwaitCount(t, redistest.Arg(name), 1)
			require.NoError(t, c.Close(t.Context()))
			require.ErrorIs(t, <-failed, lock.ErrClosed)
			there, err := raw.Do(t.Context(), raw.B().Exists().Key(name).Build()).AsInt64()
			require.NoError(t, err)
			require.Zero(t, there, "the lock is held by nobody")
		})
	}
}

func TestAnAcquireThatFoundTheLockHeldTakesNothingLater(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	other, err := locktest.Open(t, f.server.Addr()).Lock(f.lock.Name()).Lock(t.Context())
	require.NoError(t, err)
	late := f.proxy.HoldRequest(f.script("acquire"))
	_, err = f.lock.TryLock(t.Context()) // its second send says: held
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	late.Await(t)
	f.proxy.AwaitCount(t, f.script("bury"), 1)
	require.False(t, f.holder().Mine)
	require.NoError(t, other.Unlock(t.Context()))
	late.Release()
	require.False(t, f.holder().Held(), "the first send took the lock for nobody")
}

func TestATryAtASilentServerIsAFaultAndNoAnswer(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	require.NoError(t, f.take().Unlock(t.Context()))
	f.proxy.BlackHole()
	_, err := f.lock.TryLock(t.Context(), lock.WithWait(100*time.Millisecond))
	require.Error(t, err)
	require.NotErrorIs(t, err, lock.ErrNotAcquired)
	f.proxy.Restore()
}

func TestAReleasedHoldDoesNotReachItsSuccessor(t *testing.T) {
	t.Parallel()
	l := locktest.Open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t))
	first, err := l.Lock(t.Context())
	require.NoError(t, err)
	got := make(chan *lock.Hold, 1)
	go func() { // ends with the hand-over
		second, _ := l.Lock(context.Background())
		got <- second
	}()
	_, err = l.TryLock(t.Context(), lock.WithWait(50*time.Millisecond)) // behind it in the queue
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.NoError(t, first.Unlock(t.Context()))
	second := <-got
	_, err = first.Token(t.Context())
	require.ErrorIs(t, err, lock.ErrReleased)
	require.ErrorIs(t, first.Extend(t.Context(), time.Minute), lock.ErrReleased)
	require.Zero(t, first.Deadline())
	require.Nil(t, first.Expiring())
	require.NoError(t, second.Unlock(t.Context()))
}

func TestAWaiterThatWasServedDoesNotCountAsWaiting(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()).Lock(name), locktest.Open(t, server.Addr()).Lock(name)
	first, err := here.Lock(t.Context())
	require.NoError(t, err)
	got := make(chan *lock.Hold, 1)
	go func() { // ends with the unlock below
		second, _ := there.Lock(context.Background())
		got <- second
	}()
	waiting := func(n int) func() bool {
		return func() bool {
			now, err := here.Waiting(t.Context())
			return err == nil && now == n
		}
	}
	require.Eventually(t, waiting(1), redistest.Soon, 5*time.Millisecond)
	require.NoError(t, first.Unlock(t.Context()))
	second := <-got
	require.Eventually(t, waiting(0), redistest.Soon, 20*time.Millisecond, "it holds, and listens no more")
	require.NoError(t, second.Unlock(t.Context()))
}

func TestAnAcquireWhoseAcknowledgementCannotBeAskedForIsUndone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary("ACL", "SETUSER", "nowait", "on", ">pw", "~*", "&*", "+@all", "-wait").Build()).Error())
	c, err := rueidisson.New(rueidis.ClientOption{
		InitAddress: []string{server.Addr()}, Username: "nowait", Password: "pw", DisableCache: true, ForceSingleClient: true,
	}, rueidisson.WithReplicaAcks(1, 100*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	_, err = c.Lock("x").Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrOutcomeUnknown)
	require.ErrorContains(t, err, "NOPERM")
	require.Eventually(t, func() bool {
		n, err := raw.Do(t.Context(), raw.B().Exists().Key("x").Build()).AsInt64()
		return err == nil && n == 0
	}, 10*time.Second, 10*time.Millisecond) // before the lease ends by itself
}

func TestAWaiterBehindALocalHolderOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	_, err := f.lock.Lock(t.Context(), lock.WithLease(500*time.Millisecond))
	require.NoError(t, err)
	got := make(chan error, 1)
	go func() { // ends with the lock, or with the client
		hold, err := f.lock.Lock(context.Background())
		if err == nil {
			err = hold.Unlock(context.Background())
		}
		got <- err
	}()
	// The waiter may have asked once already: no acquire needs to follow, a
	// send that fails ends its connection and the next one begins with HELLO.
	f.proxy.ResetLog()
	f.proxy.BlackHole()
	f.proxy.AwaitCount(t, redistest.Command("HELLO"), 5)
	f.proxy.Restore()
	require.NoError(t, <-got)
}
