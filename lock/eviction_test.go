package lock_test

import (
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
)

// fill writes keys without a time to live until gone says that it is enough.
// A server that evicts only keys that have one refuses them when it is full.
func fill(t testing.TB, c rueidis.Client, gone func() bool) {
	t.Helper()
	ballast := strings.Repeat("x", 1<<16)
	for i := 0; !gone(); i++ {
		require.Less(t, i, 10_000, "nothing was evicted")
		err := c.Do(t.Context(), c.B().Set().Key("ballast:"+strconv.Itoa(i)).Value(ballast).Build()).Error()
		if err != nil {
			require.ErrorContains(t, err, "OOM")
		}
	}
}

// Nothing can save a hold that the server evicts: its loss says what happened.
func TestAHoldThatWasEvictedIsLostAndTheErrorSaysWhy(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"volatile-lru", "volatile-ttl"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Config("maxmemory", "16mb"), redistest.Config("maxmemory-policy", policy))
			said := make(warnings, 10)
			c := locktest.Open(t, server.Addr(), said.option(), rueidisson.WithWatchdogTimeout(6*time.Second))
			require.Contains(t, <-said, policy)
			for title, end := range map[string]func(l *lock.Lock, hold *lock.Hold) error{
				"a renewal finds it gone": func(_ *lock.Lock, hold *lock.Hold) error {
					<-hold.Lost()
					return hold.Err()
				},
				"the unlock finds it gone": func(_ *lock.Lock, hold *lock.Hold) error { return hold.Unlock(t.Context()) },
			} {
				l := c.Lock(redistest.Name(t))
				hold := acquire(t, l)
				other, raw := locktest.Open(t, server.Addr()).Lock(l.Name()), server.Client(t)
				fill(t, raw, func() bool {
					held, err := other.Locked(t.Context())
					require.NoError(t, err)
					return !held
				})
				err := end(l, hold)
				require.ErrorIs(t, err, lock.ErrLost, title)
				require.ErrorContains(t, err, "maxmemory-policy is "+policy, title)
				require.NoError(t, raw.Do(t.Context(), raw.B().Flushall().Build()).Error())
			}
		})
	}
}

// policies is what a client of that server says about eviction when it is
// made: it has said it, if at all, when New returns.
func policies(t testing.TB, option rueidis.ClientOption) (said []string) {
	t.Helper()
	lines := make(warnings, 10)
	option.DisableCache, option.ForceSingleClient = true, true
	c, err := rueidisson.New(option, lines.option())
	require.NoError(t, err)
	t.Cleanup(func() { locktest.Close(c) })
	hold := acquire(t, c.Lock(redistest.Name(t)))
	require.NoError(t, hold.Unlock(t.Context()))
	for len(lines) > 0 {
		said = append(said, <-lines)
	}
	return said
}

func TestAServerThatEvictsHoldsIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Version(version))
			raw, address := server.Client(t), rueidis.ClientOption{InitAddress: []string{server.Addr()}}
			for policy, evicts := range map[string]bool{
				"noeviction": false, "volatile-lru": true, "volatile-lfu": true, "volatile-random": true, "volatile-ttl": true,
				"allkeys-lru": true, "allkeys-lfu": true, "allkeys-random": true,
			} {
				set := raw.B().ConfigSet().ParameterValue().ParameterValue("maxmemory-policy", policy).Build()
				require.NoError(t, raw.Do(t.Context(), set).Error())
				said := policies(t, address)
				if !evicts {
					require.Empty(t, said, policy)
					continue
				}
				require.Len(t, said, 1, policy)
				require.Contains(t, said[0], "level=WARN")
				require.Contains(t, said[0], "maxmemory-policy="+policy)
				require.Contains(t, said[0], "noeviction")
			}
		})
	}
}

func TestAPolicyThatMayNotBeReadIsNoError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("maxmemory-policy", "volatile-lru"))
	raw := server.Client(t)
	for title, of := range map[string]struct {
		denied []string
		known  bool
	}{
		"CONFIG is denied":           {[]string{"-config"}, true},
		"INFO is denied":             {[]string{"-info"}, true},
		"INFO and CONFIG are denied": {[]string{"-info", "-config"}, false},
	} {
		rules := append([]string{"ACL", "SETUSER", "user", "reset", "on", ">password", "~*", "&*", "+@all"}, of.denied...)
		require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary(rules...).Build()).Error())
		said := policies(t, rueidis.ClientOption{InitAddress: []string{server.Addr()}, Username: "user", Password: "password"})
		require.Equal(t, of.known, len(said) == 1, "%s: %v", title, said)
	}
}

func warnsOfEveryMaster(t *testing.T, cluster *redistest.Cluster) {
	server := cluster.Nodes()[1]
	raw := server.Client(t)
	setPolicy := func(policy string) {
		set := raw.B().ConfigSet().ParameterValue().ParameterValue("maxmemory-policy", policy).Build()
		require.NoError(t, raw.Do(t.Context(), set).Error())
	}
	setPolicy("volatile-ttl")
	defer setPolicy("noeviction")
	said := make(warnings, 10)
	c := openCluster(t, cluster, said.option())
	line := <-said
	require.Contains(t, line, server.Addr()+" volatile-ttl")
	require.Equal(t, 1, strings.Count(line, "127.0.0.1"), "the other masters do not evict")

	name := namesOn(t, cluster, server, 1)[0]
	hold := acquire(t, c.Lock(name))
	_, err := openCluster(t, cluster).Lock(name).ForceUnlock(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, hold.Unlock(t.Context()), "maxmemory-policy is volatile-ttl")
	for len(said) > 0 {
		require.NotContains(t, <-said, "network partition", "its masters have replicas, and stop by themselves")
	}
}
