package ratelimiter_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

func TestARateThatIsNotTheExpectedOneIsAnError(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := open(t, redistest.Shared(t).Addr())
	l := limited(t, c, ratelimiter.PerSecond(5))
	strict := c.RateLimiter(l.Name(), ratelimiter.WithExpectedRate(ratelimiter.PerSecond(6)))
	_, err := strict.Take(ctx, 1)
	require.ErrorIs(t, err, ratelimiter.ErrOtherRate)
	require.ErrorContains(t, err, "5/s burst 5")
	require.ErrorContains(t, err, "6/s burst 6")
	require.ErrorIs(t, strict.Wait(ctx), ratelimiter.ErrOtherRate)
	require.ErrorIs(t, strict.For("k").Refund(ctx, 1), ratelimiter.ErrOtherRate)
	_, err = ratelimiter.All(strict).Take(ctx, 1)
	require.ErrorIs(t, err, ratelimiter.ErrOtherRate)
	holds(t, &l.Bucket, 5)

	require.NoError(t, strict.SetRate(ctx, ratelimiter.PerSecond(6)))
	gets(t, &strict.Bucket, 1)
	for name, other := range map[string]ratelimiter.Rate{
		"burst": ratelimiter.PerSecond(6).WithBurst(7), "type": ratelimiter.PerSecond(6).PerClient(), "form": ratelimiter.Every(12, 2*time.Second).WithBurst(6),
	} {
		_, err := c.RateLimiter(l.Name(), ratelimiter.WithExpectedRate(other)).Take(ctx, 1)
		require.ErrorIs(t, err, ratelimiter.ErrOtherRate, name)
	}
}

// A process that learns of another rate by the state of a bucket has to say so,
// too.
func TestARateThatComesMeanwhileIsNotTheExpectedOne(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	mine := limited(t, open(t, s.Addr()), ratelimiter.PerHour(5))
	strict := open(t, s.Addr()).RateLimiter(mine.Name(), ratelimiter.WithExpectedRate(ratelimiter.PerHour(5)))
	gets(t, &strict.Bucket, 1) // it knows the rate for half a second
	require.NoError(t, mine.SetRate(t.Context(), ratelimiter.PerHour(50)))
	gets(t, &mine.Bucket, 1)
	d, err := strict.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrOtherRate, "%+v", d)
	willHold(t, &mine.Bucket, 48) // what it took goes back
}

func TestPeekingAtARateThatComesMeanwhile(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	for name, peek := range map[string]func(l *ratelimiter.Limiter) error{
		"one": func(l *ratelimiter.Limiter) error { _, err := l.Peek(t.Context()); return err },
		"all": func(l *ratelimiter.Limiter) error { _, err := ratelimiter.All(l).Peek(t.Context()); return err },
	} {
		mine := limited(t, open(t, s.Addr()), ratelimiter.PerHour(5))
		strict := open(t, s.Addr()).RateLimiter(mine.Name(), ratelimiter.WithExpectedRate(ratelimiter.PerHour(5)))
		gets(t, &strict.Bucket, 1) // it knows the rate for half a second
		require.NoError(t, mine.SetRate(t.Context(), ratelimiter.PerHour(50)))
		gets(t, &mine.Bucket, 1)
		require.ErrorIs(t, peek(strict), ratelimiter.ErrOtherRate, name)
	}
}

func TestSetRateKeepsWhatWasTaken(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		for _, b := range []*ratelimiter.Bucket{&l.Bucket, l.For("a")} {
			gets(t, b, 6)
		}
		for _, burst := range []int64{20, 6, 1000, 7} { // 14, 0, 994, 1 are left
			r.Burst = burst
			require.NoError(t, l.SetRate(t.Context(), r))
			for _, b := range []*ratelimiter.Bucket{&l.Bucket, l.For("a")} {
				holds(t, b, burst-6)
			}
		}
		r.Burst = 4
		require.NoError(t, l.SetRate(t.Context(), r))
		holds(t, l.For("a"), 0)
		r.Burst = 8
		require.NoError(t, l.SetRate(t.Context(), r, ratelimiter.WithReset()))
		for _, b := range []*ratelimiter.Bucket{&l.Bucket, l.For("a")} {
			gets(t, b, 8)
		}
	})
}

// A reset that was followed by another change is still a reset for a bucket
// that was not used between the two.
func TestAResetIsNotForgottenByTheNextChange(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		gets(t, l.For("a"), 10)
		require.NoError(t, l.SetRate(t.Context(), r, ratelimiter.WithReset()))
		gets(t, l.For("b"), 10)
		require.NoError(t, l.SetRate(t.Context(), r))
		gets(t, l.For("a"), 10)
		isRefused(t, l.For("b"), 1)
	})
}

