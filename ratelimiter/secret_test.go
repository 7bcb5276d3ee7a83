package ratelimiter_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	_, twice := ratelimiter.All(b, b).Take(ctx, 1)
	for what, err := range map[string]error{
		"no rate": noRate, "above the burst": burst, "no tokens": zero, "left": left, "reserve": reserved, "wait": b.WaitN(ctx, 11),
		"nil option": none.Reset(ctx), "settle": b.Settle(ctx, -1, 0), "refund": b.Refund(ctx, 0), "block": b.Block(ctx, 0),
		"all": all, "twice": twice, "all wait": ratelimiter.All(b).WaitN(ctx, 11),
	} {
		require.Error(t, err, what)
		assert.NotContains(t, err.Error(), secret, what)
		assert.Contains(t, err.Error(), hash, what)
	}
	for _, printed := range []string{fmt.Sprint(b), fmt.Sprintf("%v", ratelimiter.All(b))} {
		assert.NotContains(t, printed, secret)
		assert.Contains(t, printed, hash)
	}
}
