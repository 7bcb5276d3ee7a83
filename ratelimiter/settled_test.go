package ratelimiter_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// settledRates are those about which nobody is asked, stored and travelling, of
// both types.
func settledRates(t *testing.T, r ratelimiter.Rate, test func(t *testing.T, l *ratelimiter.Limiter, b *ratelimiter.Bucket, p *redistest.Proxy)) {
	t.Helper()
	both(t, r, func(t *testing.T, r ratelimiter.Rate) {
		c, p := proxied(t)
		stored := limited(t, c, r)
		_, err := stored.Rate(t.Context())
		require.NoError(t, err)
		t.Run("stored", func(t *testing.T) { test(t, stored, stored.For("u"), p) })
		other := limited(t, c, ratelimiter.PerHour(5))
		t.Run("travelling", func(t *testing.T) { test(t, other, other.For("u", ratelimiter.WithRule(r)), p) })
	})
}

// A plan of 0 is a banned one.
func TestARateOfNothingRefusesAll(t *testing.T) {
	t.Parallel()
	for _, r := range []ratelimiter.Rate{ratelimiter.PerSecond(0), ratelimiter.Every(0, 24*time.Hour).WithBurst(10)} {
		settledRates(t, r, func(t *testing.T, l *ratelimiter.Limiter, b *ratelimiter.Bucket, p *redistest.Proxy) {
			ctx := t.Context()
			p.ResetLog()
			for _, n := range []int64{1, 7} {
				d, err := b.Take(ctx, n)
				require.NoError(t, err)
				assert.False(t, d.Allowed)
				assert.Zero(t, d.RetryAfter, "no time brings a token")
				ok, err := b.AllowN(ctx, n)
				require.NoError(t, err)
				assert.False(t, ok)
			}
			d, err := b.Peek(ctx)
			require.NoError(t, err)
			assert.False(t, d.Allowed)
			_, err = b.Reserve(ctx)
			assert.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
			assert.ErrorIs(t, b.Wait(ctx), ratelimiter.ErrExceedsBurst, "at once")
			_, err = b.Charge(ctx, 3)
			assert.NoError(t, err)
			assert.NoError(t, b.Refund(ctx, 3))
			all := ratelimiter.All(b, l.For("u2", ratelimiter.WithRule(ratelimiter.PerHour(5))))
			several, err := all.Take(ctx, 1)
			require.NoError(t, err)
			assert.False(t, several.Allowed)
			assert.ErrorIs(t, all.Wait(ctx), ratelimiter.ErrExceedsBurst)
			assert.Zero(t, p.Count(luaOf(t, "take"))+p.Count(luaOf(t, "decide")), "nobody is asked")
			assert.NoError(t, b.Block(ctx, time.Minute))
			assert.NoError(t, b.Reset(ctx))
		})
	}
}

func TestUnlimitedGrantsAll(t *testing.T) {
	t.Parallel()
	settledRates(t, ratelimiter.Unlimited, func(t *testing.T, l *ratelimiter.Limiter, b *ratelimiter.Bucket, p *redistest.Proxy) {
		ctx := t.Context()
		p.ResetLog()
		d, err := b.Take(ctx, math.MaxInt64)
		require.NoError(t, err)
		assert.True(t, d.Allowed)
		assert.EqualValues(t, math.MaxInt64, d.Remaining)
		require.NoError(t, b.WaitN(ctx, 1_000_000))
		r, err := b.ReserveN(ctx, 1_000_000)
		require.NoError(t, err)
		assert.Zero(t, r.Delay())
		require.NoError(t, r.Cancel(ctx))
		d, err = b.Charge(ctx, 1_000_000)
		require.NoError(t, err)
		assert.Zero(t, d.RetryAfter)
		require.NoError(t, b.Refund(ctx, 7))
		d, err = b.Peek(ctx)
		require.NoError(t, err)
		assert.True(t, d.Allowed)
		assert.Zero(t, p.Count(luaOf(t, "take"))+p.Count(luaOf(t, "decide")), "nobody is asked")
		require.NoError(t, b.Block(ctx, time.Minute))
		require.NoError(t, b.Reset(ctx))

		limit := l.For("u2", ratelimiter.WithRule(ratelimiter.PerHour(5)))
		all := ratelimiter.All(b, limit)
		for left := range int64(5) {
			several, err := all.Take(ctx, 1)
			require.NoError(t, err)
			require.True(t, several.Allowed)
			assert.EqualValues(t, 4-left, several.Remaining)
			assert.EqualValues(t, math.MaxInt64, several.Members[0].Remaining)
		}
		several, err := all.Peek(ctx)
		require.NoError(t, err)
		assert.False(t, several.Allowed)
		require.NoError(t, all.Refund(ctx, 2))
		holds(t, limit, 2)
		require.NoError(t, limit.Reset(ctx))
		several, err = ratelimiter.All(b, l.For("u3", ratelimiter.WithRule(ratelimiter.Unlimited))).Take(ctx, 3)
		require.NoError(t, err)
		assert.True(t, several.Allowed)
	})
}

