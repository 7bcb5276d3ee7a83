package ratelimiter_test

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// someOf takes up to n tokens of a bucket, or of several.
type someOf interface {
	TakeUpTo(ctx context.Context, n int64) (int64, ratelimiter.Decision, error)
}

// takes is what a bucket gave of n tokens.
func takes(t testing.TB, b someOf, n, want int64) ratelimiter.Decision {
	t.Helper()
	taken, d, err := b.TakeUpTo(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, want, taken, "%+v", d)
	require.Equal(t, want > 0, d.Allowed)
	return d
}

// takesOfAll is the same of several limits.
func takesOfAll(t testing.TB, a *ratelimiter.Combined, n, want int64) ratelimiter.AllDecision {
	t.Helper()
	taken, d, err := a.TakeUpTo(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, want, taken, "%+v", d)
	require.Equal(t, want > 0, d.Allowed)
	return d
}

func TestUpToSome(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		c := open(t, redistest.Shared(t).Addr())
		l := limited(t, c, r)
		for _, b := range []*ratelimiter.Bucket{&l.Bucket, l.For("u")} {
			assert.EqualValues(t, 7, takes(t, b, 3, 3).Remaining)
			gets(t, b, 2)
			d := takes(t, b, 100, 5)
			assert.Zero(t, d.Remaining)
			assert.Zero(t, d.RetryAfter)
			d = takes(t, b, 1, 0)
			assert.Positive(t, d.RetryAfter)
			assert.LessOrEqual(t, d.RetryAfter, 6*time.Minute, "until there is one")
			require.NoError(t, b.Refund(t.Context(), 4))
			takes(t, b, math.MaxInt64, 4)
			_, err := b.Charge(t.Context(), 3)
			require.NoError(t, err)
			d = takes(t, b, 5, 0)
			assert.Greater(t, d.RetryAfter, 18*time.Minute, "first the debt is paid")
		}
	})
}

func TestUpToSomeOfABucketThatGrantsNothing(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		b := l.For("u")
		require.NoError(t, b.Block(t.Context(), time.Hour))
		assert.Greater(t, takes(t, b, 5, 0).RetryAfter, 50*time.Minute)
		require.NoError(t, b.Reset(t.Context()))
		require.NoError(t, l.Pause(t.Context()))
		assert.True(t, takes(t, b, 5, 0).Paused)
		require.NoError(t, l.Resume(t.Context()))
		takes(t, b, 50, 10)
	})
}

func TestUpToSomeOfARateThatDecidesByItself(t *testing.T) {
	t.Parallel()
	settledRates(t, ratelimiter.PerSecond(0), func(t *testing.T, _ *ratelimiter.Limiter, b *ratelimiter.Bucket, _ *redistest.Proxy) {
		assert.Zero(t, takes(t, b, 5, 0).RetryAfter)
		takesOfAll(t, ratelimiter.All(b), 5, 0)
	})
	settledRates(t, ratelimiter.Unlimited, func(t *testing.T, l *ratelimiter.Limiter, b *ratelimiter.Bucket, _ *redistest.Proxy) {
		takes(t, b, 1_000_000, 1_000_000)
		takesOfAll(t, ratelimiter.All(b), 5, 5)
		takesOfAll(t, ratelimiter.All(b, l.For("v", ratelimiter.WithRule(ratelimiter.PerHour(3)))), 5, 3)
	})
}

func TestUpToNothingIsAnError(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10))
	for _, n := range []int64{0, -1} {
		_, _, err := l.TakeUpTo(t.Context(), n)
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
		_, _, err = ratelimiter.All(l).TakeUpTo(t.Context(), n)
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	}
	_, _, err := ratelimiter.All().TakeUpTo(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	holds(t, &l.Bucket, 10)
}

