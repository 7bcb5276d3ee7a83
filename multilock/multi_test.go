package multilock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
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
	a, b, c := three(t, open(t, proxy.Addr()), redistest.Name(t))
	all := multilock.Multi(c, a, b)
	require.NoError(t, take(t, all).Unlock(t.Context())) // the scripts are known then

	proxy.ResetLog()
	hold := take(t, all)
	require.Equal(t, 3, scripts(proxy))
	require.NoError(t, hold.Unlock(t.Context()))
	require.Equal(t, 6, scripts(proxy))

	proxy.ResetLog()
	first := proxy.HoldRequest(script(t, "acquire", a.Name()))
	got := make(chan *lock.Hold, 1)
	go func() { // ends when the first is answered
		hold, err := all.Lock(bounded(t))
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
	a, b, c := three(t, open(t, server.Addr()), name)
	theirA, theirB, theirC := three(t, open(t, server.Addr()), name)
	busy := take(t, theirB)

	_, err := multilock.Multi(c, b, a).TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.ErrorContains(t, err, name+":b")
	nothingLeft(t, server.Client(t), name+":a", name+":c")

	got := make(chan *lock.Hold, 1)
	go func() { // ends with its context
		hold, err := multilock.Multi(c, b, a).Lock(bounded(t))
		if err != nil {
			t.Error(err)
		}
		got <- hold
	}()
	require.Eventually(t, func() bool {
		n, err := theirB.Waiting(t.Context())
		return err == nil && n == 1
	}, soon, time.Millisecond, "it waits for b")
	requireBusy(t, theirA)
	requireFree(t, theirC)
	require.NoError(t, busy.Unlock(t.Context()))
	hold := <-got
	for _, l := range []lock.Locker{theirA, theirB, theirC} {
		requireBusy(t, l)
	}
	require.NoError(t, hold.Unlock(t.Context()))
	nothingLeft(t, server.Client(t), name+":a", name+":b", name+":c")
}

func TestALostMemberEndsTheHoldAndGivesTheOthersBack(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	mine := open(t, server.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second))
	a, b, c := three(t, mine, name)
	hold := take(t, multilock.Multi(a, b, c))
	work := hold.Context(t.Context())

	taken, err := open(t, server.Addr()).Lock(name + ":b").ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, taken)
	ended(t, "the end of the hold", work.Done())
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	require.ErrorIs(t, hold.Err(), lock.ErrLost)
	ended(t, "Lost", hold.Lost())
	nothingLeft(t, server.Client(t), name+":a", name+":c")
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrReleased)
	requireFree(t, multilock.Multi(a, b, c))
}

func TestAMemberWithAShorterLeaseBoundsTheHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	short, long := open(t, server.Addr(), rueidisson.WithWatchdogTimeout(5*time.Second)), open(t, server.Addr())
	hold := take(t, multilock.Multi(short.Lock(name+":a"), long.Lock(name+":b")))
	require.Less(t, time.Until(hold.Deadline()), 5*time.Second)
	require.NoError(t, hold.Unlock(t.Context()))
	require.Zero(t, hold.Deadline())
}

func TestAClosedClientEndsTheHoldAndLeavesItToUnlock(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	one, two := open(t, server.Addr()), open(t, server.Addr())
	hold := take(t, multilock.Multi(one.Lock(name+":a"), two.Lock(name+":b")))
	work := hold.Context(t.Context())
	closed := make(chan error, 1)
	go func() { closed <- two.Close(context.Background()) }() // ends with the unlock
	ended(t, "the end of the hold", work.Done())
	require.ErrorIs(t, context.Cause(work), lock.ErrClosed)
	requireBusy(t, open(t, server.Addr()).Lock(name+":a"))
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, <-closed)
	nothingLeft(t, server.Client(t), name+":a", name+":b")
}

