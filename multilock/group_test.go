package multilock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/multilock"
)

// values is a lock of three values of one group for each name.
func values(clients []*rueidisson.Client, name string) lock.Locker {
	return clients[0].LockGroup(name).Of("one", "two", "three")
}

func TestGroupConforms(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(version))
			locktest.OnSeveral([]rueidis.ClientOption{{InitAddress: []string{server.Addr()}}}, values, values).Run(t)
		})
	}
}

func TestGroupConformsOnMiniredis(t *testing.T) {
	t.Parallel()
	locktest.OnSeveral([]rueidis.ClientOption{redistest.Miniredis(t).ClientOption()}, values, values).Run(t)
}

func requireGroup(t testing.TB, raw rueidis.Client, name string, want int) map[string]string {
	t.Helper()
	fields, err := raw.Do(context.Background(), raw.B().Hgetall().Key(name).Build()).AsStrMap()
	require.NoError(t, err)
	require.Len(t, fields, want)
	return fields
}

func TestWhatAHoldOfValuesWrites(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, c, name := server.Client(t), locktest.Open(t, server.Addr()), redistest.Name(t)
	hold, err := c.LockGroup(name).Lock(t.Context(), "a", "student:001", "a")
	require.NoError(t, err)
	fields := requireGroup(t, raw, name, 6)
	for _, f := range []string{"qwvAS12pR0CgRitaypEjUw", "DqvoYruF5eyLDrILcprmBw"} {
		owner := fields[f]
		require.True(t, strings.HasPrefix(owner, c.ID()+":"))
		require.Equal(t, "1", fields[f+":"+owner+":lock_count"])
		var ends int64
		_, err := fmt.Sscan(fields[f+":"+owner+":expire_time"], &ends)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(30*time.Second), time.UnixMilli(ends), 10*time.Second)
	}
	require.Greater(t, time.Until(expiry(t, raw, name)), 20*time.Second)
	require.NoError(t, hold.Unlock(t.Context()))
	requireGroup(t, raw, name, 0)
}

func TestValuesThatDoNotOverlapDoNotMeet(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	here, there := locktest.Open(t, server.Addr()).LockGroup(name), locktest.Open(t, server.Addr()).LockGroup(name)
	one, err := here.TryLock(t.Context(), "a", "b")
	require.NoError(t, err)
	two, err := here.TryLock(t.Context(), "c")
	require.NoError(t, err, "of the same process")
	three, err := there.TryLock(t.Context(), "d", "e")
	require.NoError(t, err)
	for _, g := range []*multilock.Group{here, there} {
		_, err = g.TryLock(t.Context(), "b", "f")
		require.ErrorIs(t, err, lock.ErrNotAcquired)
		_, err = g.TryLock(t.Context(), "d", "c")
		require.ErrorIs(t, err, lock.ErrNotAcquired)
	}
	locktest.RequireFree(t, there.Of("f"))
	for _, hold := range []*lock.Hold{one, two, three} {
		require.NoError(t, hold.Unlock(t.Context()))
	}
	requireGroup(t, server.Client(t), name, 0)
}

// All holders of a process are renewed, each its own values.
func TestEveryHolderOfAProcessIsRenewed(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	g := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(6*time.Second)).LockGroup(name)
	one, two := locktest.Take(t, g.Of("a", "b")), locktest.Take(t, g.Of("c"))
	other := locktest.Open(t, server.Addr()).LockGroup(name)
	<-time.After(8 * time.Second)
	require.NoError(t, one.Err())
	require.NoError(t, two.Err())
	locktest.RequireBusy(t, other.Of("a"))
	locktest.RequireBusy(t, other.Of("c"))
	require.NoError(t, one.Unlock(t.Context()))
	locktest.RequireFree(t, other.Of("a", "b"))
	locktest.RequireBusy(t, other.Of("c"))
	require.NoError(t, two.Unlock(t.Context()))
}

func TestValuesUnderTheContextOfAHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := locktest.Open(t, server.Addr())
	name := redistest.Name(t)
	g := c.LockGroup(name)
	outer := locktest.Take(t, g.Of("a", "b"))
	ctx := outer.Context(t.Context())
	inner, err := g.TryLock(ctx, "b")
	require.NoError(t, err, "what it has is re-entered")
	_, err = g.TryLock(ctx, "b", "c")
	require.ErrorIs(t, err, lock.ErrInvalidArgument, "of some only, it would wait for itself")
	other, err := g.TryLock(ctx, "c")
	require.NoError(t, err)
	deeper := other.Context(ctx)
	again, err := g.TryLock(deeper, "a")
	require.NoError(t, err, "an inner hold of other values hides nothing")
	_, err = c.Lock(name).TryLock(ctx)
	require.ErrorIs(t, err, lock.ErrWrongKind)
	for _, h := range []*lock.Hold{again, other, outer} {
		require.NoError(t, h.Unlock(t.Context()))
	}
	requireGroup(t, server.Client(t), name, 6)
	require.NoError(t, inner.Unlock(t.Context()))
	requireGroup(t, server.Client(t), name, 0)
}

// A value that somebody took over, since the holder's time was over by its clock,
// ends the whole hold; what is left is given back.
func TestAHoldThatLostOneValueGivesTheOthersBack(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, name := server.Client(t), redistest.Name(t)
	g := locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(6*time.Second)).LockGroup(name)
	hold := locktest.Take(t, g.Of("a", "b"))
	require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(name).FieldValue().FieldValue(keys.GroupField("a"), "another:1").Build()).Error())
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	fields := requireGroup(t, raw, name, 3) // the other's, and what was ours of that one
	require.NotContains(t, fields, keys.GroupField("b"))

	again := locktest.Take(t, locktest.Open(t, server.Addr()).LockGroup(name).Of("a"))
	require.NoError(t, again.Err(), "its holder has no lease")
	require.NoError(t, again.Unlock(t.Context()))
}

func TestAGroupThatCannotBeUsedIsRefused(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := locktest.Open(t, proxy.Addr())
	proxy.ResetLog()
	_, err := c.LockGroup("").Lock(t.Context(), "a")
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	_, err = c.LockGroup("a").Lock(t.Context())
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	require.ErrorContains(t, err, "no values")
	_, err = c.LockGroup("a").Of("b").TryLock(t.Context(), lock.WithLease(1))
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	_, err = c.LockGroup("a").Lock(nil, "b") //lint:ignore SA1012 nil is what is tested
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	require.Empty(t, sent(proxy))

	name := redistest.Name(t)
	hold := locktest.Take(t, locktest.Open(t, redistest.Shared(t).Addr()).Lock(name))
	_, err = c.LockGroup(name).TryLock(t.Context(), "a")
	require.ErrorIs(t, err, lock.ErrWrongKind)
	require.NoError(t, hold.Unlock(t.Context()))
}

func groupScript(t testing.TB, name, key string) redistest.Match {
	t.Helper()
	body, err := os.ReadFile("lua/" + name + ".lua")
	require.NoError(t, err)
	return redistest.All(redistest.MatchScript(string(body)), redistest.Arg(key))
}

func TestALostReplyToAGroupChangesNothing(t *testing.T) {
	t.Parallel()
	for how, opts := range map[string][]redistest.DropOption{"cut": nil, "silent": {redistest.Silent()}} {
		for _, of := range []string{"group_acquire", "group_release", "group_renew", "bury"} {
			t.Run(of+" "+how, func(t *testing.T) {
				t.Parallel()
				server := redistest.Shared(t)
				proxy := redistest.NewProxy(t, server.Addr())
				name := redistest.Name(t)
				g := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second)).LockGroup(name)
				key := name
				if of == "bury" {
					key = keys.Tombstones(name)
					proxy.DropReply(groupScript(t, "group_acquire", name), 1, opts...)
				}
				drop := proxy.DropReply(groupScript(t, of, key), 1, opts...)
				hold := locktest.Take(t, g.Of("a", "b"))
				fields := requireGroup(t, server.Client(t), name, 6)
				if of == "group_renew" {
					require.NoError(t, hold.Extend(locktest.Bounded(t), time.Minute))
				}
				for field, count := range fields {
					if strings.HasSuffix(field, ":lock_count") {
						require.Equal(t, "1", count)
					}
				}
				require.NoError(t, hold.Err())
				require.NoError(t, hold.Unlock(t.Context()))
				drop.Await(t)
				requireGroup(t, server.Client(t), name, 0)
			})
		}
	}
}

