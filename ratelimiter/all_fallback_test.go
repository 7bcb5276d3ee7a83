package ratelimiter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// silenced are limits with these fallbacks, each after its time, behind a proxy
// that says nothing any more. A fallback of nil is none.
func silenced(t *testing.T, within []time.Duration, fallbacks ...ratelimiter.Fallback) (*ratelimiter.Combined, []*ratelimiter.Limiter, *redistest.Proxy) {
	t.Helper()
	c, p := proxied(t, impatient())
	var members []ratelimiter.Member
	var limiters []*ratelimiter.Limiter
	for i, f := range fallbacks {
		var opts []ratelimiter.Option
		if f != nil {
			opts = append(opts, ratelimiter.WithFallback(within[i], f))
		}
		l := limited(t, c, ratelimiter.PerHour(100), opts...)
		members, limiters = append(members, l), append(limiters, l)
	}
	p.BlackHole()
	return ratelimiter.All(members...), limiters, p
}

var bothShortly = []time.Duration{shortly, shortly}

// fellBack is a decision about all that fallbacks made.
func fellBack(t testing.TB, all *ratelimiter.Combined, n int64) ratelimiter.AllDecision {
	t.Helper()
	d, err := all.Take(t.Context(), n)
	require.NoError(t, err)
	require.True(t, d.Fallback)
	require.Len(t, d.Members, 2)
	require.True(t, d.Members[0].Fallback && d.Members[1].Fallback)
	return d
}

func TestTheFallbacksOfAllHaveToGrant(t *testing.T) {
	t.Parallel()
	local := ratelimiter.Local(ratelimiter.PerHour(5))
	t.Run("open", func(t *testing.T) {
		t.Parallel()
		all, _, _ := silenced(t, bothShortly, ratelimiter.Open, ratelimiter.Open)
		assert.True(t, fellBack(t, all, 100).Allowed)
		ok, err := all.For("a").Allow(t.Context())
		require.NoError(t, err)
		assert.True(t, ok)
	})
	t.Run("one closed", func(t *testing.T) {
		t.Parallel()
		all, _, _ := silenced(t, bothShortly, ratelimiter.Open, ratelimiter.Closed)
		d := fellBack(t, all, 1)
		assert.False(t, d.Allowed)
		assert.True(t, d.Members[0].Allowed)
		assert.Equal(t, d.Members[1].RetryAfter, d.RetryAfter)
		assert.Positive(t, d.RetryAfter)
	})
	t.Run("local and open", func(t *testing.T) {
		t.Parallel()
		for _, f := range [][]ratelimiter.Fallback{{local, ratelimiter.Open}, {ratelimiter.Open, local}} {
			all, _, _ := silenced(t, bothShortly, f...)
			d := fellBack(t, all, 2)
			assert.True(t, d.Allowed)
			assert.EqualValues(t, 3, d.Remaining, "who lets everything through has no number")
			assert.EqualValues(t, 5, d.Limit)
			assert.Equal(t, ratelimiter.PerHour(5), d.Rate)
			d = fellBack(t, all, 4)
			assert.False(t, d.Allowed)
			assert.EqualValues(t, 3, d.Remaining)
		}
	})
	t.Run("local and local", func(t *testing.T) {
		t.Parallel()
		all, limiters, _ := silenced(t, bothShortly, ratelimiter.Local(ratelimiter.PerHour(9)), local)
		d := fellBack(t, all, 3)
		require.True(t, d.Allowed)
		assert.EqualValues(t, 6, d.Members[0].Remaining)
		assert.EqualValues(t, 2, d.Members[1].Remaining)
		for range 5 { // the first would grant, and keeps its tokens
			d = fellBack(t, all, 3)
			require.False(t, d.Allowed)
			assert.True(t, d.Members[0].Allowed)
			assert.EqualValues(t, 6, d.Members[0].Remaining)
			assert.EqualValues(t, 2, d.Members[1].Remaining)
			assert.Equal(t, d.Members[1].RetryAfter, d.RetryAfter)
		}
		_, err := all.Take(t.Context(), 6) // more than the second ever has
		require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
		require.ErrorContains(t, err, limiters[1].String()+": ")
		d = fellBack(t, all, 2)
		require.True(t, d.Allowed)
		assert.EqualValues(t, 4, d.Members[0].Remaining)
	})
}

// The shortest patience counts: a member has to have its answer by then.
func TestTheFallbacksOfAllComeAfterTheShortestTime(t *testing.T) {
	t.Parallel()
	for _, within := range [][]time.Duration{{never, shortly}, {shortly, never}} {
		c, p := proxied(t)
		one := limited(t, c, ratelimiter.PerHour(5), ratelimiter.WithFallback(within[0], ratelimiter.Open))
		two := limited(t, c, ratelimiter.PerHour(5), ratelimiter.WithFallback(within[1], ratelimiter.Open))
		gets(t, &one.Bucket, 1) // their rates are known
		gets(t, &two.Bucket, 1)
		p.Delay(time.Second, 0)
		p.ResetLog()
		d := fellBack(t, ratelimiter.All(one, two), 1)
		assert.True(t, d.Allowed)
		p.Delay(0, 0)
	}
}

func TestAllWithAMemberWithoutAFallbackFails(t *testing.T) {
	t.Parallel()
	all, _, _ := silenced(t, bothShortly, ratelimiter.Open, nil)
	_, err := all.Take(withTimeout(t, 4*shortly), 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	waiting, _, _ := silenced(t, bothShortly, ratelimiter.Open, ratelimiter.Open)
	require.ErrorIs(t, waiting.Wait(withTimeout(t, 4*shortly)), context.DeadlineExceeded, "a wait has no fallback")
}

func TestTheServerDecidesAboutAllAgainOnceItIsBack(t *testing.T) {
	t.Parallel()
	all, limiters, p := silenced(t, []time.Duration{roomily, roomily}, ratelimiter.Open, ratelimiter.Closed)
	require.False(t, fellBack(t, all, 1).Allowed)
	p.Restore()
	require.Eventually(t, func() bool {
		d, err := all.Take(t.Context(), 1)
		return err == nil && !d.Fallback && d.Allowed
	}, soon, 5*time.Millisecond)
	d, err := limiters[0].Peek(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 99, d.Remaining)
}

// A fallback is for a server that is silent, and for nothing else.
func TestWhatTheServerSaysOfAllIsNotFallenBackFrom(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	fallback := ratelimiter.WithFallback(never, ratelimiter.Open)
	one, two := limited(t, c, ratelimiter.PerHour(3), fallback), limited(t, c, ratelimiter.PerHour(5), fallback)
	all := ratelimiter.All(one, two)
	d, err := all.Take(t.Context(), 2)
	require.NoError(t, err)
	assert.True(t, d.Allowed && !d.Fallback)
	_, err = all.Take(t.Context(), 4)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
	for _, n := range []int64{0, -1} {
		_, err = all.TakeEach(t.Context(), 1, n)
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	}
	_, err = all.Take(nil, 1) //lint:ignore SA1012 it is what this tests
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	_, err = ratelimiter.All(one, c.RateLimiter(redistest.Name(t), fallback)).Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
	_, err = ratelimiter.All(one, one).Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	_, err = all.Take(ctx, 1)
	require.ErrorIs(t, err, errEnough)
}
