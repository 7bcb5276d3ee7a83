package ratelimiter_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// stocked is a handle that prefetches, behind a proxy, and one on the same
// limiter that shows what the server has left.
func stocked(t testing.TB, r ratelimiter.Rate, n int64) (l, server *ratelimiter.Limiter, p *redistest.Proxy) {
	t.Helper()
	c, p := proxied(t)
	l = limited(t, c, r, ratelimiter.WithPrefetch(n))
	return l, open(t, redistest.Shared(t).Addr()).RateLimiter(l.Name()), p
}

func TestPrefetchedTokensAskNobody(t *testing.T) {
	t.Parallel()
	l, server, p := stocked(t, ratelimiter.PerHour(100), 9)
	gets(t, &l.Bucket, 1)
	holds(t, &server.Bucket, 90)
	p.ResetLog()
	for range 9 {
		gets(t, &l.Bucket, 1)
	}
	assert.Zero(t, p.Count(luaOf(t, "take"))+p.Count(luaOf(t, "decide")))
	holds(t, &server.Bucket, 90)
	gets(t, &l.Bucket, 1)
	holds(t, &server.Bucket, 80)
	gets(t, l.For("a"), 5)
	holds(t, server.For("a"), 86)
}

// A process alone sees what it would see without: its stock is not missing.
func TestAProcessSeesItsStock(t *testing.T) {
	t.Parallel()
	l, _, _ := stocked(t, ratelimiter.PerHour(100), 5)
	left := int64(100)
	for _, n := range []int64{1, 3, 4, 1, 2, 7, 1, 1, 5, 20} {
		left -= n
		assert.Equal(t, left, gets(t, &l.Bucket, n).Remaining, "after %d", n)
	}
}

// Every token is granted once, also those of the last batch.
func TestPrefetchGrantsTheBurstAndNoMore(t *testing.T) {
	t.Parallel()
	const burst = 500
	l, server, _ := stocked(t, ratelimiter.PerHour(burst), 7)
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 20 {
				ok, err := l.Allow(t.Context())
				if !assert.NoError(t, err) {
					return
				}
				if ok {
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	for {
		ok, err := l.Allow(t.Context())
		require.NoError(t, err)
		if !ok {
			break
		}
		granted.Add(1)
	}
	assert.EqualValues(t, burst, granted.Load())
	holds(t, &server.Bucket, 0)
}

// hoards asserts that no more is kept in stock than was asked for: that much is
// lost with the process.
func hoards(t testing.TB, server *ratelimiter.Limiter, granted, most int64) {
	t.Helper()
	var kept int64
	assert.Eventually(t, func() bool {
		d, err := server.Peek(t.Context())
		kept = d.Limit - d.Remaining - granted
		return err == nil && kept <= most
	}, time.Second, 2*time.Millisecond, "too many are kept")
	assert.LessOrEqual(t, kept, most)
}

func TestAStockDoesNotGrowBeyondWhatIsPrefetched(t *testing.T) {
	t.Parallel()
	l, server, _ := stocked(t, ratelimiter.PerHour(1000), 5)
	granted := int64(0)
	for _, n := range []int64{1, 6, 11, 16, 21, 26} {
		gets(t, &l.Bucket, n)
		granted += n
		hoards(t, server, granted, 5)
	}
}

func TestAStockOfManyCallersDoesNotGrowBeyondWhatIsPrefetched(t *testing.T) {
	t.Parallel()
	l, server, p := stocked(t, ratelimiter.PerHour(10_000), 50)
	_, err := l.Rate(t.Context())
	require.NoError(t, err)
	p.Delay(20*time.Millisecond, 20*time.Millisecond)
	var wg sync.WaitGroup
	var granted atomic.Int64
	for range 40 {
		wg.Go(func() {
			if ok, err := l.Allow(t.Context()); assert.NoError(t, err) && ok {
				granted.Add(1)
			}
		})
		pause(t, 2*time.Millisecond)
	}
	wg.Wait()
	hoards(t, server, granted.Load(), 50)
}

// Were a refused request to take tokens along, one that asks again and again
// would keep the bucket from ever holding what it wants.
func TestARefusedRequestPrefetchesNothing(t *testing.T) {
	t.Parallel()
	l, server, _ := stocked(t, ratelimiter.PerHour(10), 4)
	gets(t, &l.Bucket, 1) // 5 are left on the server, 4 are here
	isRefused(t, &l.Bucket, 10)
	willHold(t, &server.Bucket, 5)
	gets(t, server.For("a"), 2)
	isRefused(t, l.For("a"), 9)
	willHold(t, server.For("a"), 8)
}

func TestAStockExpiresWithTheTimeToFull(t *testing.T) {
	t.Parallel()
	r := ratelimiter.Every(10, 50*time.Millisecond)
	l, _, p := stocked(t, r, 5)
	gets(t, &l.Bucket, 1)
	pause(t, 50*time.Millisecond)
	p.ResetLog()
	gets(t, &l.Bucket, 1)
	assert.Equal(t, 1, p.Count(luaOf(t, "take"))+p.Count(luaOf(t, "decide")))
}

func TestAStockIsOfOneRule(t *testing.T) {
	t.Parallel()
	l, server, _ := stocked(t, ratelimiter.PerHour(100), 50)
	gets(t, &l.Bucket, 1)
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(60)))
	holds(t, &server.Bucket, 9)
	isRefused(t, &l.Bucket, 10)
	gets(t, &l.Bucket, 9)
}

