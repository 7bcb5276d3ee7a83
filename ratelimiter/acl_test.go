package ratelimiter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// TestTheACLOfTheDocsLetsLimitersWork runs what limiters do under the user that
// docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsLetsLimitersWork(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	c, err := rueidisson.New(user.Option())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(t.Context())) })
	ctx := t.Context()

	limit := c.RateLimiter("orders:api")
	require.NoError(t, limit.SetRate(ctx, ratelimiter.PerSecond(5), ratelimiter.WithRuleTTL(time.Hour)))
	require.NoError(t, user.Admin.Do(ctx, user.Admin.B().Expire().Key("orders:api").Seconds(60).Build()).Error())
	_, err = limit.Rate(ctx)
	require.NoError(t, err)
	left, err := user.Admin.Do(ctx, user.Admin.B().Ttl().Key("orders:api").Build()).AsInt64()
	require.NoError(t, err)
	require.Greater(t, left, int64(3500), "it was prolonged")
	for title, one := range map[string]*ratelimiter.Bucket{"without a key": &limit.Bucket, "for a key": limit.For("user")} {
		_, err = one.Take(ctx, 3)
		require.NoError(t, err, title)
		require.NoError(t, one.Wait(ctx), title)
		_, err = one.Peek(ctx)
		require.NoError(t, err, title)
		_, err = one.Charge(ctx, 1)
		require.NoError(t, err, title)
		require.NoError(t, one.Refund(ctx, 1), title)
		reserved, err := one.Reserve(ctx)
		require.NoError(t, err, title)
		require.NoError(t, reserved.Cancel(ctx), title)
		require.NoError(t, one.Block(ctx, time.Minute), title)
		require.NoError(t, one.Reset(ctx), title)
	}
	_, err = ratelimiter.All(limit, limit.For("user")).Take(ctx, 1)
	require.NoError(t, err)
	require.NoError(t, limit.Pause(ctx))
	require.NoError(t, limit.Resume(ctx))
	_, err = limit.Delete(ctx)
	require.NoError(t, err)

	shared := c.RedissonRateLimiter("orders:java")
	require.NoError(t, shared.SetRate(ctx, redissonlimiter.Rate{Permits: 5, Interval: time.Second}))
	_, err = shared.Take(ctx, 3)
	require.NoError(t, err)
	require.NoError(t, shared.Wait(ctx))
	require.NoError(t, shared.Release(ctx, 2))
	_, err = shared.Peek(ctx)
	require.NoError(t, err)
	_, err = shared.UpdateRate(ctx, redissonlimiter.Rate{Permits: 6, Interval: time.Second, KeepAlive: time.Hour}, redissonlimiter.WithKeepState())
	require.NoError(t, err)
	_, err = shared.Delete(ctx)
	require.NoError(t, err)

	user.NothingDenied(t)
}
