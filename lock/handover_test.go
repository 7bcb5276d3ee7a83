package lock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// chains bounds hand-overs by their number only, however slow the machine. No
// program may: other processes would starve.
type chains int

func (n chains) Apply(c *core.Config) error {
	c.Handovers, c.HandoverTime = int(n), time.Hour
	return nil
}

const generous = chains(1_000)

// ownerOf is the owner on the server.
func ownerOf(t testing.TB, l *lock.Lock) string {
	t.Helper()
	holder, err := l.Holder(t.Context())
	require.NoError(t, err)
	require.True(t, holder.Held())
	return holder.Owner
}

// inLine queues n waiters behind the holder, in a known order.
func inLine(ctx context.Context, l *lock.Lock, n int) (waiting []<-chan result) {
	for range n {
		waiting = append(waiting, queue(ctx, l))
	}
	return waiting
}

func TestTheNextWaiterGetsTheHoldWithoutARoundTrip(t *testing.T) {
	t.Parallel()
	c := tap(t, redistest.Shared(t).Addr(), generous)
	l := c.Lock(redistest.Name(t))
	hold := mustLock(t, l)
	owner := ownerOf(t, l)
	const waiters = 20
	waiting := inLine(t.Context(), l, waiters)
	c.reset()
	for _, w := range waiting {
		mustUnlock(t, hold)
		r := await(t, w) // in the order of arrival
		require.NoError(t, r.err)
		require.NoError(t, r.hold.Err())
		hold = r.hold
	}
	require.Empty(t, sent(c.proxy), "nobody asked the server")
	require.Equal(t, owner, ownerOf(t, l), "the owner is that of the acquisition")
	mustUnlock(t, hold)
	require.Equal(t, 1, c.calls(t, "release"))
	require.Equal(t, waiters, c.seen.count("acquired lock handed"))
}

func TestHandOversAreBoundedInNumber(t *testing.T) {
	t.Parallel()
	const bound = 3
	c := tap(t, redistest.Shared(t).Addr(), chains(bound))
	l := c.Lock(redistest.Name(t))
	hold := mustLock(t, l)
	const waiters = 2*(bound+1) + 1
	waiting := inLine(t.Context(), l, waiters)
	c.reset()
	owner, chain := "", 0
	for _, w := range waiting {
		mustUnlock(t, hold)
		r := await(t, w)
		require.NoError(t, r.err)
		hold = r.hold
		if now := ownerOf(t, l); now != owner {
			owner, chain = now, 0
		}
		chain++
		require.LessOrEqual(t, chain, bound+1, "one acquisition and its hand-overs")
	}
	mustUnlock(t, hold)
	// hold, 3 handed; acquired, 3 handed; acquired, 1 handed
	require.Equal(t, 2, c.calls(t, "acquire"))
	require.Equal(t, 3, c.calls(t, "release"))
	require.Equal(t, waiters-2, c.seen.count("acquired lock handed"))
}

func TestHandOversAreBoundedInTime(t *testing.T) {
	t.Parallel()
	const bound = 100 * time.Millisecond
	c := tap(t, redistest.Shared(t).Addr(), rueidisson.WithHandover(1_000, bound))
	l := c.Lock(redistest.Name(t))
	hold := mustLock(t, l)
	waiting := inLine(t.Context(), l, 1)
	<-time.After(bound) // what is tested is that time has passed
	c.reset()
	mustUnlock(t, hold)
	r := await(t, waiting[0])
	require.NoError(t, r.err)
	require.Equal(t, 1, c.calls(t, "release"))
	require.Equal(t, 1, c.calls(t, "acquire"))
	require.Zero(t, c.seen.count("acquired lock handed"))
	mustUnlock(t, r.hold)
}

func TestHandOverCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	for title, off := range map[string]rueidisson.Option{
		"0, 0":           rueidisson.WithHandover(0, 0),
		"no number":      rueidisson.WithHandover(0, 100*time.Millisecond),
		"no time at all": rueidisson.WithHandover(1_000, 0),
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			c := tap(t, redistest.Shared(t).Addr(), off)
			l := c.Lock(redistest.Name(t))
			hold := mustLock(t, l)
			waiting := inLine(t.Context(), l, 5)
			c.reset()
			for i, w := range waiting {
				mustUnlock(t, hold)
				r := await(t, w)
				require.NoError(t, r.err)
				require.Equal(t, i+1, c.calls(t, "release"))
				hold = r.hold
			}
			mustUnlock(t, hold)
			require.Zero(t, c.seen.count("acquired lock handed"))
			require.Zero(t, c.seen.count("released lock handed"))
		})
	}
}

func TestOtherProcessesGetTheirTurnAfterTheBound(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	here := tap(t, server.Addr(), chains(2))
	there := tap(t, server.Addr(), chains(2))
	name := redistest.Name(t)
	hold := mustLock(t, here.Lock(name))
	theirs := start(t.Context(), there.Lock(name))
	awaitAsleep(t, there)
	waiting := inLine(t.Context(), here.Lock(name), 8)
	served := make(chan result, 1)
	go func() { // ends with the waiters
		for _, w := range waiting {
			if r := <-w; r.err == nil {
				r.err = r.hold.Unlock(context.Background())
				if r.err != nil {
					served <- r
					return
				}
			}
		}
		served <- result{at: time.Now()}
	}()
	mustUnlock(t, hold)
	r := await(t, theirs)
	require.NoError(t, r.err)
	mustUnlock(t, r.hold)
	require.NoError(t, await(t, served).err)
}

func TestAFixedLeaseIsAcquiredForItself(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		title      string
		have, want []lock.LockOption
	}{
		{"from a fixed lease", []lock.LockOption{lock.WithLease(time.Hour)}, nil},
		{"to a fixed lease", nil, []lock.LockOption{lock.WithLease(time.Hour)}},
		{"between two of them", []lock.LockOption{lock.WithLease(time.Hour)}, []lock.LockOption{lock.WithLease(time.Hour)}},
	} {
		t.Run(of.title, func(t *testing.T) {
			t.Parallel()
			c := tap(t, redistest.Shared(t).Addr(), generous)
			l := c.Lock(redistest.Name(t))
			hold := mustLock(t, l, of.have...)
			waiting := queue(t.Context(), l, of.want...)
			before := ownerOf(t, l)
			c.reset()
			mustUnlock(t, hold)
			r := await(t, waiting)
			require.NoError(t, r.err)
			require.NotEqual(t, before, ownerOf(t, l))
			require.Equal(t, 1, c.calls(t, "release"))
			require.Zero(t, c.seen.count("acquired lock handed"))
			if len(of.want) > 0 {
				left, err := l.Remaining(t.Context())
				require.NoError(t, err)
				require.Greater(t, left, 50*time.Minute, "its own lease")
			}
			mustUnlock(t, r.hold)
		})
	}
}

// Nobody overtakes a waiter that does not take holds.
func TestAFixedLeaseIsNotOvertaken(t *testing.T) {
	t.Parallel()
	c := tap(t, redistest.Shared(t).Addr(), generous)
	l := c.Lock(redistest.Name(t))
	hold := mustLock(t, l)
	fixed := queue(t.Context(), l, lock.WithLease(time.Hour))
	behind := queue(t.Context(), l)
	mustUnlock(t, hold)
	r := await(t, fixed)
	require.NoError(t, r.err)
	select {
	case <-behind:
		t.Fatal("two holders")
	default:
	}
	mustUnlock(t, r.hold)
	r = await(t, behind)
	require.NoError(t, r.err)
	mustUnlock(t, r.hold)
}

