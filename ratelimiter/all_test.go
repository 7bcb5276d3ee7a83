package ratelimiter_test

import (
	"context"
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

// pair are two limiters, and both as one.
func pair(t testing.TB, c *rueidisson.Client, first, second ratelimiter.Rate) (one, two *ratelimiter.Limiter, all *ratelimiter.Combined) {
	t.Helper()
	one, two = limited(t, c, first), limited(t, c, second)
	return one, two, ratelimiter.All(one, two)
}

func TestAllTakesFromAllOrNone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.PerMinute(4))
	d, err := all.Take(ctx, 3)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.Len(t, d.Members, 2)
	assert.True(t, d.Members[0].Allowed && d.Members[1].Allowed)
	assert.EqualValues(t, 7, d.Members[0].Remaining)
	assert.EqualValues(t, 1, d.Members[1].Remaining)
	assert.EqualValues(t, 1, d.Remaining)
	assert.EqualValues(t, 4, d.Limit)
	assert.Equal(t, ratelimiter.PerMinute(4), d.Rate)
	assert.Zero(t, d.RetryAfter)
	assert.Equal(t, d.Members[0].ResetAfter, d.ResetAfter)

	d, err = all.Take(ctx, 2)
	require.NoError(t, err)
	require.False(t, d.Allowed)
	assert.True(t, d.Members[0].Allowed, "it alone would have granted")
	assert.Zero(t, d.Members[0].RetryAfter)
	assert.False(t, d.Members[1].Allowed)
	assert.Positive(t, d.RetryAfter)
	assert.Equal(t, d.Members[1].RetryAfter, d.RetryAfter)
	holds(t, &one.Bucket, 7)
	holds(t, &two.Bucket, 1)

	d, err = all.TakeEach(ctx, 7, 1)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	d, err = all.TakeEach(ctx, 4, 2) // 24 minutes and half a minute
	require.NoError(t, err)
	require.False(t, d.Allowed)
	assert.Equal(t, d.Members[0].RetryAfter, d.RetryAfter, "the longest")
	assert.EqualValues(t, 4, ceilTo(d.RetryAfter, 6*time.Minute))
	ok, err := all.AllowN(ctx, 1)
	require.NoError(t, err)
	assert.False(t, ok)
}

func TestAllOfKeys(t *testing.T) {
	t.Parallel()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.PerHour(3))
	for range 3 {
		ok, err := all.For("a").Allow(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
	}
	ok, err := all.For("a").Allow(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
	holds(t, one.For("a"), 7)
	holds(t, two.For("a"), 0)
	holds(t, one.For("b"), 10)
	holds(t, &two.Bucket, 3)
	paying := ratelimiter.All(one.For("a"), two.For("a", ratelimiter.WithRule(ratelimiter.PerHour(30))))
	d, err := paying.Take(t.Context(), 7)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	holds(t, one.For("a"), 0)
}

func TestAllGrantsWhatTheSmallestMemberHas(t *testing.T) {
	t.Parallel()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1000), ratelimiter.PerHour(200))
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 15 {
				d, err := all.Take(t.Context(), 1)
				if !assert.NoError(t, err) {
					return
				}
				if d.Allowed {
					left := 200 - d.Members[1].Remaining
					assert.Equal(t, left, 1000-d.Members[0].Remaining)
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 200, granted.Load())
	holds(t, &one.Bucket, 800)
	holds(t, &two.Bucket, 0)
}

func TestAllCombinesCallsThatComeTogether(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	_, _, all := pair(t, c, ratelimiter.PerHour(1000), ratelimiter.PerHour(200))
	_, err := all.Take(t.Context(), 1)
	require.NoError(t, err)
	p.ResetLog()
	p.Delay(50*time.Millisecond, 50*time.Millisecond)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			ok, err := all.Allow(t.Context())
			assert.NoError(t, err)
			assert.True(t, ok)
		})
	}
	wg.Wait()
	assert.Less(t, p.Count(luaOf(t, "decide")), 50)
}

