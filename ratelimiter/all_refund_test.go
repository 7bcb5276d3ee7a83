package ratelimiter_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

func TestPeekingAtAllTakesNothing(t *testing.T) {
	t.Parallel()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.PerMinute(4))
	gets(t, &one.Bucket, 3)
	for range 3 {
		d, err := all.Peek(t.Context())
		require.NoError(t, err)
		require.Len(t, d.Members, 2)
		assert.True(t, d.Allowed && d.Members[0].Allowed && d.Members[1].Allowed)
		assert.EqualValues(t, 7, d.Members[0].Remaining)
		assert.EqualValues(t, 4, d.Members[1].Remaining)
		assert.EqualValues(t, 4, d.Remaining)
		assert.EqualValues(t, 4, d.Limit)
		assert.Zero(t, d.RetryAfter)
		assert.Equal(t, d.Members[0].ResetAfter, d.ResetAfter)
	}
	gets(t, &two.Bucket, 4)
	d, err := all.Peek(t.Context())
	require.NoError(t, err)
	assert.False(t, d.Allowed)
	assert.True(t, d.Members[0].Allowed, "it alone would grant")
	assert.False(t, d.Members[1].Allowed)
	assert.Positive(t, d.RetryAfter)
	assert.Equal(t, d.Members[1].RetryAfter, d.RetryAfter)
	holds(t, &one.Bucket, 7)
}

func TestPeekingAtAllShowsPausesAndBlocks(t *testing.T) {
	t.Parallel()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	gets(t, &one.Bucket, 3)
	require.NoError(t, two.Pause(t.Context()))
	d, err := all.Peek(t.Context())
	require.NoError(t, err)
	assert.True(t, d.Paused && d.Members[1].Paused)
	assert.False(t, d.Allowed || d.Members[1].Allowed || d.Members[0].Paused)
	assert.True(t, d.Members[0].Allowed)
	assert.EqualValues(t, 7, d.Members[0].Remaining)
	assert.Positive(t, d.RetryAfter)

	require.NoError(t, two.Resume(t.Context()))
	require.NoError(t, one.Block(t.Context(), time.Hour))
	d, err = all.Peek(t.Context())
	require.NoError(t, err)
	assert.False(t, d.Allowed || d.Paused || d.Members[0].Allowed)
	assert.True(t, d.Members[1].Allowed)
	assert.Greater(t, d.RetryAfter, 59*time.Minute)
}

func TestARefundGoesBackToAll(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	one, two, all := pair(t, c, ratelimiter.PerHour(10), ratelimiter.PerHour(2000))
	_, err := all.TakeEach(t.Context(), 9, 1500)
	require.NoError(t, err)
	p.ResetLog()
	require.NoError(t, all.Refund(t.Context(), 2))
	assert.Equal(t, 1, p.Count(redistest.AnyScript()), "one call for both")
	holds(t, &one.Bucket, 3)
	holds(t, &two.Bucket, 502)
	require.NoError(t, all.RefundEach(t.Context(), 1, 700))
	holds(t, &one.Bucket, 4)
	holds(t, &two.Bucket, 1202)
	require.NoError(t, all.Refund(t.Context(), math.MaxInt64), "up to full buckets")
	holds(t, &one.Bucket, 10)
	holds(t, &two.Bucket, 2000)
}

func TestRefundsToAllOfManyCallersAreAllGiven(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	one, two, all := pair(t, c, ratelimiter.PerHour(1000), ratelimiter.PerHour(500))
	_, err := all.Take(t.Context(), 400)
	require.NoError(t, err)
	p.Delay(5*time.Millisecond, 5*time.Millisecond)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { assert.NoError(t, all.Refund(t.Context(), 3)) })
	}
	wg.Wait()
	holds(t, &one.Bucket, 900)
	holds(t, &two.Bucket, 400)
	assert.Less(t, p.Count(luaOf(t, "decide")), 50, "those that came together went out together")
}

func TestARefundToAllOfARateThatAnotherSet(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	one, two, all := pair(t, open(t, s.Addr()), ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	_, err := all.Take(t.Context(), 5)
	require.NoError(t, err)
	other := open(t, s.Addr()).RateLimiter(two.Name())
	require.NoError(t, other.SetRate(t.Context(), ratelimiter.PerHour(20)))
	gets(t, &other.Bucket, 1)
	require.NoError(t, all.Refund(t.Context(), 4)) // it learns by the state
	holds(t, &one.Bucket, 9)
	holds(t, &two.Bucket, 18)
}

// It is a refund like any other: it counts while a member is paused, and ends
// what the process knows of refusals.
func TestARefundToAllEndsADenial(t *testing.T) {
	t.Parallel()
	l, _ := emptied(t)
	require.NoError(t, l.Pause(t.Context()))
	require.NoError(t, ratelimiter.All(l).Refund(t.Context(), 10))
	require.NoError(t, l.Resume(t.Context()))
	gets(t, &l.Bucket, 10)
}

func TestARefundToAllStandsWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	one, two, all := pair(t, c, ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	server := open(t, redistest.Shared(t).Addr())
	_, err := all.Take(t.Context(), 5)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held := p.HoldRequest(luaOf(t, "decide"))
	end := begun(func() error { return all.Refund(ctx, 4) })
	held.Await(t)
	cancel()
	require.ErrorIs(t, outcome(t, end), context.Canceled)
	held.Release()
	willHold(t, &server.RateLimiter(one.Name()).Bucket, 9)
	willHold(t, &server.RateLimiter(two.Name()).Bucket, 9)
}

func TestWhatCannotBeRefundedTogether(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.PerHour(4))
	_, err := all.Take(ctx, 4)
	require.NoError(t, err)
	for _, n := range []int64{0, -1} {
		require.ErrorIs(t, all.Refund(ctx, n), ratelimiter.ErrInvalidArgument)
		require.ErrorIs(t, all.RefundEach(ctx, 1, n), ratelimiter.ErrInvalidArgument)
	}
	for _, each := range [][]int64{nil, {1}, {1, 1, 1}} {
		require.ErrorIs(t, all.RefundEach(ctx, each...), ratelimiter.ErrInvalidArgument)
	}
	require.ErrorIs(t, ratelimiter.All().Refund(ctx, 1), ratelimiter.ErrInvalidArgument)
	require.ErrorIs(t, ratelimiter.All().RefundEach(ctx), ratelimiter.ErrInvalidArgument)
	_, err = ratelimiter.All().Peek(ctx)
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	require.ErrorContains(t, err, "peek")
	require.ErrorContains(t, all.Refund(ctx, 0), "all of")
	require.ErrorContains(t, all.Refund(ctx, 0), ": refund: ")
	holds(t, &one.Bucket, 6)
	holds(t, &two.Bucket, 0)
}
