package ratelimiter_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// denying is a handle that remembers refusals, behind a proxy.
func denying(t testing.TB, r ratelimiter.Rate) (*ratelimiter.Limiter, *redistest.Proxy) {
	t.Helper()
	c, p := proxied(t)
	return limited(t, c, r, ratelimiter.WithLocalDenial()), p
}

func TestAKnownRefusalAsksNobody(t *testing.T) {
	t.Parallel()
	l, p := denying(t, ratelimiter.PerHour(4))
	gets(t, &l.Bucket, 3)
	first := isRefused(t, &l.Bucket, 2)
	p.ResetLog()
	began := time.Now()
	for range 500 {
		d := isRefused(t, &l.Bucket, 2)
		assert.LessOrEqual(t, d.RetryAfter, first.RetryAfter)
		assert.EqualValues(t, 1, d.Remaining)
		assert.Equal(t, first.Rate, d.Rate)
	}
	seconds := 1 + int(time.Since(began)/time.Second)
	assert.LessOrEqual(t, p.Count(luaOf(t, "take")), seconds)
	gets(t, &l.Bucket, 1) // fewer are there
	gets(t, l.For("another"), 4)
}

func TestADenialIsForgottenAfterASecond(t *testing.T) {
	t.Parallel()
	l, _ := denying(t, ratelimiter.PerHour(4))
	other := open(t, redistest.Shared(t).Addr()).RateLimiter(l.Name())
	gets(t, &l.Bucket, 4)
	isRefused(t, &l.Bucket, 1)
	require.NoError(t, other.Refund(t.Context(), 1))
	pause(t, time.Second+time.Millisecond)
	gets(t, &l.Bucket, 1)
}

// Once a refusal says when to come back, a request of then is not refused by
// memory.
func TestADenialEndsWhenTheTokensAreThere(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]ratelimiter.Rate{
		"fine":     ratelimiter.Every(1, 3*time.Millisecond),
		"fraction": ratelimiter.Every(7, 31*time.Millisecond).WithBurst(3),
		"seconds":  {N: 1 << 22, Per: 5003 * time.Second, Burst: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, p := denying(t, r)
			for i := 0; i < 25; {
				d, err := l.Take(t.Context(), 1)
				require.NoError(t, err)
				if d.Allowed {
					i++
					continue
				}
				pause(t, d.RetryAfter)
				p.ResetLog()
				d, err = l.Take(t.Context(), 1)
				require.NoError(t, err)
				require.True(t, d.Allowed || p.Count(redistest.AnyScript()) > 0, "refused by memory: %+v", d)
				i++
			}
		})
	}
}

// Every refusal is checked against what the server says afterwards: it has no
// fewer tokens then, as nobody else takes any.
func TestADenialRefusesNothingThatTheServerWouldGrant(t *testing.T) {
	t.Parallel()
	l, _ := denying(t, ratelimiter.Every(3, 10*time.Millisecond).WithBurst(20))
	direct := open(t, redistest.Shared(t).Addr()).RateLimiter(l.Name())
	random := rand.New(rand.NewPCG(1, 2))
	refusals := 0
	for range redistest.Count(t, 400, 15_000) {
		n := 1 + random.Int64N(20)
		before, err := direct.Peek(t.Context())
		require.NoError(t, err)
		d, err := l.Take(t.Context(), n)
		require.NoError(t, err)
		if d.Allowed {
			continue
		}
		refusals++
		require.Less(t, before.Remaining, n, "it was there before it was asked for: %+v", d)
	}
	require.Positive(t, refusals)
}

// emptied leaves a bucket without a token, and the handle knowing it.
func emptied(t *testing.T) (*ratelimiter.Limiter, *redistest.Proxy) {
	l, p := denying(t, ratelimiter.PerHour(10))
	gets(t, &l.Bucket, 10)
	isRefused(t, &l.Bucket, 10)
	return l, p
}

func TestWhatFillsTheBucketEndsADenial(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(ctx context.Context, l *ratelimiter.Limiter) error{
		"refund": func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Refund(ctx, 10) },
		"settle": func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Settle(ctx, 12, 2) },
		"reset":  func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Reset(ctx) },
		"new rate": func(ctx context.Context, l *ratelimiter.Limiter) error {
			return l.SetRate(ctx, ratelimiter.PerHour(20))
		},
		"rate with a reset": func(ctx context.Context, l *ratelimiter.Limiter) error {
			return l.SetRate(ctx, ratelimiter.PerHour(10), ratelimiter.WithReset())
		},
		"new limiter": func(ctx context.Context, l *ratelimiter.Limiter) error {
			if _, err := l.Delete(ctx); err != nil {
				return err
			}
			_, _, err := l.TrySetRate(ctx, ratelimiter.PerHour(10))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := emptied(t)
			require.NoError(t, fill(t.Context(), l))
			gets(t, &l.Bucket, 10)
		})
	}
}