func TestASharedHoldIsNotHandedOver(t *testing.T) {
	t.Parallel()
	t.Run("exported", func(t *testing.T) {
		t.Parallel()
		c := tap(t, redistest.Shared(t).Addr(), generous)
		l := c.Lock(redistest.Name(t))
		hold := mustLock(t, l)
		token, err := hold.Token(t.Context())
		require.NoError(t, err)
		waiting := queue(t.Context(), l)
		c.reset()
		mustUnlock(t, hold)
		r := await(t, waiting)
		require.NoError(t, r.err)
		require.NotEqual(t, token.String(), ownerOf(t, l))
		require.Equal(t, 1, c.calls(t, "unlock"))
		require.Zero(t, c.seen.count("acquired lock handed"))
		mustUnlock(t, r.hold)
	})
	t.Run("joined", func(t *testing.T) {
		t.Parallel()
		server := redistest.Shared(t)
		there, here := locktest.Open(t, server.Addr()), tap(t, server.Addr(), generous)
		name := redistest.Name(t)
		hold := mustLock(t, there.Lock(name))
		token, err := hold.Token(t.Context())
		require.NoError(t, err)
		joined, err := here.Lock(name).Join(t.Context(), token)
		require.NoError(t, err)
		waiting := start(t.Context(), here.Lock(name))
		awaitAsleep(t, here)
		mustUnlock(t, joined)
		require.Equal(t, 1, here.calls(t, "unlock"))
		select {
		case <-waiting:
			t.Fatal("the other level still stands")
		default:
		}
		mustUnlock(t, hold)
		r := await(t, waiting)
		require.NoError(t, r.err)
		require.Zero(t, here.seen.count("acquired lock handed"))
		mustUnlock(t, r.hold)
	})
	t.Run("exported after it was handed over", func(t *testing.T) {
		t.Parallel()
		c := tap(t, redistest.Shared(t).Addr(), generous)
		l := c.Lock(redistest.Name(t))
		hold := mustLock(t, l)
		waiting := inLine(t.Context(), l, 2)
		mustUnlock(t, hold)
		r := await(t, waiting[0])
		require.NoError(t, r.err)
		_, err := r.hold.Token(t.Context())
		require.NoError(t, err)
		_, err = hold.Token(t.Context())
		require.ErrorIs(t, err, lock.ErrReleased, "who handed it over has no say any more")
		c.reset()
		mustUnlock(t, r.hold)
		r = await(t, waiting[1])
		require.NoError(t, r.err)
		require.Equal(t, 1, c.calls(t, "acquire"))
		mustUnlock(t, r.hold)
	})
}

// With less than half of a lease of trust left, the successor gets the hold
// only behind the reply to a renewal.
// warned waits until renewals have been failing for half of the lease.
func warned(t *testing.T, hold *lock.Hold, expiring <-chan struct{}) {
	t.Helper()
	select {
	case <-expiring:
	case <-hold.Lost():
		t.Fatalf("lost without a warning: %v", hold.Err())
	}
}

func TestAHoldOfLittleTrustIsRenewedBeforeItIsHandedOver(t *testing.T) {
	t.Parallel()
	const lease = 18 * time.Second
	c := tap(t, redistest.Shared(t).Addr(), generous, rueidisson.WithWatchdogTimeout(lease))
	l := c.Lock(redistest.Name(t))
	hold := mustLock(t, l)
	owner := ownerOf(t, l)
	waiting := queue(t.Context(), l)
	expiring := hold.Expiring()
	drop := c.proxy.DropReply(scriptNamed(t, "renew"), 1<<20)
	warned(t, hold, expiring)
	require.Less(t, time.Until(hold.Deadline()), lease/2)
	drop.Cancel()
	unlocked := make(chan error, 1)
	go func() { unlocked <- hold.Unlock(t.Context()) }()
	r := await(t, waiting)
	require.NoError(t, r.err)
	require.NoError(t, <-unlocked)
	require.Greater(t, time.Until(r.hold.Deadline()), lease/2, "the successor has more than that")
	require.Equal(t, owner, ownerOf(t, l))
	require.Equal(t, 1, c.seen.count("acquired lock handed"))
	mustUnlock(t, r.hold)
}

