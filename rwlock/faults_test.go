package rwlock_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

// faulty is a client behind a proxy that loses replies, and a lock of it. Its
// sends time out after 1.5 s.
type faulty struct {
	t     *testing.T
	proxy *redistest.Proxy
	lock  *rwlock.Lock
	raw   rueidis.Client
	other *rwlock.Lock
}

func newFaulty(t *testing.T, opts ...rueidisson.Option) *faulty {
	t.Helper()
	server, name := redistest.Shared(t), redistest.Name(t)
	proxy := redistest.NewProxy(t, server.Addr())
	client := locktest.Open(t, proxy.Addr(), append([]rueidisson.Option{rueidisson.WithWatchdogTimeout(9 * time.Second)}, opts...)...)
	return &faulty{t, proxy, client.RWLock(name), server.Client(t), locktest.Open(t, server.Addr()).RWLock(name)}
}

func (f *faulty) script(name string) redistest.Match {
	key := f.lock.Name()
	if name == "bury" {
		key = "rueidisson_gone:{" + key + "}"
	}
	return redistest.All(redistest.MatchScript(body(f.t, name)), redistest.Arg(key))
}

// free requires that nobody holds the lock, soon.
func (f *faulty) free() {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		locked, err := f.other.Locked(context.Background())
		return err == nil && !locked
	}, 20*time.Second, 5*time.Millisecond) // before the lease ends by itself
}

// bothWays runs a test with a connection that is cut where the reply was, and
// with one that stays open and silent.
func bothWays(t *testing.T, test func(t *testing.T, f *faulty, how ...redistest.DropOption)) {
	t.Parallel()
	t.Run("cut", func(t *testing.T) { t.Parallel(); test(t, newFaulty(t)) })
	t.Run("silent", func(t *testing.T) { t.Parallel(); test(t, newFaulty(t), redistest.Silent()) })
}

// sides are the names of the scripts of each side.
var sides = map[string]struct {
	side             func(*rwlock.Lock) *rwlock.Side
	acquire, release string
	renew            string
}{
	"read":  {(*rwlock.Lock).Read, "read_acquire", "read_release", "renew"},
	"write": {(*rwlock.Lock).Write, "write_acquire", "write_release", "renew_write"},
}

func TestALostReplyToAcquireLeavesOneHold(t *testing.T) {
	t.Parallel()
	for name, of := range sides {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
				drop := f.proxy.DropReply(f.script(of.acquire), 1, how...)
				hold := locktest.Take(t, of.side(f.lock))
				drop.Await(t)
				locktest.RequireBusy(t, f.other.Write())
				lost := f.proxy.DropReply(f.script("bury"), 1, how...)
				locktest.Unlock(t, hold)
				lost.Await(t)
				f.free()
			})
		})
	}
}

func TestALostReplyToReleaseIsNoLoss(t *testing.T) {
	t.Parallel()
	for name, of := range sides {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
				hold := locktest.Take(t, of.side(f.lock))
				drop := f.proxy.DropReply(f.script(of.release), 1, how...)
				locktest.Unlock(t, hold)
				drop.Await(t)
				f.free()
			})
		})
	}
}

func TestALostReplyToRenewalKeepsTheHold(t *testing.T) {
	t.Parallel()
	for name, of := range sides {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
				hold := locktest.Take(t, of.side(f.lock))
				drop := f.proxy.DropReply(f.script(of.renew), 1, how...)
				drop.Await(t)
				f.proxy.AwaitCount(t, f.script(of.renew), 4) // the lost one, its retry, and two periods more
				require.NoError(t, hold.Err())
				locktest.Unlock(t, hold)
				f.free()
			})
		})
	}
}

func TestALostReplyToADowngradeKeepsTheReader(t *testing.T) {
	bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
		write := locktest.Take(t, f.lock.Write())
		read, err := under(t, f.lock.Read(), write)
		require.NoError(t, err)
		drop := f.proxy.DropReply(f.script("downgrade"), 1, how...)
		locktest.Unlock(t, write)
		drop.Await(t)
		require.NoError(t, read.Err())
		locktest.RequireBusy(t, f.other.Write())
		locktest.Unlock(t, locktest.Take(t, f.other.Read()))
		locktest.Unlock(t, read)
		f.free()
	})
}

// Nobody answers the downgrade: its reader stands under either hold, for as long
// as one of them is trusted, and nothing is left of both.
func TestADowngradeThatIsNotAnsweredLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, rueidisson.WithWatchdogTimeout(5*time.Minute)) // a renewal would find the write hold gone
	write := locktest.Take(t, f.lock.Write())
	read, err := under(t, f.lock.Read(), write)
	require.NoError(t, err)
	f.proxy.DropReply(f.script("downgrade"), 4)
	require.ErrorIs(t, write.Unlock(t.Context()), lock.ErrOutcomeUnknown)
	require.NoError(t, read.Err())
	locktest.RequireBusy(t, f.other.Write())
	require.NoError(t, read.Unlock(t.Context()), "the server has done it")
	f.free()
}

func TestADowngradeThatIsRefusedKeepsTheWriter(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	do := func(words ...string) {
		t.Helper()
		require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary(words...).Build()).Error())
	}
	do("ACL", "SETUSER", "u", "on", ">p", "~*", "&*", "+@all")
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{server.Addr()}, Username: "u", Password: "p", DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	l, other := c.RWLock("x"), locktest.Open(t, server.Addr()).RWLock("x")
	write := locktest.Take(t, l.Write())
	read, err := under(t, l.Read(), write)
	require.NoError(t, err)
	do("ACL", "SETUSER", "u", "-hdel")
	require.ErrorContains(t, write.Unlock(t.Context()), "run this command")
	require.NoError(t, read.Err())
	locktest.RequireBusy(t, other.Read())
	do("ACL", "SETUSER", "u", "+hdel")
	locktest.Unlock(t, read)
	locktest.Unlock(t, locktest.Take(t, other.Write()))
}

