package redlock_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
	"github.com/rueidisson/rueidisson/redlock"
)

// five are servers of their own, each behind a proxy.
type five struct {
	t       testing.TB
	servers []*redistest.Server
	proxies []*redistest.Proxy
	name    string
}

func newFive(t testing.TB, opts ...redistest.Option) *five {
	t.Helper()
	f := &five{t: t, name: redistest.Name(t)}
	for range 5 {
		s := redistest.Start(t, opts...)
		f.servers, f.proxies = append(f.servers, s), append(f.proxies, redistest.NewProxy(t, s.Addr()))
	}
	return f
}

// through is a process that reaches the servers by the proxies.
func (f *five) through(opts ...rueidisson.Option) *fleet {
	var addrs []string
	for _, p := range f.proxies {
		addrs = append(addrs, p.Addr())
	}
	return f.process(addrs, opts...)
}

// direct is a process that does not.
func (f *five) direct(opts ...rueidisson.Option) *fleet {
	var addrs []string
	for _, s := range f.servers {
		addrs = append(addrs, s.Addr())
	}
	return f.process(addrs, opts...)
}

// fleet is a client of each server, and a lock of each client.
type fleet struct {
	clients []*rueidisson.Client
	locks   []lock.Locker
}

func (f *five) process(addrs []string, opts ...rueidisson.Option) *fleet {
	all := &fleet{}
	for _, addr := range addrs {
		c := locktest.Open(f.t, addr, opts...)
		all.clients, all.locks = append(all.clients, c), append(all.locks, c.Lock(f.name))
	}
	return all
}

func (f *fleet) red(opts ...redlock.Option) *redlock.Lock {
	usual := []redlock.Option{redlock.WithRestartGuard(0), redlock.WithMemberTimeout(time.Second)} // on a machine that is busy
	return redlock.New(f.locks...).With(append(usual, opts...)...)
}

// raw is a client of one server. It is connected anew, as servers come and go.
func (f *five) raw(i int) rueidis.Client {
	f.t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{f.servers[i].Addr()}, DisableCache: true, ForceSingleClient: true})
	require.NoError(f.t, err)
	f.t.Cleanup(c.Close)
	return c
}

// heldOn waits until that many servers have an owner of the lock.
func (f *five) heldOn(n int, servers ...int) {
	f.t.Helper()
	var all []rueidis.Client
	for _, i := range servers {
		all = append(all, f.raw(i))
	}
	have := 0
	redistest.Eventually(f.t, func() bool {
		have = 0
		for _, raw := range all {
			have += len(locktest.Left(f.t, raw, f.name))
		}
		return have == n
	}, soon, 5*time.Millisecond, "%d of %d", n, len(servers))
}

var everyServer = []int{0, 1, 2, 3, 4}

func TestAllMembersJoinAHoldAndGoBack(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	here, there := f.direct(), f.direct()
	hold := locktest.Take(t, here.red())
	f.heldOn(5, everyServer...)
	locktest.RequireBusy(t, there.red())
	require.NoError(t, hold.Unlock(t.Context()))
	f.heldOn(0, everyServer...)
	locktest.RequireFree(t, there.red())
}

func TestAQuorumIsEnoughAndOneLessIsNot(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	here, there := f.direct(), f.direct()
	others := []*lock.Hold{locktest.Take(t, there.locks[1]), locktest.Take(t, there.locks[4])}
	hold := locktest.Take(t, here.red())
	f.heldOn(5, everyServer...)

	_, err := here.locks[0].TryLock(hold.Context(t.Context()))
	require.NoError(t, err, "a member that is held is re-entered")
	_, err = here.locks[1].TryLock(hold.Context(t.Context()))
	require.ErrorIs(t, err, lock.ErrNotAcquired, "one that is not is not")
	require.NoError(t, hold.Unlock(t.Context()))

	others = append(others, locktest.Take(t, there.locks[2]))
	_, err = here.red().TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	for _, o := range others {
		require.NoError(t, o.Unlock(t.Context()))
	}
}

