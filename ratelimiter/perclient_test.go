package ratelimiter_test

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

func TestPerClientAsksNobodyForTokens(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	l := limited(t, c, ratelimiter.PerHour(300).PerClient())
	ctx := t.Context()
	began := time.Now()
	for range 200 {
		gets(t, &l.Bucket, 1)
		gets(t, l.For("a"), 1)
	}
	r, err := l.ReserveN(ctx, 100)
	require.NoError(t, err)
	require.Zero(t, r.Delay())
	r, err = l.Reserve(ctx)
	require.NoError(t, err)
	require.NoError(t, r.Cancel(ctx))
	require.NoError(t, l.For("b").Wait(ctx))
	_, err = l.Charge(ctx, 3)
	require.NoError(t, err)
	require.NoError(t, l.Refund(ctx, 3))
	require.NoError(t, l.For("c").Block(ctx, time.Hour))
	holds(t, &l.Bucket, 0)
	for _, name := range []string{"take", "decide", "cancel", "block"} {
		assert.Zero(t, p.Count(luaOf(t, name)), name)
	}
	assert.LessOrEqual(t, p.Count(luaOf(t, "rule_read")), 4+int(time.Since(began)/(500*time.Millisecond)))
}

func TestClientsOfAPerClientRateAreIndependent(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	one := limited(t, open(t, s.Addr()), ratelimiter.PerHour(5).PerClient())
	two := open(t, s.Addr()).RateLimiter(one.Name())
	gets(t, &one.Bucket, 5)
	isRefused(t, &one.Bucket, 1)
	gets(t, &two.Bucket, 5)
	isRefused(t, &two.Bucket, 1)
	require.NoError(t, one.Reset(t.Context()))
	gets(t, &one.Bucket, 5)
	isRefused(t, &two.Bucket, 1)
}

func TestPerClientGrantsTheRateAndNoMore(t *testing.T) {
	t.Parallel()
	const per = 50 * time.Microsecond
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.Every(1, per).WithBurst(40).PerClient())
	began := time.Now()
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for time.Since(began) < 150*time.Millisecond || granted.Load() <= 40 && time.Since(began) < soon {
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
	assert.LessOrEqual(t, granted.Load(), 40+int64(time.Since(began)/per)+1)
	assert.Greater(t, granted.Load(), int64(40))
}

// A decision of many callers at once says what is left, as one of a lone one.
func TestPerClientSaysWhatIsLeftToManyCallers(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1_000_000).PerClient())
	gets(t, &l.Bucket, 1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				d, err := l.Take(t.Context(), 1)
				if !assert.NoError(t, err) || !assert.Positive(t, d.Remaining, "%+v", d) {
					return
				}
			}
		})
	}
	wg.Wait()
}

// Keys that are full again cost nothing. It measures the memory of the process,
// and so does not run beside others.
func TestPerClientForgetsFullBuckets(t *testing.T) {
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.Every(1000, time.Millisecond).PerClient())
	use := func(from, to int) uint64 {
		for i := from; i < to; i++ {
			gets(t, l.For("key:"+strconv.Itoa(i)), 1)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const many = 60_000
	before := use(0, 2000)
	after := use(2000, many)
	assert.Less(t, int64(after)-int64(before), int64(many*50), "bytes for %d keys", many)
}

func TestAPerClientRateTravelsToo(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	b := c.RateLimiter(redistest.Name(t)).For("a", ratelimiter.WithRule(ratelimiter.PerHour(2).PerClient()))
	p.ResetLog()
	gets(t, b, 2)
	isRefused(t, b, 1)
	assert.Zero(t, p.Count(redistest.AnyScript()))
	require.NoError(t, b.Reset(t.Context()))
	gets(t, b, 2)
}
