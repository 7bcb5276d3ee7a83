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

// both are the kinds of rate.
func both(t *testing.T, r ratelimiter.Rate, test func(t *testing.T, r ratelimiter.Rate)) {
	t.Helper()
	t.Run("overall", func(t *testing.T) { t.Parallel(); test(t, r) })
	t.Run("per client", func(t *testing.T) { t.Parallel(); test(t, r.PerClient()) })
}

func TestAPausedLimiterGrantsNothing(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		ctx := t.Context()
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		require.NoError(t, l.Pause(ctx))
		require.NoError(t, l.Pause(ctx), "again")
		for _, b := range []*ratelimiter.Bucket{&l.Bucket, l.For("a")} {
			d := isRefused(t, b, 1)
			assert.EqualValues(t, 10, d.Limit)
			assert.Equal(t, r, d.Rate)
			ok, err := b.AllowN(ctx, 2)
			require.NoError(t, err)
			assert.False(t, ok)
			d, err = b.Peek(ctx)
			require.NoError(t, err)
			assert.False(t, d.Allowed)
			assert.Positive(t, d.RetryAfter)
			assert.EqualValues(t, 10, d.Remaining)
		}
		d, err := l.For("paying", ratelimiter.WithRule(ratelimiter.PerHour(3))).Take(ctx, 1)
		require.NoError(t, err)
		assert.True(t, d.Allowed, "a rule that travels with the call is not paused")
		_, err = l.Charge(ctx, 4)
		require.NoError(t, err)
		require.NoError(t, l.Refund(ctx, 1))
		got, err := l.Rate(ctx)
		require.NoError(t, err)
		assert.Equal(t, r, got)

		require.NoError(t, l.Resume(ctx))
		require.NoError(t, l.Resume(ctx), "again")
		assert.EqualValues(t, 0, gets(t, &l.Bucket, 7).Remaining)
	})
}

func TestWhatAPausedLimiterSaysToReservations(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		require.NoError(t, l.Pause(t.Context()))
		_, err := l.Reserve(t.Context())
		assert.ErrorIs(t, err, ratelimiter.ErrExceedsDebt)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		assert.ErrorIs(t, l.Wait(ctx), ratelimiter.ErrExceedsDeadline)
	})
}

// Only Resume ends a pause: who sets a rate at each start must not open what an
// operator has closed.
func TestSetRateKeepsAPause(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		require.NoError(t, l.Pause(t.Context()))
		other := r.WithBurst(5)
		for name, set := range map[string]func() error{
			"the same":              func() error { return l.SetRate(t.Context(), r) },
			"the same, with reset":  func() error { return l.SetRate(t.Context(), r, ratelimiter.WithReset()) },
			"another":               func() error { return l.SetRate(t.Context(), other) },
			"another, with a reset": func() error { return l.SetRate(t.Context(), other, ratelimiter.WithReset()) },
		} {
			require.NoError(t, set(), name)
			assert.True(t, isRefused(t, &l.Bucket, 1).Paused, name)
		}
		require.NoError(t, l.SetRate(t.Context(), other))
		require.NoError(t, l.Resume(t.Context()))
		gets(t, &l.Bucket, 5)
	})
}

// A program that sets its rate at each start, or a reconciler, changes nothing.
func TestTheSameRateAgainChangesNothing(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerSecond(100).WithBurst(1))
	raw := redistest.Shared(t).Client(t)
	stored := func() string {
		text, err := raw.Do(t.Context(), raw.B().Get().Key(l.Name()).Build()).ToString()
		require.NoError(t, err)
		return text
	}
	before := stored()
	for granted := 0; granted < 10; {
		require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerSecond(100).WithBurst(1)))
		ok, err := l.Allow(t.Context())
		require.NoError(t, err)
		if ok {
			granted++
		}
	}
	require.Equal(t, before, stored())
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerSecond(100).WithBurst(1), ratelimiter.WithReset()))
	require.NotEqual(t, before, stored())
}

func TestAPauseWantsARate(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	require.ErrorIs(t, l.Pause(t.Context()), ratelimiter.ErrNoRate)
	require.ErrorIs(t, l.Resume(t.Context()), ratelimiter.ErrNoRate)
}