// Whoever finds that a rule has become one of these is answered by that.
func TestARateThatBecomesNothingOrUnlimited(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	for name, of := range map[string]struct {
		rate    ratelimiter.Rate
		allowed bool
	}{"nothing": {ratelimiter.PerSecond(0), false}, "unlimited": {ratelimiter.Unlimited, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine := limited(t, open(t, s.Addr()), ratelimiter.PerHour(5))
			other := open(t, s.Addr())
			theirs, there := other.RateLimiter(mine.Name()), limited(t, other, ratelimiter.PerHour(5))
			both := ratelimiter.All(theirs.For("v"), there.For("v"))
			require.NoError(t, mine.SetRate(t.Context(), ratelimiter.PerHour(6)))
			gets(t, theirs.For("u"), 1) // which it knows for half a second
			_, err := both.Take(t.Context(), 1)
			require.NoError(t, err)
			// Buckets are of a newer rule already, which has been replaced by this one since.
			require.NoError(t, mine.SetRate(t.Context(), ratelimiter.PerHour(7)))
			gets(t, mine.For("u"), 1)
			gets(t, mine.For("v"), 1)
			require.NoError(t, mine.SetRate(t.Context(), of.rate))
			d, err := theirs.For("u").Take(t.Context(), 1)
			require.NoError(t, err)
			assert.Equal(t, of.allowed, d.Allowed)
			several, err := both.Take(t.Context(), 1)
			require.NoError(t, err)
			assert.Equal(t, of.allowed, several.Allowed)
		})
	}
}

// A ban holds, and an unlimited plan passes, also while the server is gone.
func TestWhatARuleDecidesAloneNoFallbackDoes(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	name := redistest.Name(t)
	p.BlackHole()
	for of, f := range map[string]ratelimiter.Fallback{
		"open": ratelimiter.Open, "closed": ratelimiter.Closed, "banned": ratelimiter.Local(ratelimiter.PerSecond(0)),
		"unlimited": ratelimiter.Local(ratelimiter.Unlimited),
	} {
		l := c.RateLimiter(name+of, ratelimiter.WithFallback(20*time.Millisecond, f))
		for range 2 { // by the server, and by the breaker
			d, err := l.For("u", ratelimiter.WithRule(ratelimiter.PerSecond(0))).Take(t.Context(), 1)
			require.NoError(t, err)
			assert.False(t, d.Allowed, of)
			d, err = l.For("u", ratelimiter.WithRule(ratelimiter.Unlimited)).Take(t.Context(), 1)
			require.NoError(t, err)
			assert.True(t, d.Allowed, of)
			_, err = l.For("u", ratelimiter.WithRule(ratelimiter.PerSecond(-1))).Take(t.Context(), 1)
			require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
			_, err = l.For("u", ratelimiter.WithRule(ratelimiter.PerSecond(3))).Take(t.Context(), 4)
			require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
			d, err = l.For("u").Take(context.Background(), 1)
			require.NoError(t, err)
			assert.Equal(t, of == "open" || of == "unlimited", d.Allowed, of)
		}
	}
}
