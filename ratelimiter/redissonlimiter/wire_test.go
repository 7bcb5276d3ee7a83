package redissonlimiter_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// rigOnEveryServer runs a test on each server that there is, and on the one that
// runs inside the process.
func rigOnEveryServer(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, rigOn(t, redistest.Shared(t, redistest.Version(version)).Client(t)))
		})
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		c, err := rueidis.NewClient(redistest.Miniredis(t).ClientOption())
		require.NoError(t, err)
		t.Cleanup(c.Close)
		test(t, rigOn(t, c))
	})
}

func TestRateIsStoredAsJavaStoresIt(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		created, err := r.TrySetRate(t.Context(), atMost(5, time.Second))
		require.NoError(t, err)
		require.True(t, created)
		want := map[string]string{"rate": "5", "interval": "1000", "type": "0", "keepAliveTime": "0"}
		require.Equal(t, want, r.setting())
		require.EqualValues(t, -1, r.ttl(r.name))
		require.False(t, r.exists(r.valueKey()), "permits are counted from the first request on")

		created, err = r.TrySetRate(t.Context(), atMostEach(7, time.Minute))
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, want, r.setting())

		keep := redissonlimiter.Rate{Permits: 7, Interval: time.Minute, Type: ratelimiter.PerClient, KeepAlive: time.Hour}
		r.set(keep)
		require.Equal(t, map[string]string{"rate": "7", "interval": "60000", "type": "1", "keepAliveTime": "3600000"}, r.setting())
		require.InDelta(t, time.Hour.Milliseconds(), r.ttl(r.name), 5000)
		got, err := r.Rate(t.Context())
		require.NoError(t, err)
		require.Equal(t, keep, got)
	})
}

func TestTakeWritesValueAndLog(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(atMost(5, time.Hour))
		before := r.serverMillis()
		d := r.take(2)
		after := r.serverMillis()
		require.True(t, d.Allowed)
		require.EqualValues(t, 5, d.Limit)
		require.EqualValues(t, 3, d.Remaining)
		require.Zero(t, d.RetryAfter)
		require.InDelta(t, time.Hour, d.ResetAfter, float64(time.Minute))
		require.Equal(t, ratelimiter.Rate{N: 5, Per: time.Hour, Burst: 5}, d.Rate)
		require.Equal(t, "3", r.text(r.valueKey()))
		log := r.entries(r.logKey())
		require.Len(t, log, 1)
		require.Len(t, log[0].member, 21)
		require.Equal(t, "\x10", log[0].member[:1])
		require.Equal(t, "\x02\x00\x00\x00", log[0].member[17:])
		require.GreaterOrEqual(t, log[0].at, before)
		require.LessOrEqual(t, log[0].at, after)
		require.EqualValues(t, -1, r.ttl(r.valueKey()))
		require.EqualValues(t, -1, r.ttl(r.logKey()))

		d = r.take(4)
		require.False(t, d.Allowed)
		require.EqualValues(t, 3, d.Remaining)
		require.InDelta(t, time.Hour, d.RetryAfter, float64(time.Minute))
		require.Len(t, r.entries(r.logKey()), 1, "a refusal takes nothing")
		require.Equal(t, "3", r.text(r.valueKey()))
	})
}

func (r *rig) text(key string) string {
	r.t.Helper()
	msg := r.do("GET", key)
	text, err := msg.ToString()
	require.NoError(r.t, err)
	return text
}

func TestEntriesDiffer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.set(atMost(1_000_000, time.Hour))
	for n := range int64(50) {
		r.allowed(1 + n*n*n/7)
	}
	seen, sum := map[string]bool{}, int64(0)
	for _, g := range r.entries(r.logKey()) {
		require.False(t, seen[g.member[1:17]])
		seen[g.member[1:17]] = true
		sum += g.permits
	}
	require.Len(t, seen, 50)
	require.EqualValues(t, 1_000_000-sum, r.value(r.valueKey()))
}

func TestPermitsComeBackWhenTheirEntriesExpire(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		const interval = 2 * time.Second
		r.set(atMost(3, interval))
		r.allowed(3)
		d := r.take(1)
		require.False(t, d.Allowed)
		require.LessOrEqual(t, d.RetryAfter, interval)
		require.NoError(t, r.Wait(t.Context()))
		require.Len(t, r.entries(r.logKey()), 1, "the old entry has left the log")
		require.Equal(t, "2", r.text(r.valueKey()))
	})
}

func TestAvailable(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(atMost(5, time.Hour))
		r.available(5)
		r.allowed(2)
		r.available(3)
		d, err := r.Peek(t.Context())
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.EqualValues(t, 3, d.Remaining)
		r.allowed(3)
		d, err = r.Peek(t.Context())
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.Positive(t, d.RetryAfter)
		r.available(0)
		require.Len(t, r.entries(r.logKey()), 2)
	})
}

func TestReleaseLeavesTheLogInStep(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(atMost(5, time.Hour))
		r.allowed(2)
		r.allowed(3)
		require.NoError(t, r.Release(t.Context(), 3))
		require.Equal(t, "3", r.text(r.valueKey()))
		log := r.entries(r.logKey())
		require.Len(t, log, 1)
		require.EqualValues(t, 2, log[0].permits)
		require.Len(t, log[0].member, 21)
		require.NoError(t, r.Release(t.Context(), 100), "more than was taken")
		require.Equal(t, "5", r.text(r.valueKey()))
		require.Empty(t, r.entries(r.logKey()))
		r.allowed(5)
		r.refused(1)
	})
}

