package multilock_test

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
	"github.com/rueidisson/rueidisson/multilock"
)

// script matches the calls of a script of the reentrant lock for one name.
func script(t testing.TB, name, key string) redistest.Match {
	t.Helper()
	body, err := os.ReadFile("../lock/lua/" + name + ".lua")
	require.NoError(t, err)
	return redistest.All(redistest.MatchScript(string(body)), redistest.Arg(key))
}

// expiry is when the server expires the key.
func expiry(t testing.TB, raw rueidis.Client, key string) time.Time {
	t.Helper()
	at, err := raw.Do(context.Background(), raw.B().Pexpiretime().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	return time.UnixMilli(at)
}

func TestAHoldEndsBeforeTheKeyOfASilentMember(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]time.Duration{"renewed": 0, "fixed": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near, far := redistest.Shared(t), redistest.Shared(t, redistest.Version("8.0"))
			proxy := redistest.NewProxy(t, far.Addr())
			name := redistest.Name(t)
			one := locktest.Open(t, near.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second))
			two := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second))
			var opts []lock.LockOption
			if lease > 0 {
				opts = append(opts, lock.WithLease(lease))
			}
			hold := locktest.Take(t, multilock.Multi(one.Lock(name+":a"), two.Lock(name+":b")), opts...)
			work := hold.Context(t.Context())
			proxy.BlackHole()
			trusted := locktest.LastTrust(hold, work)
			until := expiry(t, far.Client(t), name+":b")
			locktest.Ended(t, "the end of the hold", work.Done())
			require.True(t, trusted().Before(until), "it was trusted when the server had given the lock away already")
			require.ErrorIs(t, context.Cause(work), lock.ErrLost)
			locktest.NothingLeft(t, near.Client(t), name+":a")
			proxy.Restore()
			require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
			locktest.NothingLeft(t, far.Client(t), name+":b")
		})
	}
}

// two are of one client: two locks, or two values of a group.
func two(c *rueidisson.Client, kind, name string) lock.Locker {
	if kind == "group" {
		return c.LockGroup(name).Of("a", "b")
	}
	return multilock.Multi(c.Lock(name+":a"), c.Lock(name+":b"))
}

// holdAndLook has a lock of two, and says when it asked for the last time that
// it was told that it has.
func holdAndLook(p *redistest.Parent) {
	c, err := connect(os.Getenv("SERVER"), rueidisson.WithWatchdogTimeout(time.Second))
	if err != nil {
		p.Say("failed %v", err)
		return
	}
	hold, err := two(c, os.Getenv("KIND"), os.Getenv("NAME")).Lock(context.Background())
	if err != nil {
		p.Say("failed %v", err)
		return
	}
	p.Say("held")
	var stood time.Time
	for {
		asked := time.Now()
		if hold.Err() != nil {
			break
		}
		stood = asked
	}
	p.Say("stood %d", stood.UnixNano())
	p.Say("unlock %v", hold.Unlock(context.Background()))
	_ = c.Close(context.Background())
}

func TestAPausedHolderLearnsThatItHasLostIt(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"multi", "group"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			name := redistest.Name(t)
			child := redistest.StartChild(t, "holder of two", "SERVER="+server.Addr(), "NAME="+name, "KIND="+kind)
			child.Await("held")
			child.Stop()
			hold := locktest.Take(t, two(locktest.Open(t, server.Addr()), kind, name))
			taken := time.Now()
			child.Cont()
			stood, err := strconv.ParseInt(strings.TrimPrefix(child.Await("stood "), "stood "), 10, 64)
			require.NoError(t, err)
			require.Less(t, stood, taken.UnixNano())
			require.Contains(t, child.Await("unlock "), lock.ErrLost.Error())
			require.Zero(t, child.Wait())
			require.NoError(t, hold.Err())
			require.NoError(t, hold.Unlock(t.Context()), "what the other gave back was not ours")
		})
	}
}

// Each reply is lost once: the state afterwards is that of one call.
func TestALostReplyOfAMemberChangesNothing(t *testing.T) {
	t.Parallel()
	for how, opts := range map[string][]redistest.DropOption{"cut": nil, "silent": {redistest.Silent()}} {
		for _, of := range []string{"acquire", "release"} {
			t.Run(of+" "+how, func(t *testing.T) {
				t.Parallel()
				server := redistest.Shared(t)
				proxy := redistest.NewProxy(t, server.Addr())
				c := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second))
				name := redistest.Name(t)
				both := multilock.Multi(c.Lock(name+":a"), c.Lock(name+":b"))
				drop := proxy.DropReply(script(t, of, name+":b"), 1, opts...)
				hold := locktest.Take(t, both)
				for _, member := range []string{":a", ":b"} {
					require.Len(t, locktest.Left(t, server.Client(t), name+member), 1)
				}
				require.NoError(t, hold.Unlock(t.Context()))
				drop.Await(t)
				locktest.NothingLeft(t, server.Client(t), name+":a", name+":b")
			})
		}
	}
}

// An acquire that arrives when everybody has gone takes nothing.
func TestALateCopyOfAMembersAcquireTakesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	c := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second))
	name := redistest.Name(t)
	both := multilock.Multi(c.Lock(name+":a"), c.Lock(name+":b"))
	locktest.RequireFree(t, both)
	late := proxy.HoldRequest(script(t, "acquire", name+":b"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { late.Await(t); cancel() }()
	_, err := both.Lock(ctx)
	require.ErrorIs(t, err, context.Canceled)
	locktest.NothingLeft(t, server.Client(t), name+":a")
	other := locktest.Open(t, server.Addr())
	proxy.AwaitCount(t, script(t, "bury", "rueidisson_gone:{"+name+":b}"), 1)
	late.Release()
	locktest.NothingLeft(t, server.Client(t), name+":b")
	// The acquire of a may have stood behind that of b: then it is given back when
	// it is answered. What a late copy took would stay for the lease, 9 s.
	hold, err := multilock.Multi(other.Lock(name+":a"), other.Lock(name+":b")).TryLock(t.Context(), lock.WithWait(5*time.Second))
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestAMovingSlotOfAMemberLosesNothing(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true}, rueidisson.WithWatchdogTimeout(6*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	name := redistest.Name(t)
	both := multilock.Multi(c.Lock(name+":a"), c.Lock(name+":b"))
	hold := locktest.Take(t, both)
	group := "{" + name + ":b}:g" // in the same slot
	values := locktest.Take(t, c.LockGroup(group).Of("a", "b"))
	moving := cluster.StartMigration(t, name+":b")
	<-time.After(4 * time.Second) // renewals go past the half of it
	moving.Move(t, name+":b", group)
	<-time.After(4 * time.Second)
	require.NoError(t, hold.Err())
	require.NoError(t, values.Err())
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, values.Unlock(t.Context()), "one key is enough for that")
	locktest.RequireFree(t, both)
	got := make(chan error, 1)
	go func() { // ends behind the end of the move
		hold, err := c.LockGroup(group).Lock(locktest.Bounded(t), "a")
		if err == nil {
			err = hold.Unlock(locktest.Bounded(t))
		}
		got <- err
	}()
	moving.Finish(t)
	locktest.RequireFree(t, both)
	require.NoError(t, <-got)
}