func TestAHoldOfLittleTrustIsNotHandedOverWithoutARenewal(t *testing.T) {
	t.Parallel()
	const lease = 9 * time.Second
	c := tap(t, redistest.Shared(t).Addr(), generous, rueidisson.WithWatchdogTimeout(lease))
	l := c.Lock(redistest.Name(t))
	hold := mustLock(t, l)
	owner := ownerOf(t, l)
	waiting := queue(t.Context(), l)
	expiring := hold.Expiring()
	drop := c.proxy.DropReply(scriptNamed(t, "renew"), 1<<20)
	warned(t, hold, expiring)
	_ = hold.Unlock(t.Context()) // it may have been lost meanwhile
	r := await(t, waiting)
	drop.Cancel()
	require.NoError(t, r.err)
	require.Zero(t, c.seen.count("acquired lock handed"))
	require.NotEqual(t, owner, ownerOf(t, l), "won from the server")
	mustUnlock(t, r.hold)
}

func TestTheHandedHoldLivesAndTheOneBeforeHasEnded(t *testing.T) {
	t.Parallel()
	c := locktest.Open(t, redistest.Shared(t).Addr(), generous)
	l := c.Lock(redistest.Name(t))
	hold := mustLock(t, l)
	inner, err := l.Lock(hold.Context(t.Context()))
	require.NoError(t, err)
	outerCtx, innerCtx := hold.Context(t.Context()), inner.Context(t.Context())
	waiting := queue(t.Context(), l)
	require.NoError(t, inner.Unlock(t.Context()))
	require.ErrorIs(t, context.Cause(innerCtx), lock.ErrReleased)
	require.NoError(t, outerCtx.Err())
	select {
	case <-waiting:
		t.Fatal("handed over with a level still standing")
	default:
	}
	mustUnlock(t, hold)
	r := await(t, waiting)
	require.NoError(t, r.err)
	ctx := r.hold.Context(t.Context())
	require.ErrorIs(t, context.Cause(outerCtx), lock.ErrReleased)
	require.ErrorIs(t, hold.Err(), lock.ErrReleased)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrReleased, "again: the successor keeps the lock")
	require.ErrorIs(t, hold.Extend(t.Context(), time.Hour), lock.ErrReleased)
	select {
	case <-hold.Lost():
		t.Fatal("released is not lost")
	case <-ctx.Done():
		t.Fatal("the successor's context has ended")
	default:
	}
	require.NoError(t, ctx.Err())
	require.NoError(t, r.hold.Err())
	_, err = l.TryLock(outerCtx)
	require.ErrorIs(t, err, context.Canceled, "the old context carries nothing")
	again, err := l.Lock(ctx)
	require.NoError(t, err, "the new one re-enters")
	mustUnlock(t, again)
	mustUnlock(t, r.hold)
	require.ErrorIs(t, context.Cause(ctx), lock.ErrReleased)
}

// A hand-over asks nobody, so a chain learns of a force unlock at its next
// renewal or real release.
func TestAChainLearnsOfAForceUnlock(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		title    string
		watchdog time.Duration
	}{
		{"at its next renewal", 6 * time.Second},
		{"at its real release", time.Hour},
	} {
		t.Run(of.title, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			here, there := tap(t, server.Addr(), generous, rueidisson.WithWatchdogTimeout(of.watchdog)), locktest.Open(t, server.Addr())
			name := redistest.Name(t)
			hold := mustLock(t, here.Lock(name))
			waiting := inLine(t.Context(), here.Lock(name), 2)
			forced, err := there.Lock(name).ForceUnlock(t.Context())
			require.NoError(t, err)
			require.True(t, forced)
			theirs := mustLock(t, there.Lock(name))
			if of.watchdog < time.Hour {
				<-hold.Lost()
				require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
			} else {
				require.NoError(t, hold.Unlock(t.Context()), "handed over, unaware")
				r := await(t, waiting[0])
				require.NoError(t, r.err)
				require.NoError(t, r.hold.Unlock(t.Context()))
				r = await(t, waiting[1])
				require.NoError(t, r.err)
				require.ErrorIs(t, r.hold.Unlock(t.Context()), lock.ErrLost, "the real release finds out")
				mustUnlock(t, theirs)
				return
			}
			select {
			case <-waiting[0]:
				t.Fatal("somebody else holds the lock")
			default:
			}
			mustUnlock(t, theirs)
			for _, w := range waiting {
				r := await(t, w)
				require.NoError(t, r.err, "a loss of the one before is not theirs")
				mustUnlock(t, r.hold)
			}
		})
	}
}