// Calls that wait may go out together only if they are allowed the same debt.
// Nothing else passes until one has been answered, so that something is owed
// whichever is heard next: requests go over several connections, and overtake
// each other.
func TestAllKeepsBoundsOfDebtApart(t *testing.T) {
	t.Parallel()
	const flights = 4 // about one bucket
	c, p := proxied(t)
	free := limited(t, c, ratelimiter.PerHour(1), ratelimiter.WithMaxWait(24*time.Hour))
	bounded := c.RateLimiter(free.Name(), ratelimiter.WithMaxWait(24*time.Hour), ratelimiter.WithMaxDebt(1))
	gets(t, &free.Bucket, 1)
	holds(t, &free.Bucket, 0) // and the server knows the script
	_, err := bounded.Rate(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ends []<-chan error
	wait := func(l *ratelimiter.Limiter) {
		ends = append(ends, begun(func() error { return ratelimiter.All(l).Wait(ctx) }))
	}
	var held []*redistest.Held
	for range flights + 2 {
		held = append(held, p.HoldRequest(luaOf(t, "decide")))
	}
	for range flights {
		wait(free)
		pause(t, 5*time.Millisecond) // for it to leave by itself: else less is combined
	}
	held[0].Await(t)
	wait(free)
	wait(bounded)
	pause(t, 20*time.Millisecond) // for both to queue
	for _, h := range held {
		h.Release()
	}
	assert.ErrorIs(t, outcome(t, ends[flights+1]), ratelimiter.ErrExceedsDebt)
	cancel()
	for _, end := range ends[:flights+1] {
		require.ErrorIs(t, outcome(t, end), context.Canceled)
	}
}

func TestAWaitForAllLastsAsLongAsTheLongest(t *testing.T) {
	t.Parallel()
	_, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.Every(1, 10*time.Millisecond), ratelimiter.Every(1, 40*time.Millisecond))
	began := time.Now()
	for range 4 {
		require.NoError(t, all.Wait(t.Context()))
	}
	require.GreaterOrEqual(t, time.Since(began), 3*40*time.Millisecond)
	// Without a reset, what is there would depend on how much of a token has come.
	require.NoError(t, two.SetRate(t.Context(), ratelimiter.PerHour(1), ratelimiter.WithReset()))
	gets(t, &two.Bucket, 1)
	err := all.Wait(withTimeout(t, 20*time.Minute))
	require.ErrorIs(t, err, ratelimiter.ErrExceedsDeadline)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAWaitForAllThatIsRefusedTakesNothing(t *testing.T) {
	t.Parallel()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	gets(t, &two.Bucket, 8)
	require.ErrorIs(t, all.WaitN(withTimeout(t, time.Minute), 3), ratelimiter.ErrExceedsDeadline)
	holds(t, &one.Bucket, 10)
	holds(t, &two.Bucket, 2)
}

// The tokens of a wait that is cancelled were not used, those of the members
// that had them at once no more than the others.
func TestAWaitForAllThatIsCancelledGivesBackToAll(t *testing.T) {
	t.Parallel()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	gets(t, &two.Bucket, 8)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	end := begun(func() error { return all.WaitN(ctx, 4) })
	willHold(t, &one.Bucket, 6)
	cancel(errEnough)
	err := outcome(t, end)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errEnough)
	willHold(t, &two.Bucket, 2)
	require.Eventually(t, func() bool {
		d, err := one.Peek(t.Context())
		return err == nil && d.Remaining == 10
	}, soon, 5*time.Millisecond, "what was there at once does not come back")
}

