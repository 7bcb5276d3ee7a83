package redissonlimiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// TestTheAlgorithmsRefuseEachOther: a name is one limiter or the other, never
// two budgets.
func TestTheAlgorithmsRefuseEachOther(t *testing.T) {
	rigOnEveryServer(t, func(t *testing.T, r *rig) {
		ctx, bucket := t.Context(), ratelimiter.New(r.e, r.name)
		r.set(atMost(5, time.Hour))
		r.allowed(2)
		before := r.state()
		_, _, err := bucket.TrySetRate(ctx, ratelimiter.PerHour(5))
		require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)
		require.ErrorIs(t, bucket.SetRate(ctx, ratelimiter.PerHour(5)), ratelimiter.ErrOtherAlgorithm)
		_, err = bucket.Take(ctx, 1)
		require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)
		_, err = bucket.Delete(ctx)
		require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)
		require.Equal(t, before, r.state())

		_, err = r.Delete(ctx)
		require.NoError(t, err)
		_, created, err := bucket.TrySetRate(ctx, ratelimiter.PerHour(5))
		require.NoError(t, err)
		require.True(t, created)
		d, err := bucket.Take(ctx, 2)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		for op, err := range everyOperation(ctx, r.Limiter) {
			require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm, op)
		}
		d, err = bucket.Peek(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 3, d.Remaining)
	})
}