// What another process did is known to every call that begins a second later.
func TestAnotherProcessFollowsWithinASecond(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	for name, test := range map[string]struct {
		change  func(ctx context.Context, l *ratelimiter.Limiter) error
		follows func(d ratelimiter.Decision, err error) bool
	}{
		"a pause": {
			func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Pause(ctx) },
			func(d ratelimiter.Decision, err error) bool { return err == nil && !d.Allowed },
		},
		"a rate": {
			func(ctx context.Context, l *ratelimiter.Limiter) error {
				return l.SetRate(ctx, ratelimiter.PerHour(1<<20+1))
			},
			func(d ratelimiter.Decision, err error) bool { return err == nil && d.Limit == 1<<20+1 },
		},
		"a delete": {
			func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Delete(ctx); return err },
			func(_ ratelimiter.Decision, err error) bool { return err != nil },
		},
	} {
		for kind, r := range map[string]ratelimiter.Rate{"overall": ratelimiter.PerHour(1 << 20), "per client": ratelimiter.PerHour(1 << 20).PerClient()} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				mine := limited(t, open(t, s.Addr()), r)
				theirs := open(t, s.Addr()).RateLimiter(mine.Name())
				gets(t, &theirs.Bucket, 1)
				require.NoError(t, test.change(t.Context(), mine))
				changed := time.Now()
				for {
					asked := time.Now()
					d, err := theirs.Take(t.Context(), 1)
					if test.follows(d, err) {
						break
					}
					require.NoError(t, err)
					require.Less(t, asked.Sub(changed), time.Second)
					pause(t, 5*time.Millisecond)
				}
			})
		}
	}
}

// pause lets some time pass.
func pause(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

func TestAWaitLastsOverAPause(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		s := redistest.Shared(t)
		l := limited(t, open(t, s.Addr()), r)
		require.NoError(t, l.Pause(t.Context()))
		ctx, cancel := context.WithDeadline(t.Context(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
		defer cancel()
		distant := begun(func() error { return l.Wait(ctx) })
		end := begun(func() error { return l.WaitN(t.Context(), 2) })
		several := begun(func() error { return waitForAll(ctx, l, r) })
		pause(t, 50*time.Millisecond)
		select {
		case err := <-end:
			require.FailNow(t, "a wait ended in a pause", err)
		case err := <-several:
			require.FailNow(t, "a wait for several limits ended in a pause", err)
		default:
		}
		require.NoError(t, open(t, s.Addr()).RateLimiter(l.Name()).Resume(t.Context()))
		require.NoError(t, outcome(t, end))
		require.NoError(t, outcome(t, several))
		assert.NoError(t, outcome(t, distant), "a deadline that is farther away than a time.Duration reaches")
	})
}

func waitForAll(ctx context.Context, l *ratelimiter.Limiter, r ratelimiter.Rate) error {
	if r.Type == ratelimiter.PerClient { // All does not take it
		return l.WaitN(ctx, 2)
	}
	return ratelimiter.All(l).WaitN(ctx, 2)
}

func TestACancelEndsAWaitForTheEndOfAPause(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10))
	require.NoError(t, l.Pause(t.Context()))
	ctx, cancel := context.WithCancelCause(t.Context())
	end := begun(func() error { return l.Wait(ctx) })
	cancel(errEnough)
	err := outcome(t, end)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errEnough)
}

func TestABlockedBucketGrantsNothing(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		ctx := t.Context()
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		for _, b := range []*ratelimiter.Bucket{&l.Bucket, l.For("a"), l.For("b", ratelimiter.WithRule(ruleLike(r)))} {
			require.NoError(t, b.Block(ctx, time.Hour))
			d := isRefused(t, b, 1)
			assert.Zero(t, d.Remaining)
			assert.LessOrEqual(t, d.RetryAfter, time.Hour)
			assert.Greater(t, d.RetryAfter, 59*time.Minute)
			d, err := b.Peek(ctx)
			require.NoError(t, err)
			assert.False(t, d.Allowed)
			assert.Greater(t, d.RetryAfter, 59*time.Minute)

			require.NoError(t, b.Block(ctx, 2*time.Hour), "longer")
			assert.Greater(t, isRefused(t, b, 1).RetryAfter, time.Hour)
			require.NoError(t, b.Reset(ctx))
			gets(t, b, 10)
		}
		gets(t, l.For("c"), 1)
	})
}

func ruleLike(r ratelimiter.Rate) ratelimiter.Rate { return r.WithBurst(10) }

func TestABlockEndsByItself(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		gets(t, &l.Bucket, 4)
		began := time.Now()
		require.NoError(t, l.Block(t.Context(), 50*time.Millisecond))
		for {
			d, err := l.Take(t.Context(), 6)
			require.NoError(t, err)
			if d.Allowed {
				break
			}
			pause(t, max(d.RetryAfter, time.Millisecond))
		}
		require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
		isRefused(t, &l.Bucket, 1) // a block is no reset
	})
}

