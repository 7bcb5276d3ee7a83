package ratelimiter_test

import (
	"context"
	"errors"
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

// slowly is so slow that nothing comes back during a test.
func slowly(burst int64) ratelimiter.Rate {
	return ratelimiter.Rate{N: 1, Per: 30 * 24 * time.Hour, Burst: burst}
}

// Callers give up at random, before their call is sent, while it is under way,
// or when the answer is here. What they were granted and do not know of comes
// back: what was granted and what is left is what there was.
func TestTokensOfCallersThatLeaveComeBack(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(ctx context.Context, b *ratelimiter.Bucket, n int64) (bool, error){
		"take": func(ctx context.Context, b *ratelimiter.Bucket, n int64) (bool, error) { return b.AllowN(ctx, n) },
		"take up to": func(ctx context.Context, b *ratelimiter.Bucket, n int64) (bool, error) {
			taken, _, err := b.TakeUpTo(ctx, n)
			return taken == n, err
		},
		"take up to, of all": func(ctx context.Context, b *ratelimiter.Bucket, n int64) (bool, error) {
			taken, _, err := ratelimiter.All(b).TakeUpTo(ctx, n)
			return taken == n, err
		},
		"wait": func(ctx context.Context, b *ratelimiter.Bucket, n int64) (bool, error) {
			err := b.WaitN(ctx, n)
			return err == nil, err
		},
		"reserve": func(ctx context.Context, b *ratelimiter.Bucket, n int64) (bool, error) {
			_, err := b.ReserveN(ctx, n)
			return err == nil, err
		},
		"all": func(ctx context.Context, b *ratelimiter.Bucket, n int64) (bool, error) {
			d, err := ratelimiter.All(b).Take(ctx, n)
			return d.Allowed, err
		},
		"wait for all": func(ctx context.Context, b *ratelimiter.Bucket, n int64) (bool, error) {
			err := ratelimiter.All(b).WaitN(ctx, n)
			return err == nil, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const burst, goroutines, times = 200_000, 256, 12
			server := redistest.Shared(t)
			proxy := redistest.NewProxy(t, server.Addr())
			l := open(t, proxy.Addr()).RateLimiter(redistest.Name(t))
			_, _, err := l.TrySetRate(t.Context(), slowly(burst))
			require.NoError(t, err)
			proxy.Delay(500*time.Microsecond, 500*time.Microsecond)
			b := l.For("u")
			var granted, left atomic.Int64
			var all sync.WaitGroup
			for g := range goroutines {
				rnd := rand.New(rand.NewPCG(uint64(g), 5))
				all.Go(func() {
					for range times {
						ctx, cancel := context.WithCancel(t.Context())
						after := soon // does not leave
						if rnd.IntN(2) == 0 {
							after = time.Duration(rnd.Int64N(int64(4 * time.Millisecond)))
						}
						timer := time.AfterFunc(after, cancel)
						n := 1 + rnd.Int64N(3)
						ok, err := ask(ctx, b, n)
						timer.Stop()
						cancel()
						switch {
						case errors.Is(err, context.Canceled):
							left.Add(1)
						case assert.NoError(t, err) && assert.True(t, ok, "there is enough for all"):
							granted.Add(n)
						}
					}
				})
			}
			all.Wait()
			require.Greater(t, left.Load(), int64(goroutines*times/20))
			require.Greater(t, granted.Load(), int64(goroutines*times/20))
			want, have := burst-granted.Load(), int64(0)
			redistest.InTime(func() bool {
				d, err := b.Peek(t.Context())
				require.NoError(t, err)
				have = d.Remaining
				return have == want
			}, soon, 5*time.Millisecond)
			assert.Equal(t, want, have, "%d calls were left; %d tokens are lost", left.Load(), want-have)
		})
	}
}

// Waiters that leave a bucket in debt give back what they had reserved, as far
// as nobody reserved behind them.
func TestReservationsOfWaitersThatLeaveComeBack(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(10))
	require.NoError(t, err)
	ok, err := l.AllowN(t.Context(), 10)
	require.NoError(t, err)
	require.True(t, ok)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.WaitN(ctx, 2) }() // ends with ctx
		redistest.Eventually(t, func() bool {
			d, err := l.Peek(t.Context())
			require.NoError(t, err)
			return d.ResetAfter > time.Hour
		}, soon, time.Millisecond)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		redistest.Eventually(t, func() bool {
			d, err := l.Peek(t.Context())
			require.NoError(t, err)
			return d.ResetAfter <= time.Hour
		}, soon, time.Millisecond, "the reservation stays")
	}
}

