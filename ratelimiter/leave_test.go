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

// What was used, or is not needed, is so also if its caller leaves before its
// turn has come: as many exchanges are under way as there may be, and it waits
// behind them.
func TestWhatIsToldOfTheBucketIsToldThoughItsCallerLeaves(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		do   func(ctx context.Context, l *ratelimiter.Limiter) error
		busy func(ctx context.Context, l *ratelimiter.Limiter) error
		left int64
	}{
		"charge": {
			func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Charge(ctx, 7); return err }, takesOne, 38,
		},
		"refund": {
			func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Refund(ctx, 7) }, takesOne, 52,
		},
		"settle": {
			func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Settle(ctx, 3, 10) }, takesOne, 38,
		},
		"refund to all": {
			func(ctx context.Context, l *ratelimiter.Limiter) error { return ratelimiter.All(l).Refund(ctx, 7) },
			func(ctx context.Context, l *ratelimiter.Limiter) error {
				_, err := ratelimiter.All(l).Take(ctx, 1)
				return err
			}, 52,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, p := proxied(t)
			l := limited(t, c, ratelimiter.PerHour(100))
			server := open(t, redistest.Shared(t).Addr()).RateLimiter(l.Name())
			gets(t, &l.Bucket, 50)
			require.NoError(t, of.busy(t.Context(), l)) // the script is known
			pipelines(t, l)
			_, err := l.Rate(t.Context()) // is known for half a second
			require.NoError(t, err)
			isTake, isDecide := luaOf(t, "take"), luaOf(t, "decide")
			asked := func(cmd []string) bool { return isTake(cmd) || isDecide(cmd) }
			p.ResetLog()
			p.Delay(200*time.Millisecond, 0)
			var busy []<-chan error
			for i := range 4 {
				busy = append(busy, begun(func() error { return of.busy(t.Context(), l) }))
				p.AwaitCount(t, asked, i+1)
			}
			ctx, cancel := context.WithCancel(t.Context())
			leaver := begun(func() error { return of.do(ctx, l) })
			pause(t, 20*time.Millisecond)
			assert.Equal(t, 4, p.Count(asked), "it waits")
			cancel()
			require.ErrorIs(t, outcome(t, leaver), context.Canceled)
			for _, b := range busy {
				require.NoError(t, outcome(t, b))
			}
			p.Delay(0, 0)
			willHold(t, &server.Bucket, of.left)
		})
	}
}

func takesOne(ctx context.Context, l *ratelimiter.Limiter) error {
	_, err := l.Take(ctx, 1)
	return err
}
