package ratelimiter_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// A key may be a secret, and errors end up in logs.
func TestNoErrorCarriesTheTextOfAKey(t *testing.T) {
	t.Parallel()
	const secret, hash = "sk_live_4eC39HqLyjWD", "#0dff0beb" // printf %s sk_live_4eC39HqLyjWD | sha256sum | cut -c 1-8
	c := open(t, redistest.Shared(t).Addr())
	l := c.RateLimiter(redistest.Name(t))
	b, other, none := l.For(secret), c.RateLimiter(l.Name()+"/other").For(secret), l.For(secret, nil)
	ctx := t.Context()
	gone, leave := context.WithCancel(ctx)
	leave()

	_, noRate := b.Take(ctx, 1)
	require.ErrorIs(t, noRate, ratelimiter.ErrNoRate)
	for _, one := range []*ratelimiter.Limiter{l, c.RateLimiter(l.Name() + "/other")} {
		_, _, err := one.TrySetRate(ctx, ratelimiter.PerHour(10))
		require.NoError(t, err)
	}
	_, burst := b.Take(ctx, 11)
	_, zero := b.Take(ctx, 0)
	_, left := b.Allow(gone)
	_, reserved := b.ReserveN(ctx, 11)
	_, all := ratelimiter.All(b, other).Take(ctx, 11)
	_, _, upTo := b.TakeUpTo(ctx, 0)
	_, twiceInShadow := ratelimiter.All(b, ratelimiter.Shadow(b)).Take(ctx, 1)
	_, twice := ratelimiter.All(b, b).Take(ctx, 1)
	for what, err := range map[string]error{
		"no rate": noRate, "above the burst": burst, "no tokens": zero, "left": left, "reserve": reserved, "wait": b.WaitN(ctx, 11),
		"nil option": none.Reset(ctx), "settle": b.Settle(ctx, -1, 0), "refund": b.Refund(ctx, 0), "block": b.Block(ctx, 0),
		"all": all, "twice": twice, "up to": upTo, "twice in shadow": twiceInShadow, "all wait": ratelimiter.All(b).WaitN(ctx, 11),
	} {
		require.Error(t, err, what)
		assert.NotContains(t, err.Error(), secret, what)
		assert.Contains(t, err.Error(), hash, what)
	}
	raw := redistest.Shared(t).Client(t)
	for _, l := range []*ratelimiter.Limiter{l, c.RateLimiter(l.Name() + "/other")} {
		require.NoError(t, raw.Do(ctx, raw.B().Set().Key(keys.BucketOf(l.Name(), secret)).Value("another program's").Build()).Error())
	}
	_, taken := b.Take(ctx, 1)
	_, charged := b.Charge(ctx, 1)
	_, several := ratelimiter.All(b, other).Take(ctx, 1)
	for what, err := range map[string]error{
		"take": taken, "charge": charged, "all": several, "wait": b.Wait(ctx), "block": b.Block(ctx, time.Minute), "reset": b.Reset(ctx),
	} {
		require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm, what)
		assert.NotContains(t, err.Error(), secret, what)
		assert.Contains(t, err.Error(), hash, what)
	}
	for _, printed := range []string{fmt.Sprint(b), fmt.Sprintf("%v", ratelimiter.All(b))} {
		assert.NotContains(t, printed, secret)
		assert.Contains(t, printed, hash)
	}
}
