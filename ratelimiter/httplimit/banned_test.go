package httplimit_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// A plan of 0 is a banned one, one that cannot be used is a mistake, and neither
// is an outage.
func TestNoPlanFailsOpen(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	for name, of := range map[string]struct {
		rate ratelimiter.Rate
		code int
	}{
		"banned":    {ratelimiter.PerSecond(0), http.StatusTooManyRequests},
		"negative":  {ratelimiter.PerSecond(-1), http.StatusServiceUnavailable},
		"unset":     {ratelimiter.Rate{}, http.StatusServiceUnavailable},
		"unlimited": {ratelimiter.Unlimited, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := httplimit.Rule(func(*http.Request, *ratelimiter.Limiter) (ratelimiter.Rate, bool) { return of.rate, true })
			h := limitBy(t, c.RateLimiter(redistest.Name(t)), httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailOpen, plan)(hello)
			for range 20 {
				got := serve(h, request("u"))
				assert.Equal(t, of.code, got.Code)
				if name == "banned" {
					assert.Empty(t, got.Header().Get("Retry-After"), "no time ends it")
				}
			}
		})
	}
}
