package ratelimiter_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// silentObserver hears of nothing that concerns limiters.
type silentObserver struct{}

func (silentObserver) WaitStarted(context.Context, string, string)                     {}
func (silentObserver) WaitEnded(context.Context, string, string, time.Duration, error) {}
func (silentObserver) Acquired(context.Context, string, string, bool)                  {}
func (silentObserver) Released(context.Context, string, string, bool)                  {}
func (silentObserver) Lost(string, string, error)                                      {}
func (silentObserver) Renewed(int, time.Duration, error)                               {}
func (silentObserver) ScriptRan(context.Context, string, time.Duration, int, error)    {}

// heard is what an observer heard of decisions.
type heard struct {
	silentObserver
	mu  sync.Mutex
	all []rueidisson.Decision
}

func (h *heard) Decided(_ context.Context, d rueidisson.Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, d)
}

// take returns what was heard since the last time.
func (h *heard) take() (all []rueidisson.Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, h.all = h.all, nil
	return all
}

func TestWhatAnObserverHearsOfDecisions(t *testing.T) {
	t.Parallel()
	type d = rueidisson.Decision
	var o heard
	c := open(t, redistest.Shared(t).Addr(), rueidisson.WithObserver(&o), rueidisson.WithNameMapper(func(name string) string { return "app:" + name }))
	ctx := t.Context()
	rated := func(r ratelimiter.Rate, opts ...ratelimiter.Option) (*ratelimiter.Limiter, string) {
		l := c.RateLimiter(redistest.Name(t)+fmt.Sprint(len(opts)), opts...)
		_, _, err := l.TrySetRate(ctx, r)
		require.NoError(t, err)
		return l, "app:" + l.Name()
	}
	fine := func(err error) { t.Helper(); require.NoError(t, err) }

	l, name := rated(ratelimiter.PerHour(5))
	k := l.For("secret")
	_, err := k.Take(ctx, 5)
	fine(err)
	_, err = k.Allow(ratelimiter.InShadow(ctx))
	fine(err)
	assert.Equal(t, []d{{Limiter: name, Tokens: 5, Allowed: true, Together: 1}, {Limiter: name, Tokens: 1, Together: 1, Shadow: true}}, o.take())

	_, err = k.Peek(ctx)
	fine(err)
	_, err = k.Charge(ctx, 1)
	fine(err)
	fine(k.Refund(ctx, 1))
	assert.Empty(t, o.take(), "neither a look nor a charge nor a refund is a decision")

	_, burst := k.Take(ctx, 6)
	_, never := c.RateLimiter("nobody's").Take(ctx, 1)
	for i, got := range o.take() {
		want := []error{ratelimiter.ErrExceedsBurst, ratelimiter.ErrNoRate}[i]
		assert.ErrorIs(t, []error{burst, never}[i], want)
		assert.ErrorIs(t, got.Err, want)
		assert.False(t, got.Allowed)
		assert.NotContains(t, fmt.Sprintf("%+v", got), "secret")
	}

	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	require.ErrorIs(t, k.Wait(soon), ratelimiter.ErrExceedsDeadline)
	fine(l.Wait(ctx))
	_, err = k.ReserveN(ctx, 2)
	fine(err)
	assert.Equal(t, []d{
		{Limiter: name, Tokens: 1, Together: 1}, {Limiter: name, Tokens: 1, Allowed: true, Together: 1}, {Limiter: name, Tokens: 2, Allowed: true, Together: 1},
	}, o.take())

	fine(l.Pause(ctx))
	_, err = k.Take(ctx, 1)
	fine(err)
	require.ErrorIs(t, l.Wait(beforeLong(t)), ratelimiter.ErrExceedsDeadline)
	_, err = k.Reserve(ctx)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsDebt)
	assert.Equal(t, []d{{Limiter: name, Tokens: 1}, {Limiter: name, Tokens: 1}, {Limiter: name, Tokens: 1}}, o.take(), "nobody was asked")

	own, name := rated(ratelimiter.PerHour(1).PerClient(), ratelimiter.WithMaxDebt(1))
	_, err = own.Allow(ctx)
	fine(err)
	assert.Equal(t, []d{{Limiter: name, Tokens: 1, Allowed: true}}, o.take(), "in the process")

	known, name := rated(ratelimiter.PerHour(1), ratelimiter.WithLocalDenial(), ratelimiter.WithMaxDebt(1))
	for range 3 {
		_, err = known.Allow(ctx)
		fine(err)
	}
	assert.Equal(t, []d{{Limiter: name, Tokens: 1, Allowed: true, Together: 1}, {Limiter: name, Tokens: 1, Together: 1}, {Limiter: name, Tokens: 1}}, o.take())
}

func TestWhatAnObserverHearsOfSeveralLimits(t *testing.T) {
	t.Parallel()
	type d = rueidisson.Decision
	var o heard
	c := open(t, redistest.Shared(t).Addr(), rueidisson.WithObserver(&o))
	one, two, all := pair(t, c, ratelimiter.PerHour(10), ratelimiter.PerHour(3))
	a, b := one.Name(), two.Name()
	ctx := t.Context()
	for _, n := range []int64{2, 2} {
		_, err := all.TakeEach(ctx, n+1, n)
		require.NoError(t, err)
	}
	assert.Equal(t, []d{
		{Limiter: a, Tokens: 3, Allowed: true, Together: 1}, {Limiter: b, Tokens: 2, Allowed: true, Together: 1},
		{Limiter: a, Tokens: 3, Allowed: true, Together: 1}, {Limiter: b, Tokens: 2, Together: 1},
	}, o.take(), "the first would have granted")
	require.NoError(t, all.Wait(ctx))
	require.ErrorIs(t, all.Wait(beforeLong(t)), ratelimiter.ErrExceedsDeadline)
	_, err := all.Take(ctx, 4)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
	got := o.take()
	require.Len(t, got, 6)
	assert.Equal(t, []d{
		{Limiter: a, Tokens: 1, Allowed: true, Together: 1}, {Limiter: b, Tokens: 1, Allowed: true, Together: 1},
		{Limiter: a, Tokens: 1, Allowed: true, Together: 1}, {Limiter: b, Tokens: 1, Together: 1},
	}, got[:4])
	assert.ErrorIs(t, got[5].Err, ratelimiter.ErrExceedsBurst)
}

