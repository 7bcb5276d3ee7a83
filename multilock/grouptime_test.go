package multilock_test

import (
	"context"
	"strconv"
	"strings"
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

// groupEnd is when the first of the values of a group ends by what the server has.
func groupEnd(t testing.TB, raw rueidis.Client, name string) (end time.Time) {
	t.Helper()
	fields, err := raw.Do(context.Background(), raw.B().Hgetall().Key(name).Build()).AsStrMap()
	require.NoError(t, err)
	for field, at := range fields {
		if !strings.HasSuffix(field, ":expire_time") {
			continue
		}
		ms, err := strconv.ParseInt(at, 10, 64)
		require.NoError(t, err)
		if one := time.UnixMilli(ms); end.IsZero() || one.Before(end) {
			end = one
		}
	}
	require.False(t, end.IsZero(), "nobody holds a value of the group")
	return end
}

// A request of a group contains the time of its client. The server refuses it for a
// while, and the same bytes are sent again: the lease ends at what was written, not
// at what the last send would have said.
func TestGroupTrustsNoLongerThanWhatItWrote(t *testing.T) {
	t.Parallel()
	const long = 1200 * time.Millisecond // beyond the margin of the leases below
	take := func(t *testing.T, of lock.Locker, refused func(func())) (hold *lock.Hold) {
		refused(func() {
			var err error
			hold, err = of.Lock(locktest.Bounded(t), lock.WithLease(6*time.Second))
			require.NoError(t, err)
		})
		return hold
	}
	extend := func(t *testing.T, of lock.Locker, refused func(func())) *lock.Hold {
		hold, err := of.Lock(locktest.Bounded(t), lock.WithLease(6*time.Second))
		require.NoError(t, err)
		refused(func() { require.NoError(t, hold.Extend(locktest.Bounded(t), 12*time.Second)) })
		return hold
	}
	for title, of := range map[string]struct {
		script string
		opts   []rueidisson.Option
		hold   func(t *testing.T, of lock.Locker, refused func(func())) *lock.Hold
	}{
		"acquire":       {"group_acquire", nil, take},
		"acked acquire": {"group_acquire", []rueidisson.Option{rueidisson.WithReplicaAcks(1, time.Second)}, take},
		"extend":        {"group_renew", nil, extend},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			raw, proxy, name := server.Client(t), redistest.NewProxy(t, server.Addr()), redistest.Name(t)
			if of.opts != nil {
				redistest.Start(t, redistest.Config("replicaof", "127.0.0.1", strconv.Itoa(server.Port())))
				redistest.Eventually(t, func() bool {
					info := redistest.Do(t, raw, "INFO", "replication")
					said, _ := info.ToString()
					return strings.Contains(said, "state=online")
				}, soon, 10*time.Millisecond, "the replica does not come")
			}
			c := locktest.Open(t, proxy.Addr(), append(of.opts, rueidisson.WithWatchdogTimeout(12*time.Second))...)
			script := groupScript(t, of.script, name)
			hold := of.hold(t, c.LockGroup(name).Of("a", "b"), func(ask func()) {
				before := proxy.Count(script)
				redistest.Do(t, raw, "CONFIG", "SET", "min-replicas-to-write", "9")
				var taken sync.WaitGroup
				taken.Go(func() {
					proxy.AwaitCount(t, script, before+2) // one was refused
					<-time.After(long)                    // what is tested
					redistest.Do(t, raw, "CONFIG", "SET", "min-replicas-to-write", "0")
				})
				ask()
				taken.Wait()
			})
			require.False(t, hold.Deadline().After(groupEnd(t, raw, name)), "it is trusted for %v longer than the server keeps it",
				hold.Deadline().Sub(groupEnd(t, raw, name)))
			require.NoError(t, hold.Err())
			require.NoError(t, hold.Unlock(locktest.Bounded(t)))
		})
	}
}