func TestAClosedClientWakesWhoWaitsForAnother(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	one, two, other := open(t, server.Addr()), open(t, server.Addr()), open(t, server.Addr())
	busy := take(t, other.Lock(name+":b"))
	woken := make(chan error, 1)
	go func() { // ends with the close
		_, err := multilock.Multi(one.Lock(name+":a"), two.Lock(name+":b")).Lock(context.Background())
		woken <- err
	}()
	require.Eventually(t, func() bool {
		n, err := other.Lock(name + ":b").Waiting(t.Context())
		return err == nil && n == 1
	}, soon, time.Millisecond)
	require.NoError(t, one.Close(bounded(t)))
	require.ErrorIs(t, <-woken, lock.ErrClosed)
	require.NoError(t, busy.Unlock(t.Context()))
	nothingLeft(t, server.Client(t), name+":b")
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
			one, two, third, other := open(t, server.Addr()), open(t, server.Addr()), open(t, server.Addr()), open(t, server.Addr())
			busy := []*lock.Hold{take(t, other.Lock(name+":a")), take(t, other.Lock(name+":b"))}
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
			require.NoError(t, third.Close(bounded(t)))
			select {
			case err := <-woken:
				require.ErrorIs(t, err, lock.ErrClosed)
			case <-time.After(soon / 3):
				t.Error("it waits on")
			}
			for _, hold := range busy {
				require.NoError(t, hold.Unlock(t.Context()))
			}
			nothingLeft(t, server.Client(t), name+":a", name+":b", name+":c")
		})
	}
}

// Whoever waits for a long time with a short lease has the whole of it in the end.
func TestAFixedLeaseCountsFromTheLastMember(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	server := redistest.Shared(t)
	name := redistest.Name(t)
	a, b, c := three(t, open(t, server.Addr()), name)
	busy := take(t, open(t, server.Addr()).Lock(name+":c"), lock.WithLease(2*lease))
	hold := take(t, multilock.Multi(a, b, c), lock.WithLease(lease))
	require.ErrorIs(t, busy.Err(), lock.ErrLost)
	require.NoError(t, hold.Err())
	require.Greater(t, time.Until(hold.Deadline()), lease/2)
	require.Less(t, time.Until(hold.Deadline()), lease)
	ended(t, "the end of the lease", hold.Lost())
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
}

func TestAMemberIsReenteredUnderTheHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	mine := open(t, server.Addr())
	a, b, c := three(t, mine, name)
	both := multilock.Multi(a, b)
	hold := take(t, both)
	ctx := hold.Context(t.Context())

	inner, err := a.TryLock(ctx)
	require.NoError(t, err)
	_, err = a.TryLock(lock.Detach(ctx))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	again, err := multilock.Multi(c, b).TryLock(ctx)
	require.NoError(t, err, "one of its members is carried, the other one free")
	require.NoError(t, hold.Unlock(t.Context()))

	theirA, theirB, theirC := three(t, open(t, server.Addr()), name)
	require.NoError(t, inner.Err(), "each level has its own part")
	requireBusy(t, theirA)
	requireBusy(t, theirB)
	require.NoError(t, inner.Unlock(t.Context()))
	requireFree(t, theirA)
	require.NoError(t, again.Unlock(t.Context()))
	requireFree(t, theirB)
	requireFree(t, theirC)

	outer := take(t, a)
	hold, err = both.TryLock(outer.Context(t.Context()))
	require.NoError(t, err, "and the other way round")
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, outer.Err())
	require.NoError(t, outer.Unlock(t.Context()))
}

func TestAHoldOfSeveralHasNoToken(t *testing.T) {
	t.Parallel()
	a, b, _ := three(t, open(t, redistest.Shared(t).Addr()), redistest.Name(t))
	hold := take(t, multilock.Multi(a, b))
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
	near, far := open(t, server.Addr()), open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second))
	hold := take(t, multilock.Multi(near.Lock(name+":a"), far.Lock(name+":b")))
	warning := hold.Expiring()
	require.Equal(t, warning, hold.Expiring(), "it is one")

	proxy.BlackHole()
	ended(t, "the warning", warning)
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
	near, far := open(t, server.Addr()), open(t, proxy.Addr())
	both := multilock.Multi(near.Lock(name+":a"), far.Lock(name+":b"))
	requireFree(t, both)
	drop := proxy.DropReply(redistest.All(redistest.AnyScript(), redistest.Arg(name+":b")), 1, redistest.Silent())
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	go func() { drop.Await(t); cancel(because) }()
	_, err := both.Lock(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, because)
	nothingLeft(t, server.Client(t), name+":a", name+":b")
}