func TestAMemberThatIsFreedLaterJoins(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	here, there := f.direct(), f.direct()
	other := locktest.Take(t, there.locks[3])
	hold := locktest.Take(t, here.red())
	require.NoError(t, other.Unlock(t.Context()))
	redistest.Eventually(t, func() bool {
		owners := locktest.Left(t, f.raw(3), f.name)
		return len(owners) == 1 && strings.HasPrefix(owners[0], here.clients[3].ID())
	}, soon, 20*time.Millisecond)
	require.NoError(t, hold.Unlock(t.Context()))
	f.heldOn(0, everyServer...)
}

// A grant that arrives late joins the hold, or goes back if that has ended.
func TestALateGrantJoinsOrGoesBack(t *testing.T) {
	t.Parallel()
	for _, over := range []bool{false, true} {
		t.Run(fmt.Sprintf("the hold has ended: %t", over), func(t *testing.T) {
			t.Parallel()
			f := newFive(t)
			here := f.through()
			locktest.RequireFree(t, here.red())
			late := f.proxies[2].HoldRequest(script(t, "acquire", f.name))
			hold := locktest.Take(t, here.red())
			late.Await(t)
			if over {
				require.NoError(t, hold.Unlock(t.Context()))
				late.Release()
				f.heldOn(0, everyServer...)
				locktest.RequireFree(t, here.red())
				return
			}
			f.heldOn(4, everyServer...)
			late.Release()
			f.heldOn(5, everyServer...)
			require.NoError(t, hold.Unlock(t.Context()))
			f.heldOn(0, everyServer...)
		})
	}
}

// minorities are the sets of one or two of five.
func minorities() (all [][]int) {
	for i := range 5 {
		all = append(all, []int{i})
		for j := range i {
			all = append(all, []int{j, i})
		}
	}
	return all
}

func rest(out []int) (in []int) {
	for i := range 5 {
		if out[0] != i && out[len(out)-1] != i {
			in = append(in, i)
		}
	}
	return in
}

// What happens to a minority harms nobody: the hold stands, nobody else gets the
// lock, and it is free after the unlock.
func TestAMinorityMayFail(t *testing.T) {
	t.Parallel()
	watchdog := redistest.Span(t, 6*time.Second, 10*time.Second) // a machine that stalls for half of it loses holds, as it has to
	for name, of := range map[string]struct {
		options []redistest.Option
		fail    func(f *five, i int)
		heal    func(f *five, i int)
		gone    bool // the servers stay away until they are healed
	}{
		"killed": {
			fail: func(f *five, i int) { f.servers[i].Kill() },
			heal: func(f *five, i int) { f.servers[i].Restart() },
			gone: true,
		},
		"black-holed": {
			fail: func(f *five, i int) { f.proxies[i].BlackHole() },
			heal: func(f *five, i int) { f.proxies[i].Restore() },
			gone: true,
		},
		"restarted with its data": {
			options: []redistest.Option{redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always")},
			fail:    func(f *five, i int) { f.servers[i].Kill(); f.servers[i].Restart() },
			heal:    func(*five, int) {},
		},
		"restarted empty": {
			fail: func(f *five, i int) { f.servers[i].Kill(); f.servers[i].Restart() },
			heal: func(*five, int) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFive(t, of.options...)
			here, there := f.through(rueidisson.WithWatchdogTimeout(watchdog)), f.through(rueidisson.WithWatchdogTimeout(watchdog))
			all := minorities()
			for n := range redistest.Count(t, 1, len(all)) {
				out := all[(n*7+3)%len(all)] // every one of them in a soak
				hold := locktest.Take(t, here.red())
				f.heldOn(5, everyServer...)
				for _, i := range out {
					of.fail(f, i)
				}
				_, err := there.red().TryLock(locktest.Bounded(t))
				require.Error(t, err, "%v", out)
				<-time.After(watchdog + watchdog/4) // the leases of those that have failed are over
				require.NoError(t, hold.Err(), "%v", out)
				_, err = there.red().TryLock(locktest.Bounded(t))
				require.Error(t, err, "%v", out)
				if !of.gone {
					f.heldOn(5, everyServer...) // those that forgot it are asked again
				}
				require.NoError(t, hold.Unlock(t.Context()), "%v", out)
				f.heldOn(0, rest(out)...)
				second, err := there.red().Lock(locktest.Bounded(t))
				require.NoError(t, err, "%v", out)
				require.NoError(t, second.Unlock(t.Context()))
				for _, i := range out {
					of.heal(f, i)
				}
				f.heldOn(0, everyServer...)
			}
		})
	}
}