func TestALostHoldWakesTheNextWaiter(t *testing.T) {
	t.Parallel()
	for title, lease := range map[string][]lock.LockOption{
		"a watchdog hold": nil,
		"a fixed lease":   {lock.WithLease(300 * time.Millisecond)},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			c := tap(t, server.Addr(), generous, rueidisson.WithWatchdogTimeout(6*time.Second))
			name := redistest.Name(t)
			hold := mustLock(t, c.Lock(name), lease...)
			waiting := queue(t.Context(), c.Lock(name))
			if lease == nil {
				del(t, server.Client(t), name)
			}
			r := await(t, waiting)
			require.NoError(t, r.err)
			require.ErrorIs(t, hold.Err(), lock.ErrLost)
			require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
			require.NoError(t, r.hold.Err(), "the late unlock is not its own")
			mustUnlock(t, r.hold)
			require.False(t, exists(t, server.Client(t), name))
		})
	}
}

// The race of a hand-over with the cancel of the one it goes to.
func TestAHoldHandedToACancelledWaiterGoesToTheNext(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := tap(t, server.Addr(), generous)
	raw, name := server.Client(t), redistest.Name(t)
	l := c.Lock(name)
	rounds := redistest.Count(t, 300, 30_000)
	cancelled := 0
	for range rounds {
		hold := mustLock(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		first := queue(ctx, l)
		second := queue(t.Context(), l)
		var both sync.WaitGroup
		both.Go(cancel)
		both.Go(func() { mustUnlockFrom(t, hold) })
		r := await(t, first)
		if r.err == nil {
			mustUnlock(t, r.hold)
		} else {
			cancelled++
			require.ErrorIs(t, r.err, context.Canceled)
		}
		r = await(t, second)
		require.NoError(t, r.err)
		mustUnlock(t, r.hold)
		both.Wait()
	}
	t.Logf("%d of %d waiters were cancelled first", cancelled, rounds)
	require.NotZero(t, cancelled)
	awaitFree(t, raw, name)
	require.Equal(t, rounds, c.seen.count("acquired lock"), "every chain was one acquisition")
}

// mustUnlockFrom is mustUnlock for another goroutine than the test's.
func mustUnlockFrom(t testing.TB, hold *lock.Hold) {
	if err := hold.Unlock(t.Context()); err != nil {
		t.Errorf("unlock: %v", err)
	}
}

// And with nobody behind the one that is cancelled: then it goes back.
func TestAHoldHandedToACancelledWaiterGoesBackIfNobodyWaits(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := locktest.Open(t, server.Addr(), generous)
	raw, name := server.Client(t), redistest.Name(t)
	l := c.Lock(name)
	for range redistest.Count(t, 300, 30_000) {
		hold := mustLock(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		first := queue(ctx, l)
		var both sync.WaitGroup
		both.Go(cancel)
		both.Go(func() { mustUnlockFrom(t, hold) })
		if r := await(t, first); r.err == nil {
			mustUnlock(t, r.hold)
		}
		both.Wait()
	}
	awaitFree(t, raw, name)
}

// guarded is a critical section that finds out if two are in it.
type guarded struct {
	inside  atomic.Int32
	entered atomic.Int64
	plain   int // written inside the lock only; the race detector watches
}

func (g *guarded) enter() error {
	if g.inside.Add(1) != 1 {
		return errors.New("two holders at once")
	}
	return nil
}

func (g *guarded) leave() {
	g.plain++
	g.entered.Add(1)
	g.inside.Add(-1)
}

// contend takes the lock in every way there is, and writes inside of it. It
// tolerates errors for which ok says so.
func contend(t testing.TB, c *rueidisson.Client, name string, rounds int, g *guarded, ok func(error) bool) error {
	l := c.Lock(name)
	for range rounds {
		hold, err := acquireSomehow(t, l)
		if err != nil {
			if errors.Is(err, lock.ErrNotAcquired) || errors.Is(err, context.DeadlineExceeded) || ok(err) {
				continue
			}
			return err
		}
		if err := section(hold, g); err != nil {
			return err
		}
		if err := hold.Unlock(t.Context()); err != nil && !ok(err) {
			return err
		}
	}
	return nil
}

func section(hold *lock.Hold, g *guarded) error {
	if err := hold.Err(); err != nil {
		return err // no lease here is short enough to run out
	}
	if err := g.enter(); err != nil {
		return err
	}
	if rand.N(8) == 0 {
		time.Sleep(rand.N(500 * time.Microsecond)) // a section that takes a moment
	}
	g.leave()
	return nil
}

func acquireSomehow(t testing.TB, l *lock.Lock) (*lock.Hold, error) {
	switch rand.N(6) {
	case 0:
		return l.TryLock(t.Context())
	case 1:
		return l.TryLock(t.Context(), lock.WithWait(rand.N(5*time.Millisecond)))
	case 2:
		return l.Lock(t.Context(), lock.WithLease(time.Minute))
	case 3:
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(5*time.Millisecond))
		defer cancel()
		return l.Lock(ctx)
	}
	return l.Lock(t.Context())
}

// crowd runs contend from several clients and goroutines, and checks that no
// write was lost.
func crowd(t *testing.T, clients []*rueidisson.Client, rounds int, ok func(error) bool) {
	t.Helper()
	const goroutines = 8
	name := redistest.Name(t)
	g := new(guarded)
	failed := make(chan error, len(clients)*goroutines)
	var all sync.WaitGroup
	for _, c := range clients {
		for range goroutines {
			all.Go(func() { failed <- contend(t, c, name, rounds, g, ok) })
		}
	}
	all.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	require.EqualValues(t, g.entered.Load(), g.plain, "a write was lost")
	require.NotZero(t, g.plain)
	t.Logf("%d critical sections", g.plain)
}

func TestOnlyOneHoldsTheLock(t *testing.T) {
	t.Parallel()
	for title, opts := range map[string][]rueidisson.Option{
		"by default":        nil,
		"long chains":       {generous},
		"without hand-over": {rueidisson.WithHandover(0, 0)},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			var clients []*rueidisson.Client
			for range 4 {
				clients = append(clients, locktest.Open(t, server.Addr(), opts...))
			}
			crowd(t, clients, redistest.Count(t, 100, 5_000), func(error) bool { return false })
		})
	}
}

// Connections are cut at random. No outage is as long as a lease, so nothing
// may be lost: what a client does not get an answer to is settled by it.
func TestOnlyOneHoldsTheLockWhileConnectionsAreCut(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	var clients []*rueidisson.Client
	var proxies []*redistest.Proxy
	for range 3 {
		c := tap(t, server.Addr())
		clients, proxies = append(clients, c.Client), append(proxies, c.proxy)
	}
	rounds, cuts := redistest.Count(t, 40, 1_000), redistest.Count(t, 50, 1_250)
	done := make(chan struct{})
	var cutting sync.WaitGroup
	cutting.Go(func() {
		tick := time.NewTicker(40 * time.Millisecond)
		defer tick.Stop()
		for range cuts {
			select {
			case <-tick.C:
				proxies[rand.N(len(proxies))].CutAll()
			case <-done:
				return
			}
		}
	})
	crowd(t, clients, rounds, func(err error) bool {
		return !errors.Is(err, lock.ErrLost) && !errors.Is(err, lock.ErrReleased) && errors.Is(err, lock.ErrOutcomeUnknown)
	})
	close(done)
	cutting.Wait()
}