func TestUpToSomeOfAll(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	one, two, all := pair(t, c, ratelimiter.PerHour(10), ratelimiter.PerHour(6))
	d := takesOfAll(t, all, 4, 4)
	assert.EqualValues(t, 2, d.Remaining)
	takesOfAll(t, all, 4, 2)
	d = takesOfAll(t, all, 4, 0)
	assert.Equal(t, []bool{true, false}, []bool{d.Members[0].Allowed, d.Members[1].Allowed})
	assert.Positive(t, d.RetryAfter)
	holds(t, &one.Bucket, 4)
	holds(t, &two.Bucket, 0)
	require.NoError(t, two.Pause(t.Context()))
	require.NoError(t, two.Reset(t.Context()))
	assert.True(t, takesOfAll(t, all, 4, 0).Paused)
}

// What is in stock is there, too.
func TestUpToSomeUsesTheStock(t *testing.T) {
	t.Parallel()
	l, server, p := stocked(t, ratelimiter.PerHour(100), 9)
	gets(t, &l.Bucket, 1)
	holds(t, &server.Bucket, 90)
	p.ResetLog()
	assert.EqualValues(t, 94, takes(t, &l.Bucket, 5, 5).Remaining)
	assert.Zero(t, p.Count(luaOf(t, "take"))+p.Count(luaOf(t, "decide")), "nobody was asked")
	holds(t, &server.Bucket, 90)
	takes(t, &l.Bucket, 1000, 94)
	holds(t, &server.Bucket, 0)
	takes(t, &l.Bucket, 1000, 0)
}

// A known refusal says that not one token is there.
func TestUpToSomeUnderADenial(t *testing.T) {
	t.Parallel()
	l, p := denying(t, ratelimiter.PerHour(10))
	takes(t, &l.Bucket, 12, 10)
	takes(t, &l.Bucket, 12, 0)
	p.ResetLog()
	assert.Positive(t, takes(t, &l.Bucket, 12, 0).RetryAfter)
	assert.Zero(t, p.Count(luaOf(t, "take")), "nobody was asked")
	require.NoError(t, l.Refund(t.Context(), 3))
	isRefused(t, &l.Bucket, 5)
	takes(t, &l.Bucket, 12, 3)
}

func TestUpToSomeFallsBack(t *testing.T) {
	t.Parallel()
	local := ratelimiter.Local(ratelimiter.PerHour(5))
	for name, of := range map[string]struct {
		f    ratelimiter.Fallback
		want []int64
	}{
		"open": {ratelimiter.Open, []int64{3, 30}}, "closed": {ratelimiter.Closed, []int64{0, 0}}, "local": {local, []int64{3, 2}},
		"nothing": {ratelimiter.Local(ratelimiter.PerHour(0)), []int64{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _, p := fallingBack(t, ratelimiter.PerHour(2), of.f, impatient())
			b := l.For("u")
			p.BlackHole()
			for i, n := range []int64{3, 30} {
				assert.True(t, takes(t, b, n, of.want[i]).Fallback)
			}
			_, _, err := b.TakeUpTo(t.Context(), 0)
			require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, "of which nothing is fallen back from")
			banned := l.For("v", ratelimiter.WithRule(ratelimiter.PerHour(0)))
			assert.False(t, takes(t, banned, 3, 0).Fallback)
		})
	}
}

func TestUpToSomeOfAllFallsBack(t *testing.T) {
	t.Parallel()
	all, members, _ := silenced(t, bothShortly, ratelimiter.Local(ratelimiter.PerHour(5)), ratelimiter.Local(ratelimiter.PerHour(8)))
	d := takesOfAll(t, all, 3, 3)
	assert.True(t, d.Fallback || d.Members[0].Fallback)
	takesOfAll(t, all, 9, 2)
	takesOfAll(t, all, 9, 0)
	takes(t, &members[1].Bucket, 9, 3)
	all, _, _ = silenced(t, bothShortly, ratelimiter.Open, ratelimiter.Local(ratelimiter.PerHour(8)))
	takesOfAll(t, all, 9, 8)
	all, _, _ = silenced(t, bothShortly, ratelimiter.Closed, ratelimiter.Local(ratelimiter.PerHour(8)))
	takesOfAll(t, all, 9, 0)
	takesOfAll(t, all, 9, 0)
}

