package ratelimiter_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Not parallel: the allocations of other tests would be counted.
func TestAHandleOnAKeyStaysOnItsCallersStack(t *testing.T) {
	c := open(t, redistest.Shared(t).Addr())
	l := limited(t, c, ratelimiter.PerHour(1_000_000).PerClient())
	ctx, key := context.Background(), redistest.Name(t)
	allowed := true
	allocs := testing.AllocsPerRun(1000, func() {
		ok, err := l.For(key).Allow(ctx)
		allowed = allowed && ok && err == nil
	})
	require.True(t, allowed)
	assert.LessOrEqual(t, allocs, 1.0, "the text of the key in Redis")
}