// A refusal that was decided before the bucket was filled may arrive while that
// is under way.
func TestARefusalFromBeforeIsNotRemembered(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(ctx context.Context, l *ratelimiter.Limiter) error{
		"refund": func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Refund(ctx, 10) },
		"reset":  func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Reset(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, p := denying(t, ratelimiter.PerHour(10))
			gets(t, &l.Bucket, 10)
			p.ResetLog()
			p.Delay(60*time.Millisecond, 0)
			refusal := begun(func() error { _, err := l.Take(t.Context(), 10); return err })
			p.AwaitCount(t, luaOf(t, "take"), 1)
			pause(t, 20*time.Millisecond) // it arrives first
			require.NoError(t, fill(t.Context(), l))
			require.NoError(t, outcome(t, refusal))
			p.Delay(0, 0)
			gets(t, &l.Bucket, 10)
		})
	}
}

// Who resets and leaves before the answer has reset all the same: a refusal from
// before that is forgotten when the answer comes. It would be after a second
// anyway, which a busy machine may lose: then it tries again.
func TestARefusalFromBeforeAResetWhoseCallerLeftIsForgotten(t *testing.T) {
	t.Parallel()
	l, leave := heldBack(t, "reset", ratelimiter.WithLocalDenial())
	early := false
	for range 5 {
		passes(t, l, 10_000_000) // what an earlier try reset is taken again
		held := leave(func(ctx context.Context) error { return l.Reset(ctx) })
		began := time.Now()
		require.False(t, passes(t, l, 10_000_000).Allowed)
		held.Release()
		require.Eventually(t, func() bool {
			d, err := l.Take(t.Context(), 10_000_000)
			return err == nil && d.Allowed
		}, soon, time.Millisecond)
		if early = time.Since(began) < time.Second; early {
			break
		}
	}
	require.True(t, early, "it was only forgotten after a second")
}

// What is given back for a caller that has gone ends a denial, too.
func TestTheTokensOfACallerWhoHasGoneEndADenial(t *testing.T) {
	t.Parallel()
	l, p := denying(t, ratelimiter.PerHour(10))
	gets(t, &l.Bucket, 1)
	pipelines(t, l)
	p.ResetLog()
	p.Delay(0, 200*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := begun(func() error { _, err := ratelimiter.All(l, l.For("another")).Take(ctx, 5); return err }) // has a line of its own
	p.AwaitCount(t, luaOf(t, "decide"), 1)
	refused := begun(func() error {
		d, err := l.Take(t.Context(), 6)
		if err == nil && d.Allowed {
			return errEnough
		}
		return err
	})
	p.AwaitCount(t, luaOf(t, "take"), 1)
	cancel()
	require.ErrorIs(t, outcome(t, gone), context.Canceled)
	require.NoError(t, outcome(t, refused), "what is under way is not there yet")
	p.Delay(0, 0)
	willHold(t, &l.Bucket, 9)
	gets(t, &l.Bucket, 6)
}

// pipelines makes the limiter's client send a call while the reply to another
// is awaited: rueidis does so on a connection once it had two calls at once.
func pipelines(t testing.TB, l *ratelimiter.Limiter) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			_, err := l.For(strconv.Itoa(i)).Peek(t.Context())
			assert.NoError(t, err)
		})
	}
	wg.Wait()
}

func TestACancelledReservationEndsADenial(t *testing.T) {
	t.Parallel()
	l, _ := denying(t, ratelimiter.PerHour(10))
	gets(t, &l.Bucket, 4)
	r, err := l.ReserveN(t.Context(), 10)
	require.NoError(t, err)
	isRefused(t, &l.Bucket, 1)
	require.NoError(t, r.Cancel(t.Context()))
	gets(t, &l.Bucket, 6)
}

func TestADenialKnowsOfBlocks(t *testing.T) {
	t.Parallel()
	l, p := denying(t, ratelimiter.PerHour(10))
	require.NoError(t, l.Block(t.Context(), time.Hour))
	assert.Greater(t, isRefused(t, &l.Bucket, 1).RetryAfter, 59*time.Minute)
	p.ResetLog()
	assert.Greater(t, isRefused(t, &l.Bucket, 1).RetryAfter, 59*time.Minute)
	assert.Zero(t, p.Count(luaOf(t, "decide")))
	require.NoError(t, l.Block(t.Context(), time.Microsecond)) // replaces the first
	pause(t, 2*time.Millisecond)
	gets(t, &l.Bucket, 10)

	full, wait := blockedFor(t, l)
	pause(t, wait)
	gets(t, full, 10)
}

// blockedFor is a full bucket of which it is known for how long it is blocked:
// not for long, but until that is known.
func blockedFor(t testing.TB, l *ratelimiter.Limiter) (*ratelimiter.Bucket, time.Duration) {
	t.Helper()
	for d := 30 * time.Millisecond; ; d *= 2 {
		b, began := l.For(d.String()), time.Now()
		require.NoError(t, b.Block(t.Context(), d))
		got, err := b.Take(t.Context(), 1)
		require.NoError(t, err)
		if !got.Allowed {
			require.Positive(t, got.RetryAfter)
			return b, got.RetryAfter
		}
		require.Greater(t, time.Since(began), d, "a block is over early")
	}
}