func TestAQuorumThatIsLostEndsTheHoldBeforeAnotherHasIt(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	here, there := f.through(rueidisson.WithWatchdogTimeout(3*time.Second)), f.direct()
	hold := locktest.Take(t, here.red())
	f.heldOn(5, everyServer...)
	work := hold.Context(t.Context())
	for _, i := range []int{0, 2, 4} {
		f.proxies[i].BlackHole()
	}
	trusted := locktest.LastTrust(hold, work)
	second := locktest.Take(t, there.red())
	taken := time.Now()
	locktest.Ended(t, "the end of the hold", work.Done())
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	require.True(t, trusted().Before(taken), "two had it")
	f.heldOn(5, everyServer...) // what was left of the first is given back, and joins the second
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	require.NoError(t, second.Unlock(t.Context()))
}

// Two servers are down, and three grant the lock. One of them restarts empty,
// and the two return: three that know of no holder.
func TestTheRestartGuardKeepsExclusionAndWithoutItItFalls(t *testing.T) {
	t.Parallel()
	for _, guarded := range []bool{false, true} {
		t.Run(fmt.Sprintf("guard: %t", guarded), func(t *testing.T) {
			t.Parallel()
			f := newFive(t)
			var said enginetest.Log
			logged := rueidisson.WithLogger(slog.New(slog.NewTextHandler(&said, nil)))
			here, there := f.through(), f.direct(logged)
			f.servers[3].Kill()
			f.servers[4].Kill()
			hold := locktest.Take(t, here.red())
			f.heldOn(3, 0, 1, 2)
			for _, i := range []int{2, 3, 4} {
				f.proxies[i].BlackHole() // so that the holder does not find those that are missing first
			}
			f.servers[2].Kill()
			for _, i := range []int{2, 3, 4} {
				f.servers[i].Restart()
			}
			if !guarded {
				second := locktest.Take(t, there.red())
				require.NoError(t, hold.Err())
				require.NoError(t, second.Err(), "both hold it: this is what the guard is for")
				return
			}
			_, err := redlock.New(there.locks...).With(redlock.WithMemberTimeout(soon)).TryLock(locktest.Bounded(t))
			require.ErrorIs(t, err, lock.ErrNotAcquired)
			var restarted *redlock.RestartedError
			require.ErrorAs(t, err, &restarted)
			require.Equal(t, f.name, restarted.Member)
			require.NotEmpty(t, restarted.Server)
			require.ErrorContains(t, err, restarted.Server)
			require.WithinDuration(t, time.Now(), restarted.Restarted, soon)
			require.Equal(t, 30*time.Second, restarted.Counts.Sub(restarted.Restarted).Round(time.Second))
			require.Contains(t, []string{f.servers[2].Addr(), f.servers[3].Addr(), f.servers[4].Addr()}, restarted.Server)
			require.Contains(t, said.String(), "server="+restarted.Server)
			require.Contains(t, said.String(), "counts=")
			f.heldOn(2, everyServer...)
			require.NoError(t, hold.Err())
			_ = hold.Unlock(t.Context()) // what the third does not answer

			// A wait goes on until enough of them count.
			second := locktest.Take(t, redlock.New(there.locks...).With(redlock.WithRestartGuard(3*time.Second)))
			require.GreaterOrEqual(t, len(upFor(t, f, 3)), 3, "a quorum counts by now")
			require.NoError(t, second.Unlock(t.Context()))
		})
	}
}

// upFor are the servers that have been up for so many seconds.
func upFor(t *testing.T, f *five, seconds int) (old []int) {
	t.Helper()
	for _, i := range everyServer {
		info, err := f.raw(i).Do(t.Context(), f.raw(i).B().Info().Section("server").Build()).ToString()
		require.NoError(t, err)
		_, after, _ := strings.Cut(info, "uptime_in_seconds:")
		var up int
		_, err = fmt.Sscan(after, &up)
		require.NoError(t, err)
		if up >= seconds {
			old = append(old, i)
		}
	}
	return old
}

