package lock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// closeSoon closes with a bound that no test here should reach.
func closeSoon(t testing.TB, c *rueidisson.Client) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	err := c.Close(ctx)
	require.NoError(t, ctx.Err(), "Close waited for nothing")
	return err
}

func TestCloseWaitsForHoldersThatUnlock(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	direct, c := server.Client(t), locktest.Open(t, server.Addr())
	var wg sync.WaitGroup
	var names []string
	for range 20 {
		l := c.Lock(redistest.Name(t))
		hold := acquire(t, l)
		work := hold.Context(t.Context())
		names = append(names, l.Name())
		wg.Go(func() { // ended by Close
			<-work.Done()
			if err := hold.Unlock(work); err != nil {
				t.Errorf("unlock while closing: %v", err)
			}
			if cause := context.Cause(work); cause != rueidisson.ErrClosed {
				t.Errorf("the context ended with %v", cause)
			}
		})
	}
	require.NoError(t, closeSoon(t, c))
	wg.Wait()
	for _, name := range names {
		require.Empty(t, ownersOf(t, direct, name))
	}
}

func TestCloseReleasesNothingUnderAHolder(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	direct, c := server.Client(t), locktest.Open(t, server.Addr())
	kept, given := c.Lock(redistest.Name(t)), c.Lock(redistest.Name(t))
	hold, other := acquire(t, kept), acquire(t, given)
	work, cancelWork := context.WithCancel(hold.Context(t.Context()))
	defer cancelWork()
	owners := ownersOf(t, direct, kept.Name())
	require.NoError(t, other.Unlock(t.Context()))

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := c.Close(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, kept.Name())
	require.NotContains(t, err.Error(), given.Name())
	require.Equal(t, owners, ownersOf(t, direct, kept.Name()), "the lock still stands")
	require.Positive(t, keyLeft(t, direct, kept.Name()), "and will go by its lease")
	require.ErrorIs(t, context.Cause(work), rueidisson.ErrClosed)
	require.ErrorIs(t, hold.Err(), rueidisson.ErrClosed)
	locktest.Ended(t, "Lost", hold.Lost())
	require.ErrorIs(t, hold.Unlock(t.Context()), rueidisson.ErrClosed, "too late")
	require.Equal(t, owners, ownersOf(t, direct, kept.Name()))
}

func TestCloseWaitsNoLongerThanTheLeases(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]lock.LockOption{
		"a fixed lease":    {lock.WithLease(3 * time.Second)},
		"a watchdog's own": nil, // renewals stop, so it ends as well
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
			c := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(6*time.Second)) // no renewal is due before Close
			l := c.Lock(redistest.Name(t))
			hold := acquire(t, l, opts...)
			proxy.ResetLog()
			require.ErrorContains(t, closeSoon(t, c), l.Name())
			require.ErrorIs(t, hold.Err(), rueidisson.ErrClosed)
			require.Empty(t, sent(proxy), "it was neither released nor renewed")
		})
	}
}

func TestCloseWakesWaiters(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	other, c := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	hold := acquire(t, other.Lock(name))
	defer func() { _ = hold.Unlock(context.Background()) }()
	var waiters []*later
	for range 5 { // the first asks the server, the others queue behind it
		waiters = append(waiters, lockLater(t, c.Lock(name)))
	}
	awaitWaiters(t, other.Lock(name), 1)
	require.NoError(t, closeSoon(t, c))
	for _, w := range waiters {
		_, err := w.result(t)
		require.ErrorIs(t, err, rueidisson.ErrClosed)
		require.NotErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, hold.Err(), "another client's hold is its own")
}

func TestCloseLeavesAWaiterBehindALocalHolderWithErrClosed(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	observer := &waitObserver{started: make(chan struct{}, 1)}
	c := locktest.Open(t, server.Addr(), rueidisson.WithObserver(observer))
	hold := acquire(t, c.Lock(name))
	work := hold.Context(t.Context())
	waiting := lockLater(t, c.Lock(name))
	locktest.Ended(t, "the wait", observer.started)
	unlocked := make(chan error, 1)
	go func() { // ended by Close
		<-work.Done()
		unlocked <- hold.Unlock(work)
	}()
	require.NoError(t, closeSoon(t, c), "the hold went back to the server, not to the waiter")
	require.NoError(t, <-unlocked)
	_, err := waiting.result(t)
	require.ErrorIs(t, err, rueidisson.ErrClosed)
	require.Empty(t, ownersOf(t, server.Client(t), name))
}

// waitObserver tells that a wait has begun.
type waitObserver struct{ started chan struct{} }

