package redissonlimiter_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// These are states that Redisson itself brings about and does not cope with.

func (r *rig) store(value int64) {
	r.t.Helper()
	r.do("SET", r.valueKey(), strconv.FormatInt(value, 10))
}

func (r *rig) millis() int64 { return r.clock.now / 1000 }

func TestHealsPermitsThatASecondRunOfJavaTook(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(5, time.Hour))
	r.store(3)
	r.allowed(5) // Java fails here: what is missing is in no entry
	require.EqualValues(t, 0, r.value(r.valueKey()))

	r.set(atMost(5, time.Hour))
	r.store(3)
	r.available(5)
	require.EqualValues(t, 5, r.value(r.valueKey()))

	r.set(atMost(5, time.Hour))
	r.put(r.logKey(), r.millis(), 2)
	r.store(1)
	require.NoError(t, r.Release(t.Context(), 2))
	require.EqualValues(t, 5, r.value(r.valueKey()))

	r.set(atMost(5, time.Hour))
	r.put(r.logKey(), r.millis()-1000, 2)
	r.store(1) // of the 3 that are there
	d := r.take(4)
	require.False(t, d.Allowed)
	require.EqualValues(t, 3, d.Remaining)
	require.Equal(t, time.Hour-time.Second, d.RetryAfter)
	r.allowed(3)
}

func TestBoundsWhatJavaCountedTwice(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(5, time.Hour))
	r.store(10) // after a release and a look in Java
	r.available(5)
	r.allowed(5)
	r.refused(1)

	r.set(atMost(5, time.Hour))
	r.put(r.logKey(), r.millis(), 3)
	r.store(8)
	r.allowed(2)
	r.refused(1)

	r.set(atMost(5, time.Hour))
	r.put(r.logKey(), r.millis(), 3)
	r.store(8)
	require.NoError(t, r.Release(t.Context(), 1))
	require.EqualValues(t, 3, r.value(r.valueKey()))
}

// Java logs a request of no permits, too.
func TestPassesOverEntriesOfNothing(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(3, time.Hour))
	for range 5 {
		r.put(r.logKey(), r.millis(), 0)
		r.pass(time.Second)
		r.put(r.logKey(), r.millis(), 0)
		r.put(r.logKey(), r.millis(), 0)
	}
	r.allowed(3)
	require.Equal(t, time.Hour, r.take(1).RetryAfter)
	require.NoError(t, r.Release(t.Context(), 2))
	r.available(2)
}

func TestKeepsWhatJavaReleased(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(5, time.Hour))
	r.put(r.logKey(), r.millis(), 5)
	r.store(3) // Java took 5 and released 3; its log still has them
	r.available(3)
	require.NoError(t, r.Release(t.Context(), 1))
	r.available(4)
	r.allowed(4)
	r.refused(1)
}

func TestCountsTheLogWhereTheValueWasEvicted(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(5, time.Hour))
	r.allowed(4)
	r.do("DEL", r.valueKey())
	r.available(1)
	r.refused(2)
	r.do("DEL", r.valueKey())
	r.allowed(1)
	r.do("DEL", r.valueKey())
	require.NoError(t, r.Release(t.Context(), 2))
	require.EqualValues(t, 2, r.value(r.valueKey()))
}

func TestNamesTheTimeOfAllPermitsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(300, time.Hour))
	for range 300 {
		r.allowed(1)
		r.pass(time.Second)
	}
	for _, n := range []int64{1, 2, 99, 100, 101, 250, 300} {
		d := r.take(n)
		require.False(t, d.Allowed)
		require.Equal(t, time.Hour-time.Duration(300-n+1)*time.Second, d.RetryAfter, "%d permits", n)
		require.Equal(t, time.Hour-time.Second, d.ResetAfter)
	}
}

func TestReadsEntriesOfOlderRedissons(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(5, time.Hour))
	at := strconv.FormatInt(r.millis(), 10)
	r.do("ZADD", r.logKey(), at, "\x08random__\x02\x00\x00\x00") // 3.17
	r.do("ZADD", r.logKey(), at, "\x08\x00\x00\x00\x00\x00\x00\x00random__\x01\x00\x00\x00")
	r.available(2)
	r.pass(time.Hour)
	r.allowed(5)
}

// An entry of a machine whose clock is ahead counts until its own time is over.
func TestSaysHowLongAnEntryOfTheFutureCounts(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(atMost(5, time.Minute))
	r.put(r.logKey(), r.millis()+10_000, 5)
	r.store(0)
	require.Equal(t, 70*time.Second, r.take(1).RetryAfter)
	r.pass(70 * time.Second)
	r.allowed(5)
}

func TestForgetsManyExpiredEntries(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	const most = 2500
	r.set(atMost(most, time.Hour))
	for range most {
		r.put(r.logKey(), r.millis(), 1)
	}
	r.store(0)
	r.refused(1)
	r.pass(time.Hour)
	r.allowed(most)
	require.Len(t, r.entries(r.logKey()), 1)
	r.do("DEL", r.valueKey())
	r.refused(1)
}

