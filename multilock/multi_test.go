package multilock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
	"github.com/rueidisson/rueidisson/redlock"
)

// three are locks of one client on the names a, b and c behind a name.
func three(t testing.TB, c *rueidisson.Client, name string) (a, b, third *lock.Lock) {
	t.Helper()
	return c.Lock(name + ":a"), c.Lock(name + ":b"), c.Lock(name + ":c")
}

func scripts(p *redistest.Proxy) (n int) {
	for _, cmd := range p.Log() {
		if strings.HasPrefix(strings.ToUpper(cmd[0]), "EVAL") {
			n++
		}
	}
	return n
}

func TestWhatIsFreeIsAskedForOnce(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	a, b, c := three(t, locktest.Open(t, proxy.Addr()), redistest.Name(t))
	all := multilock.Multi(c, a, b)
	require.NoError(t, locktest.Take(t, all).Unlock(t.Context())) // the scripts are known then

	proxy.ResetLog()
	hold := locktest.Take(t, all)
	require.Equal(t, 3, scripts(proxy))
	require.NoError(t, hold.Unlock(t.Context()))
	require.Equal(t, 6, scripts(proxy))

	proxy.ResetLog()
	first := proxy.HoldRequest(script(t, "acquire", a.Name()))
	got := make(chan *lock.Hold, 1)
	go func() { // ends when the first is answered
		hold, err := all.Lock(locktest.Bounded(t))
		if err != nil {
			t.Error(err)
		}
		got <- hold
	}()
	first.Await(t)
	proxy.AwaitCount(t, script(t, "acquire", b.Name()), 1) // nobody waits for the answer of another
	proxy.AwaitCount(t, script(t, "acquire", c.Name()), 1)
	first.Release()
	require.NoError(t, (<-got).Unlock(t.Context()))
}

func TestABusyMemberLeavesThoseBehindItFree(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	a, b, c := three(t, locktest.Open(t, server.Addr()), name)
	theirA, theirB, theirC := three(t, locktest.Open(t, server.Addr()), name)
	busy := locktest.Take(t, theirB)

	_, err := multilock.Multi(c, b, a).TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.ErrorContains(t, err, name+":b")
	locktest.NothingLeft(t, server.Client(t), name+":a", name+":c")

	got := make(chan *lock.Hold, 1)
	go func() { // ends with its context
		hold, err := multilock.Multi(c, b, a).Lock(locktest.Bounded(t))
		if err != nil {
			t.Error(err)
		}
		got <- hold
	}()
	require.Eventually(t, func() bool {
		n, err := theirB.Waiting(t.Context())
		return err == nil && n == 1
	}, soon, time.Millisecond, "it waits for b")
	locktest.RequireBusy(t, theirA)
	locktest.RequireFree(t, theirC)
	require.NoError(t, busy.Unlock(t.Context()))
	hold := <-got
	for _, l := range []lock.Locker{theirA, theirB, theirC} {
		locktest.RequireBusy(t, l)
	}
	require.NoError(t, hold.Unlock(t.Context()))
	locktest.NothingLeft(t, server.Client(t), name+":a", name+":b", name+":c")
}

func TestALostMemberEndsTheHoldAndGivesTheOthersBack(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	mine := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second))
	a, b, c := three(t, mine, name)
	hold := locktest.Take(t, multilock.Multi(a, b, c))
	work := hold.Context(t.Context())

	taken, err := locktest.Open(t, server.Addr()).Lock(name + ":b").ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, taken)
	locktest.Ended(t, "the end of the hold", work.Done())
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	require.ErrorIs(t, hold.Err(), lock.ErrLost)
	locktest.Ended(t, "Lost", hold.Lost())
	locktest.NothingLeft(t, server.Client(t), name+":a", name+":c")
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrReleased)
	locktest.RequireFree(t, multilock.Multi(a, b, c))
}

func TestAMemberWithAShorterLeaseBoundsTheHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	short, long := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(5*time.Second)), locktest.Open(t, server.Addr())
	hold := locktest.Take(t, multilock.Multi(short.Lock(name+":a"), long.Lock(name+":b")))
	require.Less(t, time.Until(hold.Deadline()), 5*time.Second)
	require.NoError(t, hold.Unlock(t.Context()))
	require.Zero(t, hold.Deadline())
}

func TestAClosedClientEndsTheHoldAndLeavesItToUnlock(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	one, two := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	hold := locktest.Take(t, multilock.Multi(one.Lock(name+":a"), two.Lock(name+":b")))
	work := hold.Context(t.Context())
	closed := make(chan error, 1)
	go func() { closed <- two.Close(context.Background()) }() // ends with the unlock
	locktest.Ended(t, "the end of the hold", work.Done())
	require.ErrorIs(t, context.Cause(work), lock.ErrClosed)
	locktest.RequireBusy(t, locktest.Open(t, server.Addr()).Lock(name+":a"))
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, <-closed)
	locktest.NothingLeft(t, server.Client(t), name+":a", name+":b")
}

func TestAClosedClientWakesWhoWaitsForAnother(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	one, two, other := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	busy := locktest.Take(t, other.Lock(name+":b"))
	woken := make(chan error, 1)
	go func() { // ends with the close
		_, err := multilock.Multi(one.Lock(name+":a"), two.Lock(name+":b")).Lock(context.Background())
		woken <- err
	}()
	require.Eventually(t, func() bool {
		n, err := other.Lock(name + ":b").Waiting(t.Context())
		return err == nil && n == 1
	}, soon, time.Millisecond)
	require.NoError(t, one.Close(locktest.Bounded(t)))
	require.ErrorIs(t, <-woken, lock.ErrClosed)
	require.NoError(t, busy.Unlock(t.Context()))
	locktest.NothingLeft(t, server.Client(t), name+":b")
}