func (o *waitObserver) WaitStarted(context.Context, string, string) {
	select {
	case o.started <- struct{}{}:
	default:
	}
}
func (*waitObserver) WaitEnded(context.Context, string, string, time.Duration, error) {}
func (*waitObserver) Acquired(context.Context, string, string, bool)                  {}
func (*waitObserver) Released(context.Context, string, string, bool)                  {}
func (*waitObserver) Lost(string, string, error)                                      {}
func (*waitObserver) Renewed(int, time.Duration, error)                               {}
func (*waitObserver) ScriptRan(context.Context, string, time.Duration, int, error)    {}

func TestAClosedClientRefusesEverything(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := locktest.Open(t, proxy.Addr())
	l := c.Lock(redistest.Name(t))
	require.NoError(t, closeSoon(t, c))
	proxy.ResetLog()
	for _, l := range []*lock.Lock{l, c.Lock(redistest.Name(t))} {
		for op, err := range everyOperation(t.Context(), l, javaToken(t)) {
			require.ErrorIs(t, err, rueidisson.ErrClosed, op)
			require.ErrorContains(t, err, l.Name(), op)
		}
	}
	require.Empty(t, sent(proxy))
}

func TestAHoldOfAClosedClientRefusesEverything(t *testing.T) {
	t.Parallel()
	c := locktest.Open(t, redistest.Shared(t).Addr())
	hold := acquire(t, c.Lock(redistest.Name(t)))
	before := hold.Context(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Close(ctx), context.Canceled)
	_, err := hold.Token(t.Context())
	require.ErrorIs(t, err, rueidisson.ErrClosed)
	require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), rueidisson.ErrClosed)
	require.ErrorIs(t, context.Cause(hold.Context(t.Context())), rueidisson.ErrClosed, "also for contexts made later")
	_, err = c.Lock(redistest.Name(t)).Lock(before)
	require.ErrorIs(t, err, rueidisson.ErrClosed)
	_, err = hold.Token(t.Context())
	require.ErrorIs(t, err, rueidisson.ErrClosed)
	require.ErrorIs(t, hold.Unlock(t.Context()), rueidisson.ErrClosed)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrReleased)
}

func TestCloseAgainReturnsWhatTheFirstDid(t *testing.T) {
	t.Parallel()
	c := locktest.Open(t, redistest.Shared(t).Addr())
	acquire(t, c.Lock(redistest.Name(t)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	first := c.Close(ctx)
	require.ErrorIs(t, first, context.Canceled)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := c.Close(context.Background()); err != first {
				t.Errorf("Close again: %v", err)
			}
		})
	}
	wg.Wait()
}

func TestCloseLeavesAWrappedClientOpen(t *testing.T) {
	t.Parallel()
	inner := redistest.Shared(t).Client(t)
	for range 2 { // and it can be wrapped again
		c, err := rueidisson.Wrap(inner)
		require.NoError(t, err)
		name := redistest.Name(t)
		redistest.Within(t, longestWait, func() time.Duration {
			return wakes(t, c.Lock(name), locktest.Open(t, redistest.Shared(t).Addr()).Lock(name))
		})
		require.NoError(t, closeSoon(t, c))
		require.NoError(t, inner.Do(t.Context(), inner.B().Ping().Build()).Error())
	}
}

func TestCloseEndsOnASilentServer(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	c := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(4*time.Second))
	name := redistest.Name(t)
	hold := acquire(t, c.Lock(name))
	other := acquire(t, locktest.Open(t, server.Addr()).Lock(name+"2"))
	defer func() { _ = other.Unlock(context.Background()) }()
	waiting := lockLater(t, c.Lock(name+"2"))
	awaitWaiters(t, locktest.Open(t, server.Addr()).Lock(name+"2"), 1)
	proxy.BlackHole()
	require.ErrorContains(t, closeSoon(t, c), name)
	_, err := waiting.result(t)
	require.ErrorIs(t, err, rueidisson.ErrClosed)
	require.Error(t, hold.Err())
}

// TestCloseLeavesNoGoroutine runs alone: it counts those of the process.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	server := redistest.Shared(t)
	before := goleak.IgnoreCurrent()
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	other := c.Lock(redistest.Name(t))
	hold := acquire(t, other)
	waiting := lockLater(t, c.Lock(other.Name()))
	held := acquire(t, c.Lock(redistest.Name(t)))
	context.AfterFunc(hold.Context(t.Context()), func() { _ = hold.Unlock(context.Background()) })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.Error(t, c.Close(ctx))
	_, err = waiting.result(t)
	require.ErrorIs(t, err, rueidisson.ErrClosed)
	require.Error(t, held.Err())
	require.Eventually(t, func() bool { return goleak.Find(before) == nil }, soon, glance, "%v", goleak.Find(before))
}
