package ratelimiter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Everybody follows a changed rate within a second, also on buckets that nobody
// has touched by the new one. A slow machine adds nothing to that second: what
// counts is when a request began.
func TestAChangedRateIsFollowedEverywhereWithinASecond(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	followsWithinASecond(t, open(t, s.Addr()), open(t, s.Addr()))
}

func followsWithinASecond(t *testing.T, one, other *rueidisson.Client) {
	name := redistest.Name(t)
	here, there := one.RateLimiter(name), other.RateLimiter(name)
	before, after := ratelimiter.PerHour(1_000_000), ratelimiter.PerHour(500_000)
	_, _, err := here.TrySetRate(t.Context(), before)
	require.NoError(t, err)
	d, err := there.For("u").Take(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, before, d.Rate)

	require.NoError(t, here.SetRate(t.Context(), after))
	changed, followed := time.Now(), 0
	d, err = here.For("u").Take(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, after, d.Rate, "who changed it follows at once")
	for i := 0; followed < 100; i++ { // each key once: no state tells there that the rate has changed
		asked := time.Now()
		d, err := there.For(time.Duration(i).String()).Take(t.Context(), 1)
		require.NoError(t, err)
		switch {
		case d.Rate == after:
			if followed++; followed == 1 {
				t.Logf("followed after %v", time.Since(changed))
			}
		default:
			require.Equal(t, before, d.Rate)
			require.Zero(t, followed, "it knew the new one already")
			require.Less(t, asked.Sub(changed), time.Second, "a request of that time was decided by the old rate")
		}
	}
}

// A process that does not know of the change learns it from the first bucket
// that was used since.
func TestAStateOfANewerRateIsDecidedByThatAtOnce(t *testing.T) {
	t.Parallel()
	s, name := redistest.Shared(t), redistest.Name(t)
	here, there := open(t, s.Addr()).RateLimiter(name), open(t, s.Addr()).RateLimiter(name)
	for range 20 {
		require.NoError(t, here.SetRate(t.Context(), ratelimiter.PerHour(10), ratelimiter.WithReset()))
		d, err := here.For("u").Take(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		_, err = there.Rate(t.Context()) // is fresh now
		require.NoError(t, err)

		require.NoError(t, here.SetRate(t.Context(), ratelimiter.PerHour(3)))
		d, err = here.For("u").Take(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		d, err = there.For("u").Take(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, ratelimiter.PerHour(3), d.Rate)
		require.True(t, d.Allowed)
		require.Zero(t, d.Remaining, "two were taken before: whole tokens stay taken")
		_, err = there.For("u").Take(t.Context(), 4)
		require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
	}
}

// The same for a request that was possible by the rate that is known here, and
// is not by the one that is stored.
func TestARequestThatTheNewerRateCannotGrantIsAnError(t *testing.T) {
	t.Parallel()
	s, name := redistest.Shared(t), redistest.Name(t)
	here, there := open(t, s.Addr()).RateLimiter(name), open(t, s.Addr()).RateLimiter(name)
	ctx, cancel := context.WithCancel(t.Context()) // without a deadline, which would be the answer
	defer time.AfterFunc(3*time.Second, cancel).Stop()
	for op, ask := range map[string]func(b *ratelimiter.Bucket) error{
		"take":    func(b *ratelimiter.Bucket) error { _, err := b.Take(t.Context(), 8); return err },
		"wait":    func(b *ratelimiter.Bucket) error { return b.WaitN(ctx, 8) },
		"reserve": func(b *ratelimiter.Bucket) error { _, err := b.ReserveN(t.Context(), 8); return err },
		"all":     func(b *ratelimiter.Bucket) error { _, err := ratelimiter.All(b).Take(t.Context(), 8); return err },
	} {
		require.NoError(t, here.SetRate(t.Context(), ratelimiter.PerHour(10), ratelimiter.WithReset()), op)
		_, err := there.Rate(t.Context())
		require.NoError(t, err, op)
		require.NoError(t, here.SetRate(t.Context(), ratelimiter.PerHour(3)), op)
		ok, err := here.For("u").Allow(t.Context())
		require.NoError(t, err, op)
		require.True(t, ok, op)
		assert.ErrorIs(t, ask(there.For("u")), ratelimiter.ErrExceedsBurst, op)
		d, err := here.For("u").Peek(t.Context())
		require.NoError(t, err, op)
		assert.EqualValues(t, 2, d.Remaining, "%s took something", op)
	}
}

func TestAPauseIsFollowedEverywhereWithinASecond(t *testing.T) {
	t.Parallel()
	s, name := redistest.Shared(t), redistest.Name(t)
	here, there := open(t, s.Addr()).RateLimiter(name), open(t, s.Addr()).RateLimiter(name)
	_, _, err := here.TrySetRate(t.Context(), ratelimiter.PerHour(1_000_000))
	require.NoError(t, err)
	for _, of := range []struct {
		change  func() error
		allowed bool
	}{
		{func() error { return here.Pause(t.Context()) }, false},
		{func() error { return here.Resume(t.Context()) }, true},
		{func() error { return here.Pause(t.Context()) }, false},
		{func() error { return here.Resume(t.Context()) }, true},
	} {
		_, err := there.Rate(t.Context())
		require.NoError(t, err)
		require.NoError(t, of.change())
		changed := time.Now()
		for {
			asked := time.Now()
			ok, err := there.Allow(t.Context())
			require.NoError(t, err)
			if ok == of.allowed {
				break
			}
			require.Less(t, asked.Sub(changed), time.Second)
		}
		ok, err := here.Allow(t.Context())
		require.NoError(t, err)
		require.Equal(t, of.allowed, ok)
	}
}