func TestAnObserverHearsWhoDecidesWhileTheServerIsGone(t *testing.T) {
	t.Parallel()
	var o heard
	p := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c := open(t, p.Addr(), rueidisson.WithObserver(&o))
	name := redistest.Name(t)
	bare := c.RateLimiter(name)
	_, _, err := bare.TrySetRate(t.Context(), ratelimiter.PerHour(10))
	require.NoError(t, err)
	l := c.RateLimiter(name, ratelimiter.WithFallback(time.Minute, ratelimiter.Closed))
	_, err = l.Take(t.Context(), 1)
	require.NoError(t, err)
	p.Refuse()
	p.CutAll()
	_, err = l.Take(t.Context(), 2)
	require.NoError(t, err)
	_, err = bare.Take(t.Context(), 3)
	require.Error(t, err)
	_, err = ratelimiter.All(l.For("u"), c.RateLimiter(name+"/day", ratelimiter.WithFallback(time.Minute, ratelimiter.Closed)).For("u")).Take(t.Context(), 4)
	require.NoError(t, err)
	got := o.take()
	require.Len(t, got, 5)
	assert.Error(t, got[2].Err)
	got[2].Err = nil
	assert.Equal(t, []rueidisson.Decision{
		{Limiter: name, Tokens: 1, Allowed: true, Together: 1},
		{Limiter: name, Tokens: 2, Fallback: true},
		{Limiter: name, Tokens: 3},
		{Limiter: name, Tokens: 4, Fallback: true}, {Limiter: name + "/day", Tokens: 4, Fallback: true},
	}, got)
}

// Of a hot key's calls many go out together.
func TestAnObserverHearsHowManyWereCombined(t *testing.T) {
	t.Parallel()
	var o heard
	p := redistest.NewProxy(t, redistest.Shared(t).Addr())
	l := open(t, p.Addr(), rueidisson.WithObserver(&o)).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(1000))
	require.NoError(t, err)
	const calls = 200
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			_, err := l.Take(t.Context(), 1)
			assert.NoError(t, err)
		})
	}
	all.Wait()
	exchanges, most := 0.0, 0
	for _, d := range o.take() {
		require.Positive(t, d.Together)
		exchanges += 1 / float64(d.Together)
		most = max(most, d.Together)
	}
	assert.InDelta(t, exchanges, float64(int(exchanges+.5)), 1e-6, "each exchange is counted by all of its calls")
	assert.Greater(t, most, 1)
	assert.LessOrEqual(t, most, calls)
}

func TestAnObserverHearsOfRedissonsLimiters(t *testing.T) {
	t.Parallel()
	var o heard
	l := open(t, redistest.Shared(t).Addr(), rueidisson.WithObserver(&o)).RedissonRateLimiter(redistest.Name(t))
	_, err := l.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
	_, err = l.TrySetRate(t.Context(), redissonlimiter.Rate{Permits: 2, Interval: time.Hour})
	require.NoError(t, err)
	_, err = l.Take(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, l.Wait(t.Context()))
	_, err = l.Allow(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, l.Wait(beforeLong(t)), ratelimiter.ErrExceedsDeadline)
	got := o.take()
	require.Len(t, got, 5)
	assert.ErrorIs(t, got[0].Err, ratelimiter.ErrNoRate)
	name := l.Name()
	assert.Equal(t, []rueidisson.Decision{
		{Limiter: name, Tokens: 1, Allowed: true, Together: 1}, {Limiter: name, Tokens: 1, Allowed: true, Together: 1},
		{Limiter: name, Tokens: 1, Together: 1}, {Limiter: name, Tokens: 1, Together: 1},
	}, got[1:])
}

// beforeLong is a context with a deadline before any token comes.
func beforeLong(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// Not parallel: the allocations of other tests would be counted.
func TestDecisionsCostNothingWithoutAnObserverOfThem(t *testing.T) {
	all := map[string]float64{}
	for name, opts := range map[string][]rueidisson.Option{
		"none": nil, "of other things": {rueidisson.WithObserver(silentObserver{})}, "of decisions": {rueidisson.WithObserver(&uncounted{})},
	} {
		l := limited(t, open(t, redistest.Shared(t).Addr(), opts...), ratelimiter.PerHour(1_000_000).PerClient())
		ctx, key := context.Background(), redistest.Name(t)
		all[name] = testing.AllocsPerRun(1000, func() { _, _ = l.For(key).Allow(ctx) })
	}
	assert.LessOrEqual(t, all["none"], 1.0, "the text of the key in Redis")
	assert.Equal(t, all["none"], all["of other things"])
	assert.Equal(t, all["none"], all["of decisions"])
}

// uncounted hears and forgets.
type uncounted struct{ silentObserver }

func (uncounted) Decided(context.Context, rueidisson.Decision) {}