func TestSetRateWithoutKeepAliveLastsForEver(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redissonlimiter.SetOption{
		"state forgotten": nil,
		"state kept":      {redissonlimiter.WithKeepState()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.set(redissonlimiter.Rate{Permits: 5, Interval: time.Second, KeepAlive: time.Hour})
			r.allowed(2)
			r.set(atMost(5, time.Hour), opts...)
			r.allowed(1)
			for _, key := range []string{r.name, r.valueKey(), r.logKey()} {
				require.EqualValues(t, -1, r.ttl(key), key)
			}
		})
	}
}

func TestKeysOfOneClientEndAnIntervalAfterTheirLastUse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ keep, setting, want time.Duration }{
		"no end of the setting's":          {0, 0, time.Hour},
		"the setting ends before":          {0, time.Minute, time.Hour},
		"the setting ends after":           {0, 3 * time.Hour, 3 * time.Hour},
		"a keep-alive":                     {2 * time.Hour, 0, 2 * time.Hour},
		"a keep-alive, the setting's end":  {2 * time.Hour, time.Minute, 2 * time.Hour},
		"a keep-alive as long as it takes": {time.Hour, 0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			rate := atMostEach(5, time.Hour)
			rate.KeepAlive = c.keep
			r.set(rate)
			if c.setting > 0 {
				r.do("PEXPIRE", r.name, strconv.FormatInt(c.setting.Milliseconds(), 10))
			}
			for _, use := range []func(){
				func() { r.allowed(5) },
				func() { r.refused(1) },
				func() { require.NoError(t, r.Release(t.Context(), 1)) },
				func() { r.available(1) },
			} {
				use()
				require.InDelta(t, c.want.Milliseconds(), r.ttl(r.ownValueKey()), 10_000)
				require.InDelta(t, c.want.Milliseconds(), r.ttl(r.ownLogKey()), 10_000)
			}
		})
	}
}

func TestLookAndUndoLeaveTheEndOfKeysAsItIs(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	r.set(redissonlimiter.Rate{Permits: 5, Interval: time.Second, KeepAlive: time.Hour})
	r.allowed(2)
	r.do("PEXPIRE", r.valueKey(), "600000")
	r.pass(time.Second)
	r.available(5)
	require.EqualValues(t, 5, r.value(r.valueKey()))
	require.InDelta(t, 600_000, r.ttl(r.valueKey()), 10_000)
	require.Equal(t, "1", r.runTake("a", 2))
	r.do("PEXPIRE", r.valueKey(), "600000")
	require.Equal(t, "1", r.runUndo("a", 2))
	require.EqualValues(t, 5, r.value(r.valueKey()))
	require.InDelta(t, 600_000, r.ttl(r.valueKey()), 10_000)
}

func TestKeepsTheStateThatIsStillCounted(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	rate := atMostEach(5, time.Hour)
	r.set(rate)
	r.allowed(2)
	r.pass(30 * time.Minute)
	r.allowed(1)
	r.set(atMostEach(9, 20*time.Minute), redissonlimiter.WithKeepState())
	require.EqualValues(t, 8, r.value(r.ownValueKey()))
	require.Len(t, r.entries(r.ownLogKey()), 1)
	for _, key := range []string{r.ownValueKey(), r.ownLogKey()} {
		require.InDelta(t, (20 * time.Minute).Milliseconds(), r.ttl(key), 10_000, key)
	}
}

func TestLookLeavesNoKeyBehind(t *testing.T) {
	t.Parallel()
	for _, rate := range []redissonlimiter.Rate{atMost(5, time.Hour), atMostEach(5, time.Hour)} {
		r := newRig(t)
		r.set(rate)
		r.available(5)
		_, err := r.Peek(t.Context())
		require.NoError(t, err)
		for _, key := range []string{r.valueKey(), r.logKey(), r.ownValueKey(), r.ownLogKey()} {
			require.False(t, r.exists(key), key)
		}
	}
}

// Redisson leaves the counts of the other clients as they are.
func TestClientsFollowARateThatAnotherOneSet(t *testing.T) {
	t.Parallel()
	r := standingRig(t)
	other := r.beside()
	r.set(atMostEach(5, time.Hour))
	other.allowed(3)
	r.set(atMostEach(8, time.Hour))
	other.available(5)
	other.allowed(5)
	r.set(atMostEach(3, time.Hour))
	other.available(0)
	other.refused(1)
	other.pass(time.Hour)
	r.clock.set(other.clock.now)
	other.allowed(3)
	other.refused(1)
	// A rate that nobody has seen yet is no change.
	third := r.beside()
	third.allowed(3)
	third.refused(1)
}