// Nor does a close of a client leave who waits for another member and has none
// of that client.
func TestAClosedClientWakesWhoWaitsForAMemberBeforeItsOwn(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"multi", "red"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			name := redistest.Name(t)
			one, two, third, other := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
			busy := []*lock.Hold{locktest.Take(t, other.Lock(name+":a")), locktest.Take(t, other.Lock(name+":b"))}
			members := []lock.Locker{one.Lock(name + ":a"), two.Lock(name + ":b"), third.Lock(name + ":c")}
			var all lock.Locker = multilock.Multi(members...)
			if kind == "red" {
				all = redlock.New(members...).With(redlock.WithRestartGuard(0), redlock.WithMemberTimeout(time.Second))
			}
			woken := make(chan error, 1)
			go func() { // ends with the close
				_, err := all.Lock(context.Background())
				woken <- err
			}()
			require.Eventually(t, func() bool {
				n, err := other.Lock(name + ":a").Waiting(t.Context())
				return err == nil && n == 1
			}, soon, time.Millisecond)
			require.NoError(t, third.Close(locktest.Bounded(t)))
			select {
			case err := <-woken:
				require.ErrorIs(t, err, lock.ErrClosed)
			case <-time.After(soon / 3):
				t.Error("it waits on")
			}
			for _, hold := range busy {
				require.NoError(t, hold.Unlock(t.Context()))
			}
			locktest.NothingLeft(t, server.Client(t), name+":a", name+":b", name+":c")
		})
	}
}

// Whoever waits for a long time with a short lease has the whole of it in the end.
func TestAFixedLeaseCountsFromTheLastMember(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	server := redistest.Shared(t)
	name := redistest.Name(t)
	a, b, c := three(t, locktest.Open(t, server.Addr()), name)
	busy := locktest.Take(t, locktest.Open(t, server.Addr()).Lock(name+":c"), lock.WithLease(2*lease))
	hold := locktest.Take(t, multilock.Multi(a, b, c), lock.WithLease(lease))
	require.ErrorIs(t, busy.Err(), lock.ErrLost)
	require.NoError(t, hold.Err())
	require.Greater(t, time.Until(hold.Deadline()), lease/2)
	require.Less(t, time.Until(hold.Deadline()), lease)
	locktest.Ended(t, "the end of the lease", hold.Lost())
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
}

func TestAMemberIsReenteredUnderTheHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	mine := locktest.Open(t, server.Addr())
	a, b, c := three(t, mine, name)
	both := multilock.Multi(a, b)
	hold := locktest.Take(t, both)
	ctx := hold.Context(t.Context())

	inner, err := a.TryLock(ctx)
	require.NoError(t, err)
	_, err = a.TryLock(lock.Detach(ctx))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	again, err := multilock.Multi(c, b).TryLock(ctx)
	require.NoError(t, err, "one of its members is carried, the other one free")
	require.NoError(t, hold.Unlock(t.Context()))

	theirA, theirB, theirC := three(t, locktest.Open(t, server.Addr()), name)
	require.NoError(t, inner.Err(), "each level has its own part")
	locktest.RequireBusy(t, theirA)
	locktest.RequireBusy(t, theirB)
	require.NoError(t, inner.Unlock(t.Context()))
	locktest.RequireFree(t, theirA)
	require.NoError(t, again.Unlock(t.Context()))
	locktest.RequireFree(t, theirB)
	locktest.RequireFree(t, theirC)

	outer := locktest.Take(t, a)
	hold, err = both.TryLock(outer.Context(t.Context()))
	require.NoError(t, err, "and the other way round")
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, outer.Err())
	require.NoError(t, outer.Unlock(t.Context()))
}

func TestAHoldOfSeveralHasNoToken(t *testing.T) {
	t.Parallel()
	a, b, _ := three(t, locktest.Open(t, redistest.Shared(t).Addr()), redistest.Name(t))
	hold := locktest.Take(t, multilock.Multi(a, b))
	_, err := hold.Token(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	require.ErrorContains(t, err, a.Name())
	require.ErrorContains(t, err, b.Name())
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestAHoldWarnsWhenAMemberDoes(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	name := redistest.Name(t)
	near, far := locktest.Open(t, server.Addr()), locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second))
	hold := locktest.Take(t, multilock.Multi(near.Lock(name+":a"), far.Lock(name+":b")))
	warning := hold.Expiring()
	require.Equal(t, warning, hold.Expiring(), "it is one")

	proxy.BlackHole()
	locktest.Ended(t, "the warning", warning)
	require.NoError(t, hold.Err())
	proxy.Restore()
	require.Eventually(t, func() bool {
		select {
		case <-hold.Expiring():
			return false
		default:
			return true
		}
	}, soon, 5*time.Millisecond, "renewals get through again")
	require.NoError(t, hold.Unlock(t.Context()))
	require.Nil(t, hold.Expiring())
}

// A cancelled call returns while a server is silent, and what it took goes back.
func TestACancelledCallLeavesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	name := redistest.Name(t)
	near, far := locktest.Open(t, server.Addr()), locktest.Open(t, proxy.Addr())
	both := multilock.Multi(near.Lock(name+":a"), far.Lock(name+":b"))
	locktest.RequireFree(t, both)
	drop := proxy.DropReply(redistest.All(redistest.AnyScript(), redistest.Arg(name+":b")), 1, redistest.Silent())
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	go func() { drop.Await(t); cancel(because) }()
	_, err := both.Lock(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, because)
	locktest.NothingLeft(t, server.Client(t), name+":a", name+":b")
}