// An observer hears of what was taken, or of what was wanted in vain.
func TestWhatAnObserverHearsOfUpToSome(t *testing.T) {
	t.Parallel()
	type d = rueidisson.Decision
	var o heard
	c := open(t, redistest.Shared(t).Addr(), rueidisson.WithObserver(&o))
	l := limited(t, c, ratelimiter.PerHour(5))
	takes(t, &l.Bucket, 3, 3)
	takes(t, &l.Bucket, 3, 2)
	takes(t, &l.Bucket, 3, 0)
	_, _, err := l.TakeUpTo(t.Context(), -1)
	assert.Error(t, err)
	all := o.take()
	require.Len(t, all, 4)
	assert.Equal(t, []d{
		{Limiter: l.Name(), Tokens: 3, Allowed: true, Together: 1},
		{Limiter: l.Name(), Tokens: 2, Allowed: true, Together: 1},
		{Limiter: l.Name(), Tokens: 3, Together: 1},
	}, all[:3])
	require.ErrorIs(t, all[3].Err, ratelimiter.ErrInvalidArgument)
	l = limited(t, c, ratelimiter.PerHour(5))
	takesOfAll(t, ratelimiter.All(l), 7, 5)
	assert.Equal(t, []d{{Limiter: l.Name(), Tokens: 5, Allowed: true, Together: 1}}, o.take())
}

// Beside others on a hot key nothing is taken twice, and nothing is lost.
func TestUpToSomeOnAHotKeyAddsUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := open(t, server.Addr())
	const burst = 20_000
	l, second := limited(t, c, slowly(burst)), c.RateLimiter(redistest.Name(t)+"-second")
	_, _, err := second.TrySetRate(t.Context(), slowly(burst))
	require.NoError(t, err)
	for name, ask := range map[string]func(i int) (int64, error){
		"one": func(i int) (int64, error) {
			if i%3 == 0 {
				d, err := l.For("u").Take(t.Context(), 2)
				if d.Allowed {
					return 2, err
				}
				return 0, err
			}
			taken, _, err := l.For("u").TakeUpTo(t.Context(), int64(i%7)+1)
			return taken, err
		},
		"all": func(i int) (int64, error) {
			taken, _, err := ratelimiter.All(l.For("v"), second.For("v")).TakeUpTo(t.Context(), int64(i%7)+1)
			return taken, err
		},
	} {
		server.ResetStats()
		var all sync.WaitGroup
		var granted, calls atomic.Int64
		for range 64 {
			all.Go(func() {
				for i := range 150 {
					n, err := ask(i)
					assert.NoError(t, err)
					granted.Add(n)
					calls.Add(1)
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, burst, granted.Load(), name)
		assert.Less(t, server.ScriptCalls(t), calls.Load()/3, name)
	}
}

// Beside a stock nothing is lost and nothing granted twice, whoever leaves.
func TestUpToSomeBesideAStockAddsUp(t *testing.T) {
	t.Parallel()
	const burst = 20_000
	l := limited(t, open(t, redistest.Shared(t).Addr()), slowly(burst), ratelimiter.WithPrefetch(50), ratelimiter.WithLocalDenial())
	var granted atomic.Int64
	var all sync.WaitGroup
	for g := range 32 {
		rnd := rand.New(rand.NewPCG(uint64(g), 3))
		all.Go(func() {
			for {
				ctx, cancel := context.WithCancel(t.Context())
				if rnd.IntN(4) == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(200))*time.Microsecond, cancel)
				}
				n, d, err := l.TakeUpTo(ctx, 1+rnd.Int64N(20))
				left := ctx.Err() != nil
				cancel()
				if err != nil {
					assert.True(t, left, "%v", err)
					continue
				}
				assert.Equal(t, n > 0, d.Allowed)
				if granted.Add(n); n == 0 {
					return
				}
			}
		})
	}
	all.Wait()
	redistest.Eventually(t, func() bool {
		n, _, err := l.TakeUpTo(t.Context(), burst)
		require.NoError(t, err)
		return granted.Add(n) == burst
	}, soon, 5*time.Millisecond, "what those who left were granted comes back")
	time.Sleep(20 * time.Millisecond)
	n, _, err := l.TakeUpTo(t.Context(), burst)
	require.NoError(t, err)
	require.Zero(t, n)
}