// The time before a rate was set passes at the rate of then.
func TestAFasterRateGainsNothingForTheTimeBeforeIt(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(100_000), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		gets(t, &l.Bucket, 100_000)
		pause(t, 100*time.Millisecond)
		began := time.Now()
		fast := ratelimiter.PerSecond(100_000)
		fast.Type = r.Type
		require.NoError(t, l.SetRate(t.Context(), fast))
		d, err := l.Peek(t.Context())
		require.NoError(t, err)
		most := int64(time.Since(began)*100_000/time.Second) + 100_000/3600 + 1
		require.LessOrEqual(t, d.Remaining, most)
	})
}

func TestSetRateOfAnotherType(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(3))
	gets(t, &l.Bucket, 3)
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(3).PerClient()))
	gets(t, &l.Bucket, 3)
	isRefused(t, &l.Bucket, 1)
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(3)))
	isRefused(t, &l.Bucket, 1)
}

func TestDeleteForgetsTheRate(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(3), func(t *testing.T, r ratelimiter.Rate) {
		ctx := t.Context()
		s := redistest.Shared(t)
		l := limited(t, open(t, s.Addr()), r)
		gets(t, &l.Bucket, 3)
		gets(t, l.For("a"), 3)
		there, err := l.Delete(ctx)
		require.NoError(t, err)
		require.True(t, there)
		there, err = l.Delete(ctx)
		require.NoError(t, err)
		require.False(t, there)
		_, err = l.Take(ctx, 1)
		require.ErrorIs(t, err, ratelimiter.ErrNoRate)
		require.ErrorContains(t, err, l.Name())
		_, err = l.Rate(ctx)
		require.ErrorIs(t, err, ratelimiter.ErrNoRate)
		require.Empty(t, stored(t, s.Client(t), unkeyed(l)))

		_, created, err := l.TrySetRate(ctx, r)
		require.NoError(t, err)
		require.True(t, created)
		gets(t, &l.Bucket, 3)
		gets(t, l.For("a"), 3)
	})
}

// A key that goes by a rule of its own does so whatever becomes of the stored
// one.
func TestDeleteDoesNotTouchAKeyWithARuleOfItsOwn(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10))
	own := l.For("a", ratelimiter.WithRule(ratelimiter.PerHour(5)))
	gets(t, own, 4)
	gets(t, l.For("b"), 4)
	there, err := l.Delete(t.Context())
	require.NoError(t, err)
	require.True(t, there)
	holds(t, own, 1)
	_, created, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(10))
	require.NoError(t, err)
	require.True(t, created)
	holds(t, own, 1)
	holds(t, l.For("a"), 6)
	holds(t, l.For("b"), 10)
	require.NoError(t, own.Reset(t.Context()))
	holds(t, l.For("a"), 10)
}

func TestTrySetRateKeepsWhatIsStored(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	l := limited(t, open(t, s.Addr()), ratelimiter.PerHour(3))
	gets(t, &l.Bucket, 2)
	for _, other := range []*ratelimiter.Limiter{l, open(t, s.Addr()).RateLimiter(l.Name())} {
		there, created, err := other.TrySetRate(t.Context(), ratelimiter.PerHour(9).PerClient())
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, ratelimiter.PerHour(3), there)
		holds(t, &other.Bucket, 1)
	}
}

// What a failover forgot of the rule, the states of keys may still know.
func TestABucketOfALostRuleIsNotDead(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	raw := s.Client(t)
	l := limited(t, open(t, s.Addr()), ratelimiter.PerHour(5))
	old := stored(t, raw, l.Name())
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(6)))
	gets(t, l.For("a"), 2)
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(l.Name()).Value(old).Build()).Error())
	other := open(t, s.Addr()).RateLimiter(l.Name())
	d, err := other.For("a").Take(t.Context(), 1)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.EqualValues(t, 2, d.Remaining)
}

// Rate reads what is stored now, also while an older answer is on its way.
func TestRateIsWhatIsStoredNow(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	slow := limited(t, c, ratelimiter.PerHour(1))
	direct := open(t, redistest.Shared(t).Addr()).RateLimiter(slow.Name())
	p.ResetLog()
	p.Delay(0, 500*time.Millisecond)
	early := begun(func() error { _, err := slow.Rate(t.Context()); return err })
	p.AwaitCount(t, luaOf(t, "rule_read"), 1)
	pause(t, 20*time.Millisecond) // it is at the server, and its answer is not here yet
	require.NoError(t, direct.SetRate(t.Context(), ratelimiter.PerHour(2)))
	r, err := slow.Rate(t.Context())
	require.NoError(t, err)
	assert.Equal(t, ratelimiter.PerHour(2), r)
	require.NoError(t, outcome(t, early))
}

func TestAKeyWithARuleOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, limiter := range map[string]*ratelimiter.Rate{"beside a stored one": ratePtr(ratelimiter.PerHour(2)), "without a stored one": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, redistest.Shared(t).Addr())
			l := c.RateLimiter(redistest.Name(t))
			if limiter != nil {
				require.NoError(t, l.SetRate(t.Context(), *limiter))
			}
			free := l.For("a", ratelimiter.WithRule(ratelimiter.PerHour(5)))
			paying := l.For("a", ratelimiter.WithRule(ratelimiter.PerHour(100)))
			gets(t, free, 4)
			holds(t, paying, 96)
			gets(t, paying, 90)
			holds(t, free, 0)
			holds(t, paying, 6)
			require.NoError(t, paying.Refund(t.Context(), 91))
			holds(t, free, 2)
			if limiter != nil {
				holds(t, l.For("a"), 0)
				gets(t, &l.Bucket, 2)
				require.NoError(t, l.SetRate(t.Context(), *limiter, ratelimiter.WithReset()))
			}
			holds(t, free, 2)
		})
	}
}

func ratePtr(r ratelimiter.Rate) *ratelimiter.Rate { return &r }

func TestTwoRulesInTurnsOnOneKeyGrantNoMoreThanTheLarger(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.Every(1, 4*time.Millisecond).WithBurst(5), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r)
		small := ratelimiter.Every(3, 13*time.Millisecond).WithBurst(4)
		small.Type = r.Type
		buckets := []*ratelimiter.Bucket{
			l.For("a", ratelimiter.WithRule(r)), l.For("a", ratelimiter.WithRule(small)),
		}
		began, granted := time.Now(), int64(0)
		for i := 0; time.Since(began) < 200*time.Millisecond || granted <= 10 && time.Since(began) < soon; i++ {
			ok, err := buckets[i%2].Allow(t.Context())
			require.NoError(t, err)
			if ok {
				granted++
			}
		}
		assert.LessOrEqual(t, granted, 5+int64(time.Since(began)/(4*time.Millisecond))+1)
		assert.Greater(t, granted, int64(10), "neither starves the other")
	})
}

func TestChargesGoIntoDebt(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		ctx := t.Context()
		c := open(t, redistest.Shared(t).Addr())
		l := limited(t, c, r)
		d, err := l.Charge(ctx, 4)
		require.NoError(t, err)
		assert.EqualValues(t, 6, d.Remaining)
		_, err = l.Charge(ctx, 26) // more than the burst
		require.NoError(t, err)
		d = isRefused(t, &l.Bucket, 1)
		assert.EqualValues(t, 21, ceilTo(d.RetryAfter, 6*time.Minute))
		bounded := c.RateLimiter(l.Name(), ratelimiter.WithMaxDebt(25))
		_, err = bounded.Charge(ctx, 6)
		require.ErrorIs(t, err, ratelimiter.ErrExceedsDebt)
		_, err = bounded.Charge(ctx, 5)
		require.NoError(t, err)
		_, err = bounded.Charge(ctx, 1)
		require.ErrorIs(t, err, ratelimiter.ErrExceedsDebt)
		require.EqualValues(t, -25, tokensOf(t, &l.Bucket, 6*time.Minute))

		require.NoError(t, l.Settle(ctx, 7, 7))
		require.NoError(t, l.Settle(ctx, 10, 4))
		require.NoError(t, l.Settle(ctx, 2, 3))
		require.EqualValues(t, -20, tokensOf(t, &l.Bucket, 6*time.Minute))
		require.ErrorIs(t, bounded.Settle(ctx, 0, 6), ratelimiter.ErrExceedsDebt)
		require.NoError(t, l.Refund(ctx, 1_000))
		holds(t, &l.Bucket, 10)
		_, err = l.Charge(ctx, 1<<62)
		require.ErrorIs(t, err, ratelimiter.ErrExceedsDebt)
		require.NoError(t, l.Refund(ctx, 1<<62))
		holds(t, &l.Bucket, 10)
	})
}

func TestOddKeysAreBucketsOfTheirOwn(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	l := limited(t, c, ratelimiter.PerHour(2))
	long := strings.Repeat("x", 10_000)
	odd := []string{
		"{", "}", "{}", "{a}", "a}b{c", "%", "%25", "%7B", " ", "\x00", "\xff\xfe", "größe 🪣", "\r\n", "bucket", ":", "*",
		long, long + "y", strings.Repeat("{", 64), strings.Repeat("{", 65), strings.Repeat("\xff", 65),
		"%2d711642b726b04401627ca9fbac32f5", // as a hash is spelled
	}
	for _, key := range odd {
		t.Run(fmt.Sprintf("%.40q", key), func(t *testing.T) {
			t.Parallel()
			gets(t, l.For(key), 2)
			isRefused(t, l.For(key), 1)
		})
	}
	gets(t, &l.Bucket, 2)
	_, err := l.For("").Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
}

// Handles with a rate of their own are not held to the stored one, also where
// several of them go out together.
func TestARuleOfOnesOwnIsNotTheExpectedOne(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	l := limited(t, c, ratelimiter.PerHour(5))
	strict := c.RateLimiter(l.Name(), ratelimiter.WithExpectedRate(ratelimiter.PerHour(5)))
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range 20 {
				_, err := strict.For("k", ratelimiter.WithRule(ratelimiter.PerHour(1_000_000))).Take(t.Context(), 1)
				if !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	all.Wait()
}
