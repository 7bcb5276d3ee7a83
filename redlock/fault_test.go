package redlock_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/redlock"
)

// Each reply of a member is lost once: the state afterwards is that of one call.
func TestALostReplyOfARedMemberChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	for _, of := range []string{"acquire", "release", "uptime"} {
		for how, opts := range map[string][]redistest.DropOption{"cut": nil, "silent": {redistest.Silent()}} {
			f.name = redistest.Name(t)
			// Every server is old enough after a second, and is asked.
			guarded := f.through(rueidisson.WithWatchdogTimeout(9 * time.Second)).red(redlock.WithRestartGuard(time.Nanosecond))
			require.NoError(t, locktest.Take(t, guarded).Unlock(t.Context()))
			drop := f.proxies[1].DropReply(redScript(t, of, f.name), 1, opts...)
			hold := locktest.Take(t, guarded)
			f.heldOn(5, everyServer...)
			require.NoError(t, hold.Err())
			require.NoError(t, hold.Unlock(t.Context()), "%s %s", of, how)
			t.Logf("%s, %s", of, how)
			drop.Await(t)
			f.heldOn(0, everyServer...)
		}
	}
}

// redScript is script for those of this package, too.
func redScript(t testing.TB, name, key string) redistest.Match {
	t.Helper()
	if name != "uptime" {
		return script(t, name, key)
	}
	body, err := os.ReadFile("lua/uptime.lua")
	require.NoError(t, err)
	return redistest.MatchScript(string(body))
}

// What the guard asks goes behind the acquire, in its round trip.
func TestTheGuardCostsNoRoundTrip(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	// A member that is slow is not left out: there is one round.
	guarded := f.through().red(redlock.WithRestartGuard(time.Nanosecond), redlock.WithMemberTimeout(soon))
	hold := locktest.Take(t, guarded) // it waits until three servers are a second old
	f.heldOn(5, everyServer...)
	require.NoError(t, hold.Unlock(t.Context()))
	f.heldOn(0, everyServer...) // a member whose answer came after the Unlock is released then
	for _, p := range f.proxies {
		p.ResetLog()
	}
	hold = locktest.Take(t, guarded)
	f.heldOn(5, everyServer...)
	for _, p := range f.proxies {
		p.AwaitCount(t, redScript(t, "uptime", f.name), 1) // a member is held before it has said its age
		tried, asked := 0, 0
		for _, cmd := range p.Log() {
			switch {
			case redScript(t, "uptime", f.name)(cmd):
				asked++
			case redScript(t, "acquire", f.name)(cmd):
				tried++
			}
		}
		require.Equal(t, 1, tried)
		require.Equal(t, 1, asked, "the acquire has its question beside it, and there are no others: %q", p.Log())
	}
	require.NoError(t, hold.Unlock(t.Context()))
	f.heldOn(0, everyServer...)

	// Behind the acquire that counts, also where the server has to learn it first.
	for i, s := range f.servers {
		s.FlushScripts()
		f.proxies[i].ResetLog()
	}
	hold = locktest.Take(t, guarded)
	f.heldOn(5, everyServer...)
	for _, p := range f.proxies {
		acquired, asked := -1, -1
		redistest.Eventually(t, func() bool {
			acquired, asked = -1, -1
			for i, cmd := range p.Log() {
				switch keys := len(cmd) - 3; {
				case !strings.HasPrefix(strings.ToUpper(cmd[0]), "EVAL"):
				case keys == 1:
					asked = i
				default:
					acquired = i
				}
			}
			return asked > acquired
		}, soon, time.Millisecond)
		require.GreaterOrEqual(t, acquired, 0)
	}
	require.NoError(t, hold.Unlock(t.Context()))
}

// holdRedAndLook is holdAndLook with a red lock.
func holdRedAndLook(p *redistest.Parent) {
	var locks []lock.Locker
	for _, addr := range strings.Split(os.Getenv("SERVERS"), ",") {
		c, err := connect(addr, rueidisson.WithWatchdogTimeout(time.Second))
		if err != nil {
			p.Say("failed %v", err)
			return
		}
		defer func() { _ = c.Close(context.Background()) }()
		locks = append(locks, c.Lock(os.Getenv("NAME")))
	}
	hold, err := redlock.New(locks...).With(redlock.WithRestartGuard(0), redlock.WithMemberTimeout(time.Second)).Lock(context.Background())
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
}

func TestAPausedHolderOfARedLockLearnsThatItHasLostIt(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	var addrs []string
	for _, s := range f.servers {
		addrs = append(addrs, s.Addr())
	}
	child := redistest.StartChild(t, "holder of a red lock", "SERVERS="+strings.Join(addrs, ","), "NAME="+f.name)
	child.Await("held")
	f.heldOn(5, everyServer...)
	child.Stop()
	hold := locktest.Take(t, f.direct().red())
	taken := time.Now()
	child.Cont()
	stood, err := strconv.ParseInt(strings.TrimPrefix(child.Await("stood "), "stood "), 10, 64)
	require.NoError(t, err)
	require.Less(t, stood, taken.UnixNano())
	require.Contains(t, child.Await("unlock "), lock.ErrLost.Error())
	require.Zero(t, child.Wait())
	require.NoError(t, hold.Err())
	require.NoError(t, hold.Unlock(t.Context()), "what the other gave back was not ours")
}

// The user of the page may do all that the guard needs.
func TestTheACLOfTheDocsIsEnoughForARedLock(t *testing.T) {
	t.Parallel()
	var locks []lock.Locker
	var users []redistest.PageUser
	for range 3 {
		user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
		c, err := rueidisson.New(user.Option())
		require.NoError(t, err)
		t.Cleanup(func() { locktest.Close(c) })
		users, locks = append(users, user), append(locks, c.Lock("orders:1"))
	}
	red := redlock.New(locks...).With(redlock.WithRestartGuard(time.Nanosecond), redlock.WithMemberTimeout(soon))
	require.NoError(t, locktest.Take(t, red).Unlock(t.Context()))
	for _, user := range users {
		user.NothingDenied(t)
		redistest.Do(t, user.Admin, "ACL", "SETUSER", "orders", "-info")
	}
	_, err := red.TryLock(locktest.Bounded(t))
	require.ErrorContains(t, err, "WithRestartGuard", "what cannot be asked is no reason to trust")
	require.NotErrorIs(t, err, lock.ErrNotAcquired)
	for _, user := range users {
		locktest.NothingLeft(t, user.Admin, "orders:1")
	}
	locktest.RequireFree(t, red.With(redlock.WithRestartGuard(0)))
}

// A server that does not tell its uptime is told apart from one that is young.
func TestAServerThatDoesNotTellItsUptimeIsNamed(t *testing.T) {
	t.Parallel()
	var locks []lock.Locker
	for range 3 {
		c, err := rueidisson.New(redistest.Miniredis(t).ClientOption())
		require.NoError(t, err)
		t.Cleanup(func() { locktest.Close(c) })
		locks = append(locks, c.Lock("a"))
	}
	_, err := redlock.New(locks...).With(redlock.WithMemberTimeout(soon)).Lock(locktest.Bounded(t))
	require.ErrorContains(t, err, "WithRestartGuard")
	locktest.RequireFree(t, redlock.New(locks...).With(redlock.WithRestartGuard(0), redlock.WithMemberTimeout(soon)))
}
