package ratelimiter_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
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

// Peek is what a request would get, and that is served from stock.
// A request is not served from both, so what is in stock brings one that the
// server refuses no closer.
func TestARefusalBesideAStockSaysWhenTheServerWouldGrant(t *testing.T) {
	t.Parallel()
	l, server, _ := stocked(t, ratelimiter.PerHour(10), 5)
	gets(t, &l.Bucket, 2)
	holds(t, &server.Bucket, 3)
	d := isRefused(t, &l.Bucket, 8)
	assert.InDelta(t, 30*time.Minute, d.RetryAfter, float64(time.Minute), "5 tokens of 10 an hour")
	gets(t, &l.Bucket, 5)
}

func TestPeekSeesTheStock(t *testing.T) {
	t.Parallel()
	l, server, _ := stocked(t, ratelimiter.PerHour(10), 6)
	gets(t, &l.Bucket, 1)
	holds(t, &l.Bucket, 9)
	gets(t, &server.Bucket, 3)
	d, err := l.Peek(t.Context())
	require.NoError(t, err)
	assert.True(t, d.Allowed, "the server has none, and six are here: %+v", d)
	assert.EqualValues(t, 6, d.Remaining)
	assert.Zero(t, d.RetryAfter)
	require.NoError(t, server.Block(t.Context(), time.Hour)) // what is here still passes
	d, err = l.Peek(t.Context())
	require.NoError(t, err)
	assert.True(t, d.Allowed)
	gets(t, &l.Bucket, 6)
	d, err = l.Peek(t.Context())
	require.NoError(t, err)
	assert.False(t, d.Allowed)
	require.NoError(t, l.Reset(t.Context()))
	holds(t, &l.Bucket, 10)
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
	}, soon, 2*time.Millisecond, "too many are kept")
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

// A bucket that gets full in more time than a clock can count is one whose
// stock does not expire.
func TestAStockOfABucketThatFillsInCenturies(t *testing.T) {
	t.Parallel()
	r := ratelimiter.Every(1, 200*365*24*time.Hour).WithBurst(6)
	l, _, p := stocked(t, r, 5)
	gets(t, &l.Bucket, 1)
	p.ResetLog()
	for range 5 {
		gets(t, &l.Bucket, 1)
	}
	assert.Zero(t, p.Count(luaOf(t, "take"))+p.Count(luaOf(t, "decide")))
	isRefused(t, &l.Bucket, 1)
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

// heldBack calls do, whose request of that script is held back on its way, and
// leaves it. What is asked next may take another connection.
func heldBack(t *testing.T, script string, opts ...ratelimiter.Option) (l *ratelimiter.Limiter, leave func(do func(ctx context.Context) error) *redistest.Held) {
	t.Helper()
	p := redistest.NewProxy(t, redistest.Shared(t).Addr())
	c, err := rueidisson.New(rueidis.ClientOption{
		InitAddress: []string{p.Addr()}, ForceSingleClient: true, DisableCache: true, PipelineMultiplex: 4,
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(context.Background())) })
	l = limited(t, c, ratelimiter.PerHour(10_000_000), opts...)
	return l, func(do func(ctx context.Context) error) *redistest.Held {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		held := p.HoldRequest(luaOf(t, script))
		gone := begun(func() error { return do(ctx) })
		held.Await(t)
		cancel()
		require.ErrorIs(t, outcome(t, gone), context.Canceled)
		return held
	}
}

// passes asks until a request has found a connection that is not held up.
func passes(t *testing.T, l *ratelimiter.Limiter, n int64) (d ratelimiter.Decision) {
	t.Helper()
	require.Eventually(t, func() (ok bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		var err error
		d, err = l.Take(ctx, n)
		return err == nil
	}, soon, time.Millisecond)
	return d
}

// Who blocks and leaves before the answer has blocked all the same: what was
// prefetched before the block began is not used after it.
func TestAStockFromBeforeABlockWhoseCallerLeftIsNotUsed(t *testing.T) {
	t.Parallel()
	l, leave := heldBack(t, "block", ratelimiter.WithPrefetch(1_000_000))
	held := leave(func(ctx context.Context) error { return l.Block(ctx, time.Hour) })
	require.True(t, passes(t, l, 1).Allowed)
	held.Release()
	require.Eventually(t, func() bool {
		d, err := l.Take(t.Context(), 1)
		return err == nil && !d.Allowed
	}, soon, 2*time.Millisecond, "the stock outlives the block")
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
