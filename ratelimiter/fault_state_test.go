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

// Where time is counted in milliseconds, the end of a block lies between two of
// them, and the state a little behind it.
func TestACancelWhileBlockedRefillsNothing(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	r := ratelimiter.Rate{N: 999_983, Per: time.Hour, Burst: 2_000_000} // 278/s, full in two hours
	_, _, err := l.TrySetRate(t.Context(), r)
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, l.Reset(t.Context()))
		ok, err := l.AllowN(t.Context(), r.Burst)
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, l.Block(t.Context(), 10*time.Minute))
		before, err := l.Peek(t.Context())
		require.NoError(t, err)
		reserved, err := l.ReserveN(t.Context(), 500_000)
		require.NoError(t, err)
		require.NoError(t, reserved.Cancel(t.Context()))
		after, err := l.Peek(t.Context())
		require.NoError(t, err)
		require.InDelta(t, before.ResetAfter, after.ResetAfter, float64(5*time.Second))
	}
}

// Peek says what Take would, also while the clock has been set back a little.
func TestPeekAgreesWithTakeWhileTheClockIsBehind(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	f.took(3)
	state, err := f.raw.Do(t.Context(), f.raw.B().Get().Key(f.stateKey()).Build()).ToString()
	require.NoError(t, err)
	ahead := moved(t, state, 900*time.Millisecond)
	require.NoError(t, f.raw.Do(t.Context(), f.raw.B().Set().Key(f.stateKey()).Value(ahead).Build()).Error())
	peeked, err := f.direct.Peek(t.Context())
	require.NoError(t, err)
	took, err := f.direct.Take(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, took.Allowed, peeked.Allowed)
	assert.EqualValues(t, 7, peeked.Remaining)
	assert.EqualValues(t, 6, took.Remaining)
}

// On a cluster a rule and the buckets of its keys are on different nodes. A
// failover of the one that has the rule may forget its last change, while
// buckets elsewhere are of that already. They must not be lost for it.
func TestABucketOfARateThatWasForgottenGoesOn(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	older, err := f.raw.Do(t.Context(), f.raw.B().Get().Key(f.name).Build()).ToString()
	require.NoError(t, err)
	require.NoError(t, f.sure.SetRate(t.Context(), ratelimiter.PerHour(20)))
	f.took(4)
	require.NoError(t, f.raw.Do(t.Context(), f.raw.B().Set().Key(f.name).Value(older).Build()).Error())
	_, err = f.sure.Rate(t.Context())
	require.NoError(t, err)
	for name, do := range map[string]func() error{
		"take":   func() error { _, err := f.direct.Take(t.Context(), 1); return err },
		"wait":   func() error { return f.direct.Wait(t.Context()) },
		"refund": func() error { return f.direct.Refund(t.Context(), 2) },
		"all":    func() error { _, err := ratelimiter.All(f.direct).Take(t.Context(), 1); return err },
	} {
		assert.NoError(t, do(), name)
	}
}

// The same after the rate was deleted and created again by a clock that is
// behind: by a promoted replica, or one that was set.
func TestABucketOfARateThatWasDeletedAndCreatedByAnEarlierClock(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	f.took(4)
	state, err := f.raw.Do(t.Context(), f.raw.B().Get().Key(f.stateKey()).Build()).ToString()
	require.NoError(t, err)
	_, err = f.sure.Delete(t.Context())
	require.NoError(t, err)
	future := "9" + state[1:] // of a generation that is still to come
	require.NoError(t, f.raw.Do(t.Context(), f.raw.B().Set().Key(f.stateKey()).Value(future).Build()).Error())
	_, _, err = f.sure.TrySetRate(t.Context(), ratelimiter.PerHour(faultyBurst))
	require.NoError(t, err)
	_, err = f.direct.Take(t.Context(), 1)
	assert.NoError(t, err)
}

// Who waits while the client closes is told so. What it had reserved comes back
// once at the most.
func TestAWaitEndsWithItsClient(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	f.took(faultyBurst)
	c := open(t, f.server.Addr())
	b := c.RateLimiter(f.name).For("u")
	done := make(chan error, 1)
	go func() { done <- b.WaitN(context.Background(), 5) }() // ends with the client
	redistest.Eventually(t, func() bool {
		d, err := f.direct.Peek(t.Context())
		require.NoError(t, err)
		return d.ResetAfter > 80*time.Minute
	}, soon, time.Millisecond)
	require.NoError(t, c.Close(t.Context()))
	require.ErrorIs(t, <-done, ratelimiter.ErrClosed)
	d, err := f.direct.Peek(t.Context())
	require.NoError(t, err)
	t.Logf("given back: %t", d.ResetAfter <= time.Hour)
	assert.Greater(t, d.ResetAfter, time.Hour-time.Minute)
}