// An acquire that arrives when its caller has gone takes nothing.
func TestALateAcquireOfAGroupTakesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	name := redistest.Name(t)
	g := locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second)).LockGroup(name)
	locktest.RequireFree(t, g.Of("a"))
	late := proxy.HoldRequest(groupScript(t, "group_acquire", name))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { late.Await(t); cancel() }()
	_, err := g.Lock(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
	proxy.AwaitCount(t, groupScript(t, "bury", keys.Tombstones(name)), 1)
	late.Release()
	locktest.NothingLeft(t, server.Client(t), name)
	locktest.RequireFree(t, g.Of("a"))
}

func TestRandomValuesOfAGroupExclude(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	until := time.Now().Add(redistest.Span(t, 2*time.Second, 20*time.Second))
	var inside [6]int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 3 {
		g := locktest.Open(t, server.Addr()).LockGroup(name)
		for range 4 {
			all.Go(func() {
				for time.Now().Before(until) {
					mine := rand.Perm(6)[:1+rand.IntN(3)]
					var of []string
					for _, i := range mine {
						of = append(of, fmt.Sprint(i))
					}
					enter := func(by int) {
						mu.Lock()
						defer mu.Unlock()
						for _, i := range mine {
							if inside[i] += by; inside[i] > 1 {
								t.Errorf("two are in %d", i)
							}
						}
					}
					if err := lock.Do(locktest.Bounded(t), g.Of(of...), func(context.Context) error { enter(1); enter(-1); return nil }); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	requireGroup(t, server.Client(t), name, 0)
}

func TestAHoldOfAGroupEndsBeforeItsTimeWhenTheServerFallsSilent(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	name := redistest.Name(t)
	hold := locktest.Take(t, locktest.Open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second)).LockGroup(name).Of("a", "b"))
	work := hold.Context(t.Context())
	proxy.BlackHole()
	trusted := locktest.LastTrust(hold, work)
	second := locktest.Take(t, locktest.Open(t, server.Addr()).LockGroup(name).Of("b", "c"))
	taken := time.Now()
	locktest.Ended(t, "the end of the hold", work.Done())
	require.True(t, trusted().Before(taken))
	proxy.Restore()
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	require.NoError(t, second.Err())
	require.NoError(t, second.Unlock(t.Context()))
	redistest.Eventually(t, func() bool {
		n, err := server.Client(t).Do(t.Context(), server.Client(t).B().Exists().Key(name).Build()).AsInt64()
		return err == nil && n == 0
	}, soon, 50*time.Millisecond)
}

func TestTheACLOfTheDocsIsEnoughForAGroup(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	user := redistest.UserOn(t, server, "../docs/redis.md")
	proxy := redistest.NewProxy(t, server.Addr())
	c, err := rueidisson.New(rueidis.ClientOption{
		InitAddress: []string{proxy.Addr()}, Username: "orders", Password: "password", DisableCache: true, ForceSingleClient: true,
	}, rueidisson.WithWatchdogTimeout(9*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	lost := proxy.DropReply(groupScript(t, "group_acquire", "orders"), 1)
	hold := locktest.Take(t, c.LockGroup("orders").Of("a")) // and its unlock is a give-back, with a tombstone
	lost.Await(t)
	require.NoError(t, hold.Extend(t.Context(), time.Minute))
	locktest.RequireBusy(t, locktest.Open(t, server.Addr()).LockGroup("orders").Of("a", "b"))
	require.NoError(t, hold.Unlock(t.Context()))
	locktest.RequireFree(t, c.LockGroup("orders").Of("a"))
	user.NothingDenied(t)
}