func TestSetRateForgets(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(atMost(5, time.Hour))
		r.allowed(5)
		r.set(atMost(7, time.Hour))
		require.False(t, r.exists(r.valueKey()))
		require.False(t, r.exists(r.logKey()))
		r.available(7)
	})
}

func TestSetRateWithKeepState(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(atMost(5, time.Hour))
		r.allowed(4)
		r.set(atMost(7, time.Hour), redissonlimiter.WithKeepState())
		require.Equal(t, "3", r.text(r.valueKey()))
		require.Len(t, r.entries(r.logKey()), 1)
		r.set(atMost(2, time.Hour), redissonlimiter.WithKeepState())
		r.available(0)
		r.refused(1)
		r.set(atMostEach(2, time.Hour), redissonlimiter.WithKeepState())
		require.False(t, r.exists(r.valueKey()), "the type has changed")
		require.False(t, r.exists(r.logKey()))
		r.allowed(2)
		r.set(atMost(2, time.Hour), redissonlimiter.WithKeepState())
		require.False(t, r.exists(r.ownValueKey()))
		require.False(t, r.exists(r.ownLogKey()))
		r.set(atMost(2, time.Hour), redissonlimiter.WithKeepState())
		r.allowed(2)
	})
}

func TestUpdateRateWantsOne(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		updated, err := r.UpdateRate(t.Context(), atMost(5, time.Hour))
		require.NoError(t, err)
		require.False(t, updated)
		require.False(t, r.exists(r.name))
		r.set(atMost(5, time.Hour))
		r.allowed(5)
		updated, err = r.UpdateRate(t.Context(), atMost(6, time.Hour), redissonlimiter.WithKeepState())
		require.NoError(t, err)
		require.True(t, updated)
		r.available(1)
	})
}

func TestDelete(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		deleted, err := r.Delete(t.Context())
		require.NoError(t, err)
		require.False(t, deleted)
		for _, rate := range []redissonlimiter.Rate{atMost(5, time.Hour), atMostEach(5, time.Hour)} {
			r.set(rate)
			r.allowed(1)
			deleted, err = r.Delete(t.Context())
			require.NoError(t, err)
			require.True(t, deleted)
			for _, key := range []string{r.name, r.valueKey(), r.logKey(), r.ownValueKey(), r.ownLogKey()} {
				require.False(t, r.exists(key), key)
			}
		}
		_, err = r.Take(t.Context(), 1)
		require.ErrorIs(t, err, ratelimiter.ErrNoRate)
	})
}

func TestPerClient(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(atMostEach(3, time.Hour))
		other := r.beside()
		for _, one := range []*rig{r, other} {
			d := one.take(3)
			require.True(t, d.Allowed)
			require.Equal(t, ratelimiter.PerClient, d.Rate.Type)
			one.refused(1)
			require.Equal(t, "0", one.text(one.ownValueKey()))
			require.Len(t, one.entries(one.ownLogKey()), 1)
		}
		require.False(t, r.exists(r.valueKey()))
		require.NoError(t, r.Release(t.Context(), 1))
		r.available(1)
		other.available(0)
	})
}

func TestKeepAlive(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(redissonlimiter.Rate{Permits: 3, Interval: time.Minute, KeepAlive: time.Hour})
		near := func(key string, d time.Duration) {
			t.Helper()
			require.InDelta(t, d.Milliseconds(), r.ttl(key), 10_000, key)
		}
		shorten := func() {
			for _, key := range []string{r.name, r.valueKey(), r.logKey()} {
				r.do("PEXPIRE", key, "600000")
			}
		}
		near(r.name, time.Hour)
		r.allowed(3)
		for _, use := range []func(){
			func() { r.refused(1) },
			func() { require.NoError(t, r.Release(t.Context(), 1)) },
		} {
			shorten()
			use()
			for _, key := range []string{r.name, r.valueKey(), r.logKey()} {
				near(key, time.Hour)
			}
		}
		shorten()
		r.available(1)
		near(r.name, 10*time.Minute)
	})
}

func TestKeysEndWithTheirSetting(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.set(atMost(3, time.Second))
		r.do("PEXPIRE", r.name, "600000")
		r.allowed(1)
		for _, key := range []string{r.valueKey(), r.logKey()} {
			require.InDelta(t, 600_000, r.ttl(key), 10_000)
		}
	})
}

func TestOfANameWithBraces(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		r.name = "a{" + r.name + "}c"
		r.Limiter = redissonlimiter.New(r.e, r.name)
		r.set(atMost(3, time.Hour))
		r.allowed(2)
		require.Equal(t, "1", r.text(r.name+":value"))
		require.Len(t, r.entries(r.name+":permits"), 1)
	})
}

func TestUsesTheMappedName(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t), func(c *core.Config) {
		c.MapName = func(name string) string { return "app:" + name }
	})
	require.Equal(t, r.name, r.Name())
	r.set(atMost(3, time.Hour))
	r.allowed(2)
	r.name = "app:" + r.name
	require.Equal(t, "3", r.setting()["rate"])
	require.Equal(t, "1", r.text(r.valueKey()))
}

// Numbers above 10^14 would lose their last digits as Lua writes them.
func TestCountsLargeNumbersExactly(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		const most = 1<<53 - 1
		r.set(atMost(most, time.Hour))
		d := r.take(1<<32 - 1)
		require.True(t, d.Allowed)
		require.EqualValues(t, most-(1<<32-1), d.Remaining)
		require.EqualValues(t, most, d.Limit)
		require.Equal(t, strconv.FormatInt(most-(1<<32-1), 10), r.text(r.valueKey()))
		require.NoError(t, r.Release(context.Background(), 1))
		r.available(most - (1<<32 - 2))
	})
}
