package ratelimiter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

func TestAfterCloseEverythingIsClosed(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]ratelimiter.Option{
		"plain":         nil,
		"with denial":   {ratelimiter.WithLocalDenial()},
		"with stock":    {ratelimiter.WithPrefetch(5)},
		"with fallback": {ratelimiter.WithFallback(time.Second, ratelimiter.Open)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, ratelimiter.PerHour(10), func(t *testing.T, rate ratelimiter.Rate) {
				c := open(t, redistest.Shared(t).Addr())
				l := limited(t, c, rate, opts...)
				all := ratelimiter.All(l)
				gets(t, &l.Bucket, 1)
				r, err := l.Reserve(t.Context())
				require.NoError(t, err)
				require.NoError(t, c.Close(t.Context()))
				for _, ctx := range []context.Context{t.Context(), context.Background()} {
					allAre(t, everything(ctx, l), ratelimiter.ErrClosed, l.Name())
					allAre(t, everything(ctx, c.RateLimiter("new")), ratelimiter.ErrClosed, "new")
					assert.ErrorIs(t, r.Cancel(ctx), ratelimiter.ErrClosed)
					_, err = all.Take(ctx, 1)
					assert.ErrorIs(t, err, ratelimiter.ErrClosed)
					assert.ErrorIs(t, all.Wait(ctx), ratelimiter.ErrClosed)
					assert.ErrorIs(t, all.Refund(ctx, 1), ratelimiter.ErrClosed)
					_, err = all.Peek(ctx)
					assert.ErrorIs(t, err, ratelimiter.ErrClosed)
				}
				assert.Zero(t, r.Delay())
			})
		})
	}
}

// Whatever is under way when the client closes, ends.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		t.Run(fmt.Sprintf("context that can end %t", ends), func(t *testing.T) {
			t.Parallel()
			c, p := proxied(t)
			l := limited(t, c, ratelimiter.PerHour(10))
			gets(t, &l.Bucket, 1)
			p.BlackHole()
			ctx := context.Background()
			if ends {
				ctx = t.Context()
			}
			var running []<-chan error
			for _, do := range ofBucket {
				for range 3 {
					running = append(running, begun(func() error { return do(ctx, &l.Bucket, 1) }))
				}
			}
			for _, do := range ofState {
				running = append(running, begun(func() error { return do(ctx, l.For("a")) }))
			}
			running = append(running, begun(func() error { return ratelimiter.All(l).Wait(ctx) }))
			running = append(running, begun(func() error { return ratelimiter.All(l).Refund(ctx, 1) }))
			running = append(running, begun(func() error { _, err := ratelimiter.All(l).Peek(ctx); return err }))
			p.AwaitCount(t, redistest.AnyScript(), 4)
			require.NoError(t, c.Close(t.Context()))
			for _, one := range running {
				err := outcome(t, one)
				if err != nil { // one that costs nothing may have ended before
					assert.True(t, isClosedOrUnknown(err), "%v", err)
				}
			}
		})
	}
}

func isClosedOrUnknown(err error) bool {
	return errors.Is(err, ratelimiter.ErrClosed) || errors.Is(err, ratelimiter.ErrOutcomeUnknown)
}

// What a wait has reserved comes back also if it is the client that ends the
// wait, and so does what was granted to a caller that had left before.
func TestCloseGivesBackWhatNobodyUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		ask    func(ctx context.Context, l *ratelimiter.Limiter) error
	}{
		"a take of one": {"take", func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Take(ctx, 4); return err }},
		"a wait of one": {"decide", func(ctx context.Context, l *ratelimiter.Limiter) error { return l.WaitN(ctx, 4) }},
		"a take of several": {"decide", func(ctx context.Context, l *ratelimiter.Limiter) error {
			_, err := ratelimiter.All(l, l.For("another")).Take(ctx, 4)
			return err
		}},
		"a wait for several": {"decide", func(ctx context.Context, l *ratelimiter.Limiter) error {
			return ratelimiter.All(l, l.For("another")).WaitN(ctx, 4)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, p := proxied(t)
			l := limited(t, client, ratelimiter.PerHour(1).WithBurst(10))
			gets(t, &l.Bucket, 1)
			ctx, cancel := context.WithCancel(t.Context())
			held := p.HoldRequest(luaOf(t, c.script))
			left := begun(func() error { return c.ask(ctx, l) })
			held.Await(t)
			cancel()
			require.ErrorIs(t, outcome(t, left), context.Canceled)
			closed := begun(func() error { return client.Close(context.Background()) })
			require.Eventually(t, func() bool { _, err := l.Rate(t.Context()); return errors.Is(err, ratelimiter.ErrClosed) }, soon, time.Millisecond)
			held.Release()
			require.NoError(t, outcome(t, closed))
			holds(t, &open(t, redistest.Shared(t).Addr()).RateLimiter(l.Name()).Bucket, 9)
		})
	}
}

func TestAWaitThatCloseEndsGivesBack(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(l *ratelimiter.Limiter) error{
		"for one":     func(l *ratelimiter.Limiter) error { return l.WaitN(context.Background(), 4) },
		"for several": func(l *ratelimiter.Limiter) error { return ratelimiter.All(l).WaitN(context.Background(), 4) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1).WithBurst(10))
			gets(t, &l.Bucket, 9)
			client := open(t, redistest.Shared(t).Addr())
			waiting := begun(func() error { return wait(client.RateLimiter(l.Name())) })
			require.Eventually(t, func() bool { d, err := l.Peek(t.Context()); return err == nil && d.Remaining == 0 }, soon, time.Millisecond)
			require.NoError(t, client.Close(context.Background()))
			require.ErrorIs(t, outcome(t, waiting), ratelimiter.ErrClosed)
			holds(t, &l.Bucket, 1)
		})
	}
}

// What is under way when the client closes may still be done, and its caller is
// told so.
func TestWhatIsUnderWayWhenTheClientClosesIsUnknown(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		script string
		do     func(ctx context.Context, l *ratelimiter.Limiter) error
	}{
		"charge": {"decide", func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Charge(ctx, 7); return err }},
		"refund": {"decide", func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Refund(ctx, 7) }},
		"refund to all": {"decide", func(ctx context.Context, l *ratelimiter.Limiter) error {
			return ratelimiter.All(l).Refund(ctx, 7)
		}},
		"reset": {"reset", func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Reset(ctx) }},
		"block": {"block", func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Block(ctx, time.Minute) }},
		"pause": {"rule_pause", func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Pause(ctx) }},
		"set rate": {"rule_set", func(ctx context.Context, l *ratelimiter.Limiter) error {
			return l.SetRate(ctx, ratelimiter.PerHour(5))
		}},
		"delete": {"rule_delete", func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Delete(ctx); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, p := proxied(t)
			l := limited(t, c, ratelimiter.PerHour(100))
			gets(t, &l.Bucket, 1)
			held := p.HoldRequest(luaOf(t, of.script))
			running := begun(func() error { return of.do(t.Context(), l) })
			held.Await(t)
			closing := begun(func() error { return c.Close(t.Context()) })
			err := outcome(t, running)
			require.ErrorIs(t, err, ratelimiter.ErrOutcomeUnknown)
			require.ErrorIs(t, err, ratelimiter.ErrClosed)
			held.Release()
			require.NoError(t, outcome(t, closing))
		})
	}
}
