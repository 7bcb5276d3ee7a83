package ratelimiter_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// A rule goes under load, as it would by a clock that is set ahead or while its
// server is down, and comes again; replies are lost, and its time and pauses
// change meanwhile. Nobody gets a second burst.
func TestTheBoundHoldsWhileTheRuleGoes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw, name, ttl := server.Client(t), redistest.Name(t), ratelimiter.WithRuleTTL(time.Hour)
	r := ratelimiter.PerSecond(500).WithBurst(400)
	passing := func(err error) bool {
		return errors.Is(err, ratelimiter.ErrNoRate) || errors.Is(err, ratelimiter.ErrOutcomeUnknown) || errors.Is(err, ratelimiter.ErrExceedsWait)
	}
	var proxies []*redistest.Proxy
	var takers []taker
	for range 3 {
		p := redistest.NewProxy(t, server.Addr())
		c := open(t, p.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second))
		l := c.RateLimiter(name, ratelimiter.WithMaxWait(300*time.Millisecond))
		require.NoError(t, ignore(l.TrySetRate(t.Context(), r, ttl)))
		proxies = append(proxies, p)
		again := func(err error) error { // as a program does for a tenant who comes back
			if errors.Is(err, ratelimiter.ErrNoRate) {
				return errors.Join(err, ignore(l.TrySetRate(t.Context(), r, ttl)))
			}
			return err
		}
		b := l.For("u")
		takers = append(takers, taker{
			allow: func(ctx context.Context) (bool, error) {
				n, _, err := b.TakeUpTo(ctx, 1)
				return n == 1, again(err)
			},
			wait: func(ctx context.Context) error { return again(b.Wait(ctx)) },
		})
	}
	tr := startTraffic(t, passing, r, takers...)
	admin, rnd := open(t, server.Addr()).RateLimiter(name), rand.New(rand.NewPCG(7, 7))
	for began := time.Now(); time.Since(began) < redistest.Span(t, 4*time.Second, time.Minute); {
		switch rnd.IntN(5) {
		case 0, 1:
			require.NoError(t, raw.Do(t.Context(), raw.B().Pexpire().Key(name).Milliseconds(1).Build()).Error())
		case 2:
			proxies[rnd.IntN(3)].DropReply(luaOf(t, []string{"take", "decide"}[rnd.IntN(2)]), 1)
		case 3:
			more := ratelimiter.WithRuleTTL(time.Duration(1+rnd.IntN(3)) * time.Hour)
			require.NoError(t, admin.SetRate(t.Context(), r, more))
		case 4:
			if err := admin.Pause(t.Context()); !errors.Is(err, ratelimiter.ErrNoRate) {
				require.NoError(t, err)
				require.NoError(t, admin.Resume(t.Context()))
			}
		}
		tr.holds("in between")
		time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond) // what comes at random
	}
	require.NoError(t, admin.SetRate(t.Context(), r, ttl))
	tr.goesOn("at the end")
}

func ignore(_ ratelimiter.Rate, _ bool, err error) error { return err }