// A limit that would have let the caller through keeps nothing of a wait that
// another limit made too long.
func TestAWaitForAllThatEndsEarlyGivesBackFromEach(t *testing.T) {
	t.Parallel()
	c, name := open(t, redistest.Shared(t).Addr()), redistest.Name(t)
	slow := c.RateLimiter(name + "/slow").For("u")
	day := c.RateLimiter(name + "/day").For("u")
	for _, l := range []*ratelimiter.Limiter{c.RateLimiter(name + "/slow"), c.RateLimiter(name + "/day")} {
		_, _, err := l.TrySetRate(t.Context(), slowly(10))
		require.NoError(t, err)
	}
	ok, err := slow.AllowN(t.Context(), 10)
	require.NoError(t, err)
	require.True(t, ok)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ratelimiter.All(slow, day).Wait(ctx) }() // ends with ctx
	redistest.Eventually(t, func() bool {
		d, err := day.Peek(t.Context())
		require.NoError(t, err)
		return d.Remaining == 9
	}, soon, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	redistest.Eventually(t, func() bool {
		d, err := day.Peek(t.Context())
		require.NoError(t, err)
		return d.Remaining == 10
	}, soon, 5*time.Millisecond, "the day's token is gone, and nobody used it")
}

func TestAHotKeyCostsFarFewerScriptsThanCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := open(t, server.Addr()).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), slowly(1000))
	require.NoError(t, err)
	const goroutines = 256
	times := redistest.Count(t, 50, 2_000)
	server.ResetStats()
	var granted atomic.Int64
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range times {
				if ok, err := l.Allow(t.Context()); assert.NoError(t, err) && ok {
					granted.Add(1)
				}
			}
		})
	}
	all.Wait()
	calls, scripts := int64(goroutines*times), server.ScriptCalls(t)
	t.Logf("%d calls in %d scripts: %.1f each", calls, scripts, float64(calls)/float64(scripts))
	require.EqualValues(t, 1000, granted.Load())
	require.Less(t, scripts, calls/8)
}

// Fewer scripts than calls must not mean that somebody is told late, or
// twice: each of many mixed calls gets an answer, and the sum is right.
func TestMixedCallsOnOneKeyAddUp(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	const burst = 100_000
	_, _, err := l.TrySetRate(t.Context(), slowly(burst))
	require.NoError(t, err)
	b := l.For("u")
	ok, err := b.AllowN(t.Context(), burst/2) // so that no refund runs over
	require.NoError(t, err)
	require.True(t, ok)
	var taken atomic.Int64
	var all sync.WaitGroup
	for g := range 64 {
		rnd := rand.New(rand.NewPCG(uint64(g), 9))
		all.Go(func() {
			for range 50 {
				n := 1 + rnd.Int64N(5)
				err := errors.New("no operation")
				switch rnd.IntN(6) {
				case 0:
					_, err = b.Take(t.Context(), n)
				case 1:
					err = b.WaitN(t.Context(), n)
				case 2:
					_, err = b.Charge(t.Context(), n)
				case 3:
					err = b.Refund(t.Context(), n)
					n = -n
				case 4:
					_, err = b.Peek(t.Context())
					n = 0
				case 5:
					_, err = b.ReserveN(t.Context(), n)
				}
				if assert.NoError(t, err) {
					taken.Add(n)
				}
			}
		})
	}
	all.Wait()
	d, err := b.Peek(t.Context())
	require.NoError(t, err)
	require.Equal(t, burst/2-taken.Load(), d.Remaining)
}

// A client that closes answers everybody, and forgets nothing that it has
// granted to those whom it told.
func TestCloseAnswersEverybodyOnAHotKey(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c, err := rueidisson.Open("redis://" + server.Addr())
	require.NoError(t, err)
	l := c.RateLimiter(redistest.Name(t))
	const burst = 1_000_000
	_, _, err = l.TrySetRate(t.Context(), slowly(burst))
	require.NoError(t, err)
	var granted atomic.Int64
	var all sync.WaitGroup
	for range 128 {
		all.Go(func() { // ends with the client
			for {
				ok, err := l.Allow(t.Context())
				if err != nil {
					assert.ErrorIs(t, err, ratelimiter.ErrClosed)
					return
				}
				if ok {
					granted.Add(1)
				}
			}
		})
	}
	require.Eventually(t, func() bool { return granted.Load() > 1000 }, soon, time.Millisecond)
	require.NoError(t, c.Close(t.Context()))
	all.Wait()
	d, err := open(t, server.Addr()).RateLimiter(l.Name()).Peek(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, granted.Load(), burst-d.Remaining)
}
