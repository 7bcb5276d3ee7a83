package ratelimiter_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

func TestLimitersOnEveryServer(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			conforms(t, rueidis.ClientOption{InitAddress: []string{redistest.Shared(t, redistest.Version(version)).Addr()}})
		})
	}
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		conforms(t, redistest.Miniredis(t).ClientOption())
	})
}

// conforms is what a limiter does on every server.
func conforms(t *testing.T, option rueidis.ClientOption) {
	c, err := rueidisson.New(option)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(context.Background())) })
	for name, test := range map[string]func(t *testing.T, c *rueidisson.Client){
		"take": conformTake, "wait": conformWait, "reserve": conformReserve, "charge": conformCharge, "block": conformBlock, "rules": conformRules, "all": conformAll,
		"up to": conformUpTo, "a rule that goes": conformRuleTTL,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

// withRate is a limiter of that rate.
func withRate(t *testing.T, c *rueidisson.Client, r ratelimiter.Rate, opts ...ratelimiter.Option) *ratelimiter.Limiter {
	t.Helper()
	l := c.RateLimiter(redistest.Name(t), opts...)
	stored, created, err := l.TrySetRate(t.Context(), r)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, r, stored)
	return l
}

func decided(t *testing.T, b *ratelimiter.Bucket, n int64) ratelimiter.Decision {
	t.Helper()
	d, err := b.Take(t.Context(), n)
	require.NoError(t, err)
	return d
}

// remains is what a bucket holds.
func remains(t *testing.T, b *ratelimiter.Bucket, want int64) {
	t.Helper()
	d, err := b.Peek(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, d.Remaining)
}

func conformTake(t *testing.T, c *rueidisson.Client) {
	b := withRate(t, c, ratelimiter.PerHour(5)).For("u")
	for left := int64(4); left >= 0; left-- {
		d := decided(t, b, 1)
		require.True(t, d.Allowed)
		require.Equal(t, left, d.Remaining)
		require.Equal(t, ratelimiter.PerHour(5), d.Rate)
		require.LessOrEqual(t, d.ResetAfter, time.Duration(5-left)*12*time.Minute)
		require.Greater(t, d.ResetAfter, time.Duration(5-left)*12*time.Minute-time.Minute)
	}
	d := decided(t, b, 2)
	require.False(t, d.Allowed)
	require.LessOrEqual(t, d.RetryAfter, 24*time.Minute)
	require.Greater(t, d.RetryAfter, 23*time.Minute)
	require.NoError(t, b.Refund(t.Context(), 2))
	require.True(t, decided(t, b, 2).Allowed)
	_, err := b.Take(t.Context(), 6)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
	remains(t, withRate(t, c, ratelimiter.PerHour(5)).For("u"), 5)
}

func conformWait(t *testing.T, c *rueidisson.Client) {
	b := withRate(t, c, ratelimiter.PerSecond(50).WithBurst(1)).For("u")
	began := time.Now()
	for range 6 {
		require.NoError(t, b.Wait(t.Context()))
	}
	const late = time.Millisecond // the clock of a server inside of the test, at the most
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond-late)
	slow := withRate(t, c, ratelimiter.PerHour(1)).For("u")
	require.NoError(t, slow.Wait(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.ErrorIs(t, slow.Wait(ctx), ratelimiter.ErrExceedsDeadline)
}

func conformReserve(t *testing.T, c *rueidisson.Client) {
	b := withRate(t, c, ratelimiter.PerHour(4)).For("u")
	now, err := b.ReserveN(t.Context(), 4)
	require.NoError(t, err)
	require.Zero(t, now.Delay())
	later, err := b.ReserveN(t.Context(), 2)
	require.NoError(t, err)
	require.LessOrEqual(t, later.Delay(), 30*time.Minute)
	require.Greater(t, later.Delay(), 29*time.Minute)
	behind, err := b.ReserveN(t.Context(), 1)
	require.NoError(t, err)
	require.Greater(t, behind.Delay(), 44*time.Minute)
	require.NoError(t, later.Cancel(t.Context()), "one of the two comes back: one is reserved behind")
	next, err := b.ReserveN(t.Context(), 1)
	require.NoError(t, err)
	require.LessOrEqual(t, next.Delay(), 45*time.Minute)
	require.Greater(t, next.Delay(), 44*time.Minute)
}

func conformCharge(t *testing.T, c *rueidisson.Client) {
	b := withRate(t, c, ratelimiter.PerHour(4), ratelimiter.WithMaxDebt(3)).For("u")
	d, err := b.Charge(t.Context(), 6)
	require.NoError(t, err)
	require.Zero(t, d.Remaining)
	require.Greater(t, d.ResetAfter, 89*time.Minute)
	_, err = b.Charge(t.Context(), 2)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsDebt)
	require.NoError(t, b.Settle(t.Context(), 6, 7))
	require.False(t, decided(t, b, 1).Allowed)
	require.NoError(t, b.Settle(t.Context(), 7, 1))
	remains(t, b, 3)
}