func TestACallerOfAllWhoHasGoneTakesNothing(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	one, two, all := pair(t, c, ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	server := open(t, redistest.Shared(t).Addr())
	_, err := all.Take(t.Context(), 1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held := p.HoldRequest(luaOf(t, "decide"))
	end := begun(func() error { _, err := all.Take(ctx, 4); return err })
	held.Await(t)
	cancel()
	require.ErrorIs(t, outcome(t, end), context.Canceled)
	held.Release()
	willHold(t, &server.RateLimiter(one.Name()).Bucket, 9)
	willHold(t, &server.RateLimiter(two.Name()).Bucket, 9)
}

func TestAPausedMemberStopsAll(t *testing.T) {
	t.Parallel()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	require.NoError(t, two.Pause(t.Context()))
	d, err := all.Take(t.Context(), 1)
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.Positive(t, d.RetryAfter)
	require.Len(t, d.Members, 2)
	assert.Equal(t, d.RetryAfter, d.Members[1].RetryAfter)
	holds(t, &one.Bucket, 10)
	require.NoError(t, two.Resume(t.Context()))
	ok, err := all.Allow(t.Context())
	require.NoError(t, err)
	assert.True(t, ok)
}

func TestABlockedMemberStopsAll(t *testing.T) {
	t.Parallel()
	one, two, all := pair(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	require.NoError(t, two.Block(t.Context(), time.Hour))
	d, err := all.Take(t.Context(), 1)
	require.NoError(t, err)
	require.False(t, d.Allowed)
	assert.Greater(t, d.RetryAfter, 59*time.Minute)
	assert.True(t, d.Members[0].Allowed)
	assert.False(t, d.Members[1].Allowed)
	require.ErrorIs(t, all.Wait(withTimeout(t, time.Minute)), ratelimiter.ErrExceedsDeadline)
	holds(t, &one.Bucket, 10)
}

func TestAllFollowsARateThatAnotherSet(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	one, two, all := pair(t, open(t, s.Addr()), ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	_, err := all.Take(t.Context(), 2)
	require.NoError(t, err)
	other := open(t, s.Addr()).RateLimiter(two.Name())
	require.NoError(t, other.SetRate(t.Context(), ratelimiter.PerHour(5)))
	gets(t, &other.Bucket, 1)
	d, err := all.Take(t.Context(), 2) // it learns by the state
	require.NoError(t, err)
	require.True(t, d.Allowed)
	assert.EqualValues(t, 0, d.Members[1].Remaining)
	require.NoError(t, other.SetRate(t.Context(), ratelimiter.PerHour(3), ratelimiter.WithReset()))
	gets(t, &other.Bucket, 1)
	_, err = all.Take(t.Context(), 4)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
	require.ErrorContains(t, err, ": take: "+two.String()+": ", "which of them")
	holds(t, &one.Bucket, 6)
}

// The member that can never grant is the reason, also where another has a
// longer queue.
func TestAWaitForAllNamesTheMemberWhoseBurstIsTooSmall(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	_, two, all := pair(t, open(t, s.Addr()), ratelimiter.Every(10, 1000*time.Hour), ratelimiter.PerSecond(10))
	require.NoError(t, all.Wait(t.Context()))
	other := open(t, s.Addr()).RateLimiter(two.Name())
	require.NoError(t, other.SetRate(t.Context(), ratelimiter.PerSecond(3)))
	gets(t, &other.Bucket, 1)
	err := all.WaitN(withTimeout(t, time.Hour), 10) // it learns by the state
	require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
	require.ErrorContains(t, err, ": wait: "+two.String()+": ")
}

// Handles may expect different rates, and be asked about together.
func TestARateThatComesMeanwhileIsNotTheExpectedOneOfAMember(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	for op, do := range map[string]func(a *ratelimiter.Combined) error{
		"take": func(a *ratelimiter.Combined) error { _, err := a.Take(t.Context(), 1); return err },
		"wait": func(a *ratelimiter.Combined) error { return a.Wait(t.Context()) },
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			c := open(t, s.Addr())
			one, mine := limited(t, c, ratelimiter.PerHour(10)), limited(t, open(t, s.Addr()), ratelimiter.PerHour(5))
			strict := ratelimiter.All(one, c.RateLimiter(mine.Name(), ratelimiter.WithExpectedRate(ratelimiter.PerHour(5))))
			require.NoError(t, do(strict)) // it knows the rate for half a second
			require.NoError(t, mine.SetRate(t.Context(), ratelimiter.PerHour(50)))
			gets(t, &mine.Bucket, 1)
			err := do(strict)
			require.ErrorIs(t, err, ratelimiter.ErrOtherRate)
			require.ErrorContains(t, err, mine.String())
			willHold(t, &mine.Bucket, 48) // what it took goes back
			willHold(t, &one.Bucket, 9)
		})
	}
}

func TestWhatCannotBeDecidedTogether(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c, p := proxied(t)
	one, two, all := pair(t, c, ratelimiter.PerHour(10), ratelimiter.PerHour(4))
	perClient := limited(t, c, ratelimiter.PerHour(4).PerClient())
	none := c.RateLimiter(redistest.Name(t))
	ctx := t.Context()
	_, err := all.Take(ctx, 1)
	require.NoError(t, err)
	p.ResetLog()
	for name, test := range map[string]struct {
		all  *ratelimiter.Combined
		want error
	}{
		"no members":          {ratelimiter.All(), ratelimiter.ErrInvalidArgument},
		"a nil member":        {ratelimiter.All(one, nil), ratelimiter.ErrInvalidArgument},
		"a nil member's keys": {ratelimiter.All(one, nil).For("a"), ratelimiter.ErrInvalidArgument},
		"a nil limiter":       {ratelimiter.All(one, (*ratelimiter.Limiter)(nil)), ratelimiter.ErrInvalidArgument},
		"a nil limiter's key": {ratelimiter.All((*ratelimiter.Limiter)(nil), one).For("a"), ratelimiter.ErrInvalidArgument},
		"a nil bucket":        {ratelimiter.All((*ratelimiter.Bucket)(nil)), ratelimiter.ErrInvalidArgument},
		"a zero limiter":      {ratelimiter.All(one, new(ratelimiter.Limiter)), ratelimiter.ErrInvalidArgument},
		"a zero bucket":       {ratelimiter.All(new(ratelimiter.Bucket), one), ratelimiter.ErrInvalidArgument},
		"a member twice":      {ratelimiter.All(one, two, c.RateLimiter(one.Name())), ratelimiter.ErrInvalidArgument},
		"two clients":         {ratelimiter.All(one, open(t, s.Addr()).RateLimiter(two.Name())), ratelimiter.ErrInvalidArgument},
		"a rate per client":   {ratelimiter.All(one, perClient), ratelimiter.ErrInvalidArgument},
		"an empty key":        {all.For(""), ratelimiter.ErrInvalidArgument},
		"an empty name":       {ratelimiter.All(one, c.RateLimiter("")), ratelimiter.ErrInvalidArgument},
		"a bad option":        {ratelimiter.All(one, c.RateLimiter("x", nil)), ratelimiter.ErrInvalidArgument},
		"no rate":             {ratelimiter.All(one, none), ratelimiter.ErrNoRate},
		"more than a burst":   {all, ratelimiter.ErrExceedsBurst},
	} {
		t.Run(name, func(t *testing.T) {
			n := int64(1)
			if test.all == all {
				n = 5
			}
			_, err := test.all.Take(ctx, n)
			assert.ErrorIs(t, err, test.want)
			assert.ErrorContains(t, err, "take")
			assert.ErrorContains(t, err, "all of")
			_, err = test.all.AllowN(ctx, n)
			assert.ErrorIs(t, err, test.want)
			err = test.all.WaitN(ctx, n)
			assert.ErrorIs(t, err, test.want)
			assert.ErrorContains(t, err, "wait")
		})
	}
	for _, n := range []int64{0, -1} {
		_, err := all.Take(ctx, n)
		assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
		_, err = all.TakeEach(ctx, 1, n)
		assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
		assert.ErrorIs(t, all.WaitN(ctx, n), ratelimiter.ErrInvalidArgument)
	}
	for _, each := range [][]int64{nil, {1}, {1, 1, 1}} {
		_, err := all.TakeEach(ctx, each...)
		assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	}
	_, err = ratelimiter.All().TakeEach(ctx)
	assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	_, err = all.Take(nil, 1) //lint:ignore SA1012 it is what this tests
	assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	assert.Zero(t, p.Count(luaOf(t, "decide")), "nothing was sent")
	holds(t, &one.Bucket, 9)
}