func TestWhatEndsAStock(t *testing.T) {
	t.Parallel()
	t.Run("a reset", func(t *testing.T) {
		t.Parallel()
		l, server, _ := stocked(t, ratelimiter.PerHour(100), 50)
		gets(t, &l.Bucket, 50)
		require.NoError(t, l.Reset(t.Context()))
		gets(t, &l.Bucket, 100)
		isRefused(t, &l.Bucket, 1)
		holds(t, &server.Bucket, 0)
	})
	t.Run("a block", func(t *testing.T) {
		t.Parallel()
		l, _, _ := stocked(t, ratelimiter.PerHour(100), 50)
		gets(t, &l.Bucket, 1)
		require.NoError(t, l.Block(t.Context(), time.Hour))
		isRefused(t, &l.Bucket, 1)
	})
	t.Run("a pause", func(t *testing.T) {
		t.Parallel()
		l, _, _ := stocked(t, ratelimiter.PerHour(100), 50)
		gets(t, &l.Bucket, 1)
		require.NoError(t, l.Pause(t.Context()))
		isRefused(t, &l.Bucket, 1)
	})
	t.Run("a delete", func(t *testing.T) {
		t.Parallel()
		l, _, _ := stocked(t, ratelimiter.PerHour(100), 50)
		gets(t, &l.Bucket, 1)
		_, err := l.Delete(t.Context())
		require.NoError(t, err)
		_, err = l.Take(t.Context(), 1)
		require.ErrorIs(t, err, ratelimiter.ErrNoRate)
	})
}

// Tokens that were prefetched before a block began may arrive while it does.
func TestAStockFromBeforeABlockIsNotUsed(t *testing.T) {
	t.Parallel()
	l, _, p := stocked(t, ratelimiter.PerHour(100), 50)
	_, err := l.Rate(t.Context())
	require.NoError(t, err)
	p.ResetLog()
	p.Delay(60*time.Millisecond, 0)
	early := begun(func() error { _, err := l.Take(t.Context(), 1); return err })
	p.AwaitCount(t, redistest.AnyScript(), 1)
	pause(t, 20*time.Millisecond) // it arrives first
	require.NoError(t, l.Block(t.Context(), time.Hour))
	require.NoError(t, outcome(t, early))
	p.Delay(0, 0)
	isRefused(t, &l.Bucket, 1)
}

func TestACallerWhoHasGoneLeavesNothingInStock(t *testing.T) {
	t.Parallel()
	l, server, p := stocked(t, ratelimiter.PerHour(100), 50)
	_, err := l.Rate(t.Context())
	require.NoError(t, err)
	p.ResetLog()
	held := p.HoldRequest(redistest.AnyScript())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := begun(func() error { _, err := l.Take(ctx, 3); return err })
	held.Await(t)
	cancel()
	require.ErrorIs(t, outcome(t, gone), context.Canceled)
	held.Release()
	willHold(t, &server.Bucket, 100)
}