// A shorter block replaces a longer one. What the longer one would have let the
// bucket gain is not there.
func TestAShorterBlockMintsNothing(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		for name, use := range map[string]func(t *testing.T, l *ratelimiter.Limiter){
			"when nobody asked meanwhile": func(*testing.T, *ratelimiter.Limiter) {},
			"when some were refused":      func(t *testing.T, l *ratelimiter.Limiter) { isRefused(t, &l.Bucket, 1) },
			"when some looked": func(t *testing.T, l *ratelimiter.Limiter) {
				_, err := l.Peek(t.Context())
				require.NoError(t, err)
			},
			"when some were charged": func(t *testing.T, l *ratelimiter.Limiter) {
				_, err := l.Charge(t.Context(), 1)
				require.NoError(t, err)
			},
			"when some reserved": func(t *testing.T, l *ratelimiter.Limiter) {
				one, err := l.Reserve(t.Context())
				require.NoError(t, err)
				require.Greater(t, one.Delay(), 9*time.Hour)
			},
			"when some were given back": func(t *testing.T, l *ratelimiter.Limiter) {
				require.NoError(t, l.Refund(t.Context(), 1))
				_, err := l.Charge(t.Context(), 1)
				require.NoError(t, err)
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := limited(t, open(t, redistest.Shared(t).Addr()), r)
				gets(t, &l.Bucket, 10)
				require.NoError(t, l.Block(t.Context(), 10*time.Hour))
				use(t, l)
				require.NoError(t, l.Block(t.Context(), time.Microsecond))
				pause(t, 2*time.Millisecond)
				holds(t, &l.Bucket, 0)
				isRefused(t, &l.Bucket, 1)
			})
		}
	})
}

// After a shorter block the bucket goes on to fill.
func TestAShorterBlockDoesNotStopTheBucketFromFilling(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.Every(1, 10*time.Millisecond).WithBurst(5), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		gets(t, &l.Bucket, 5)
		require.NoError(t, l.Block(t.Context(), time.Hour))
		isRefused(t, &l.Bucket, 1)
		require.NoError(t, l.Block(t.Context(), time.Microsecond))
		for range 10 {
			require.NoError(t, l.Wait(withTimeout(t, 10*time.Second)))
		}
	})
}

func withTimeout(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestABlockIsForTheBucketThatItNames(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	l := limited(t, c, ratelimiter.PerHour(10))
	require.NoError(t, l.For("a").Block(t.Context(), time.Hour))
	gets(t, &l.Bucket, 1)
	gets(t, l.For("b"), 1)
	gets(t, c.RateLimiter(l.Name()+"2").For("a", ratelimiter.WithRule(ratelimiter.PerHour(1))), 1)
	_, err := open(t, redistest.Shared(t).Addr()).RateLimiter(l.Name()).For("a").Charge(t.Context(), 1)
	require.NoError(t, err, "a charge is not kept out")
	isRefused(t, l.For("a"), 1)
}

func TestABlockLastsOverARateChange(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		require.NoError(t, l.Block(t.Context(), time.Hour))
		r.Burst = 20
		require.NoError(t, l.SetRate(t.Context(), r))
		isRefused(t, &l.Bucket, 1)
		require.NoError(t, l.SetRate(t.Context(), r, ratelimiter.WithReset()))
		isRefused(t, &l.Bucket, 1)
	})
}

func TestBlocksOfExtremeLength(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		const longest = 100 * 365 * 24 * time.Hour
		require.NoError(t, l.Block(t.Context(), longest))
		assert.Greater(t, isRefused(t, &l.Bucket, 1).RetryAfter, longest-time.Minute)
		require.ErrorIs(t, l.Wait(withTimeout(t, 20*time.Second)), ratelimiter.ErrExceedsDeadline)
		for _, d := range []time.Duration{longest + 1, 0, -time.Second, 999 * time.Nanosecond} {
			require.ErrorIs(t, l.Block(t.Context(), d), ratelimiter.ErrInvalidArgument)
		}
	})
}

func TestResetFillsTheBucket(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		gets(t, l.For("a"), 10)
		gets(t, l.For("b"), 10)
		require.NoError(t, l.For("a").Reset(t.Context()))
		require.NoError(t, l.For("a").Reset(t.Context()), "again")
		gets(t, l.For("a"), 10)
		isRefused(t, l.For("b"), 1)
	})
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	require.NoError(t, l.For("a").Reset(t.Context()), "without a rate")
}