func conformBlock(t *testing.T, c *rueidisson.Client) {
	b := withRate(t, c, ratelimiter.PerHour(4)).For("u")
	require.True(t, decided(t, b, 1).Allowed)
	require.NoError(t, b.Block(t.Context(), time.Minute))
	d := decided(t, b, 1)
	require.False(t, d.Allowed)
	require.LessOrEqual(t, d.RetryAfter, time.Minute)
	require.Greater(t, d.RetryAfter, 50*time.Second)
	require.NoError(t, b.Block(t.Context(), 50*time.Millisecond))
	require.NoError(t, b.Wait(t.Context()), "a wait outlasts the block")
	remains(t, b, 2)
	require.NoError(t, b.Block(t.Context(), time.Minute))
	require.NoError(t, b.Reset(t.Context()))
	remains(t, b, 4)
}

func conformRules(t *testing.T, c *rueidisson.Client) {
	l := withRate(t, c, ratelimiter.PerHour(10))
	_, created, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(3))
	require.NoError(t, err)
	require.False(t, created)
	require.True(t, decided(t, l.For("u"), 4).Allowed)
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerMinute(7)))
	remains(t, l.For("u"), 3)
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(8), ratelimiter.WithReset()))
	remains(t, l.For("u"), 8)
	require.NoError(t, l.Pause(t.Context()))
	require.False(t, decided(t, l.For("u"), 1).Allowed)
	require.NoError(t, l.Resume(t.Context()))
	require.True(t, decided(t, l.For("u"), 1).Allowed)
	require.True(t, decided(t, &l.Bucket, 1).Allowed)
	there, err := l.Delete(t.Context())
	require.NoError(t, err)
	require.True(t, there)
	_, err = l.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
}

func conformAll(t *testing.T, c *rueidisson.Client) {
	few, many := withRate(t, c, ratelimiter.PerHour(2)).For("u"), withRate(t, c, ratelimiter.PerMinute(9)).For("u")
	all := ratelimiter.All(few, many)
	d, err := all.Take(t.Context(), 2)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	d, err = all.Take(t.Context(), 1)
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.Equal(t, []bool{false, true}, []bool{d.Members[0].Allowed, d.Members[1].Allowed})
	require.Greater(t, d.RetryAfter, 29*time.Minute)
	remains(t, many, 7)
}

func conformUpTo(t *testing.T, c *rueidisson.Client) {
	b := withRate(t, c, ratelimiter.PerHour(10)).For("u")
	takes(t, b, 7, 7)
	assert.Zero(t, takes(t, b, 1_000_000, 3).Remaining)
	assert.Greater(t, takes(t, b, 1, 0).RetryAfter, 5*time.Minute)
	few, many := withRate(t, c, ratelimiter.PerHour(2)).For("u"), withRate(t, c, ratelimiter.PerMinute(9)).For("u")
	takesOfAll(t, ratelimiter.All(few, many), 5, 2)
	remains(t, many, 7)
}

func conformRuleTTL(t *testing.T, c *rueidisson.Client) {
	l, ttl := c.RateLimiter(redistest.Name(t)), ratelimiter.WithRuleTTL(time.Hour)
	_, created, err := l.TrySetRate(t.Context(), ratelimiter.PerMinute(5), ttl)
	require.NoError(t, err)
	require.True(t, created)
	require.True(t, decided(t, l.For("u"), 2).Allowed)
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerMinute(5), ratelimiter.WithRuleTTL(2*time.Hour)))
	remains(t, l.For("u"), 3)
	require.NoError(t, l.Pause(t.Context()))
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerMinute(4)))
	require.True(t, decided(t, l.For("u"), 1).Paused)
	require.NoError(t, l.Resume(t.Context()))
	stays, err := l.RuleTTL(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2*time.Hour, stays)
	remains(t, l.For("u"), 2)
}