func TestAnAcquireThatArrivesAfterItsUnlockTakesNothing(t *testing.T) {
	t.Parallel()
	for name, of := range sides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t)
			late := f.proxy.HoldRequest(f.script(of.acquire))
			hold := locktest.Take(t, of.side(f.lock)) // by a second send, on another connection
			late.Await(t)
			locktest.Unlock(t, hold)
			f.free()
			late.Release()
			locked, err := f.lock.Locked(t.Context())
			require.NoError(t, err)
			require.False(t, locked, "the late acquire took the lock for nobody")
		})
	}
}

func TestAHoldEndsBeforeItsKeysWhenTheServerFallsSilent(t *testing.T) {
	t.Parallel()
	for name, of := range sides {
		for lease, opts := range map[string][]lock.LockOption{"watchdog": nil, "long": {lock.WithLease(time.Minute)}, "short": {lock.WithLease(3 * time.Second)}} {
			if name == "write" && lease == "long" {
				continue // it ends in a minute
			}
			t.Run(name+" "+lease, func(t *testing.T) {
				t.Parallel()
				server, key := redistest.Shared(t), redistest.Name(t)
				direct, proxy := server.Client(t), redistest.NewProxy(t, server.Addr())
				l := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(4*time.Second)).RWLock(key)
				hold := locktest.Take(t, of.side(l), opts...)
				work := hold.Context(t.Context())
				if lease == "long" {
					proxy.AwaitCount(t, redistest.MatchScript(body(t, of.renew)), 2)
				}
				proxy.BlackHole()
				at, err := direct.Do(t.Context(), direct.B().Pexpiretime().Key(key).Build()).AsInt64()
				require.NoError(t, err)
				var stood time.Time
				for asked := time.Now(); hold.Err() == nil; asked = time.Now() {
					stood = asked
					time.Sleep(time.Millisecond)
				}
				require.True(t, stood.Before(time.UnixMilli(at)), "it was trusted when the server had given the lock away already")
				<-work.Done()
				require.ErrorIs(t, context.Cause(work), lock.ErrLost)
				proxy.Restore()
				require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
			})
		}
	}
}

// Another library's renewal sets the time to live of the name to its own: a
// reader with a long lease is not trusted past that.
func TestAReaderIsNotTrustedPastWhatAnotherLibraryLeavesOfTheName(t *testing.T) {
	t.Parallel()
	server, key := redistest.Shared(t), redistest.Name(t)
	direct, proxy := server.Client(t), redistest.NewProxy(t, server.Addr())
	const theirs = 4 * time.Second // the watchdog timeout of both
	l := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(theirs)).RWLock(key)
	hold := locktest.Take(t, l.Read(), lock.WithLease(time.Minute))
	proxy.BlackHole()
	at := time.Now()
	require.NoError(t, direct.Do(t.Context(), direct.B().Pexpire().Key(key).Milliseconds(theirs.Milliseconds()).Build()).Error())
	<-hold.Lost()
	require.ErrorIs(t, hold.Err(), lock.ErrLost)
	left, err := direct.Do(t.Context(), direct.B().Pttl().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	require.True(t, left > 0 || time.Since(at) > theirs, "the name had gone before")
}

// spinner holds a side and asks, over and over, whether it still does.
func spinner(p *redistest.Parent) {
	hold, err := spinnerHold()
	if err != nil {
		p.Say("failed: %v", err)
		os.Exit(1)
	}
	p.Say("held")
	var last time.Time
	for asked := time.Now(); hold.Err() == nil; asked = time.Now() {
		last = asked
	}
	p.Say("ended: %d", last.UnixNano())
	p.Hear()
	p.Say("unlocked: %v", hold.Unlock(context.Background()))
}

func spinnerHold() (*lock.Hold, error) {
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{os.Getenv("SPIN_ADDR")}, DisableCache: true},
		rueidisson.WithWatchdogTimeout(time.Second))
	if err != nil {
		return nil, err
	}
	return sides[os.Getenv("SPIN_SIDE")].side(c.RWLock(os.Getenv("SPIN_NAME"))).Lock(context.Background())
}

func TestAPausedProcessFindsItsHoldLost(t *testing.T) {
	t.Parallel()
	for side := range sides {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			server, name := redistest.Shared(t), redistest.Name(t)
			child := redistest.StartChild(t, "spinner", "SPIN_ADDR="+server.Addr(), "SPIN_NAME="+name, "SPIN_SIDE="+side)
			child.Await("held")
			second := locktest.Open(t, server.Addr()).RWLock(name)
			child.Stop()
			stopped := time.Now()
			taken := locktest.Take(t, second.Write())
			child.Cont()
			last, err := strconv.ParseInt(strings.TrimPrefix(child.Await("ended: "), "ended: "), 10, 64)
			require.NoError(t, err)
			require.True(t, time.Unix(0, last).Before(stopped), "a check passed after the pause began")
			child.Send("unlock")
			require.Contains(t, child.Await("unlocked: "), lock.ErrLost.Error())
			require.NoError(t, taken.Err())
			locktest.RequireBusy(t, second.Read())
			locktest.Unlock(t, taken)
		})
	}
}