// Goroutines of several processes that want a red lock exclude each other, also
// while members come and go.
func TestRedExcludesWhileMembersFail(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	ctx, stop := context.WithTimeout(t.Context(), redistest.Span(t, 4*time.Second, 30*time.Second))
	defer stop()
	var all sync.WaitGroup
	var inside, turns int64 // guarded by the lock, and by nothing else that the race detector would not see
	var mu sync.Mutex
	for range 3 {
		l := f.through(rueidisson.WithWatchdogTimeout(9 * time.Second)).red()
		for range 2 {
			all.Go(func() {
				for ctx.Err() == nil {
					err := lock.Do(locktest.Bounded(t), l, func(context.Context) error {
						mu.Lock()
						inside++
						alone := inside == 1
						mu.Unlock()
						if !alone {
							return fmt.Errorf("another is inside")
						}
						time.Sleep(time.Millisecond)
						mu.Lock()
						inside--
						turns++
						mu.Unlock()
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	for n := 0; ctx.Err() == nil; n++ {
		f.proxies[n%5].BlackHole()
		<-time.After(300 * time.Millisecond)
		f.proxies[n%5].Restore()
		<-time.After(100 * time.Millisecond)
	}
	all.Wait()
	t.Logf("%d turns", turns)
	require.Positive(t, turns)
	f.heldOn(0, everyServer...)
}

func TestARedLockThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	one, two, third := locktest.Open(t, proxy.Addr()), locktest.Open(t, proxy.Addr()), locktest.Open(t, proxy.Addr())
	good := []lock.Locker{one.Lock("a"), two.Lock("a"), third.Lock("a")}
	for name, of := range map[string]struct {
		lock *redlock.Lock
		opts []lock.TryOption
		says string
	}{
		"none":                   {redlock.New(), nil, "no locks"},
		"two":                    {redlock.New(good[:2]...), nil, "at least 3"},
		"two of one client":      {redlock.New(one.Lock("a"), two.Lock("b"), one.Lock("c")), nil, "one client"},
		"the same twice":         {redlock.New(good[0], good[1], one.Lock("a")), nil, "twice"},
		"several":                {redlock.New(good[0], good[1], redlock.New(good...)), nil, "several"},
		"a multi lock":           {redlock.New(good[0], good[1], multilock.Multi(good...)), nil, "several"},
		"a lease that is short":  {redlock.New(good...), []lock.TryOption{lock.WithLease(49 * time.Millisecond)}, "below 50ms"},
		"a negative wait":        {redlock.New(good...), []lock.TryOption{lock.WithWait(-1)}, "negative"},
		"a member timeout of 0":  {redlock.New(good...).With(redlock.WithMemberTimeout(0)), nil, "member timeout"},
		"a negative guard":       {redlock.New(good...).With(redlock.WithRestartGuard(-1)), nil, "guard"},
		"a nil option":           {redlock.New(good...).With(nil), nil, "nil option"},
		"a user's own, and good": {redlock.New(append(good, locktest.Stranger{})...), nil, "Stranger"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy.ResetLog()
			_, err := of.lock.TryLock(t.Context(), of.opts...)
			require.ErrorIs(t, err, lock.ErrInvalidArgument)
			require.ErrorContains(t, err, of.says)
			require.Empty(t, sent(proxy), "nothing is sent")
		})
	}
	_, err := multilock.Multi(redlock.New(good...)).Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
}

// Without a quorum that answers, the wait is borne for a watchdog timeout.
func TestMembersThatDoNotAnswerAreNamed(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	here := f.through(rueidisson.WithWatchdogTimeout(4 * time.Second))
	locktest.RequireFree(t, here.red())
	for _, i := range []int{0, 1, 2} {
		f.proxies[i].BlackHole()
	}
	_, err := here.red().TryLock(locktest.Bounded(t))
	require.Error(t, err)
	require.NotErrorIs(t, err, lock.ErrNotAcquired)
	require.ErrorContains(t, err, "of 5")
	_, err = here.red().Lock(locktest.Bounded(t))
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	f.heldOn(0, 3, 4)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = here.red().Lock(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, i := range []int{0, 1, 2} {
		f.proxies[i].Restore()
	}
	require.NoError(t, locktest.Take(t, here.red()).Unlock(t.Context()))
	f.heldOn(0, everyServer...)
}

// TestLockOfNothingIsRefused: it would be held at once, and keep nobody out.
func TestLockOfNothingIsRefused(t *testing.T) {
	t.Parallel()
	_, err := new(multilock.MultiLock).TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	_, err = new(multilock.MultiLock).Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
}
