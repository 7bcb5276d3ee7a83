package httplimit_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/otel"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// judged is what a client's observer hears of decisions.
type judged struct {
	rueidisson.Observer
	mu  sync.Mutex
	all []rueidisson.Decision
}

func (o *judged) Decided(_ context.Context, d rueidisson.Decision) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, d)
}

// of is what was heard of a limiter: what was granted and what was not.
func (o *judged) of(l *ratelimiter.Limiter, shadow bool) (granted, refused int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.all {
		switch {
		case d.Limiter != l.Name() || d.Shadow != shadow || d.Err != nil:
		case d.Allowed:
			granted++
		default:
			refused++
		}
	}
	return granted, refused
}

func TestOneLimitInShadow(t *testing.T) {
	t.Parallel()
	var o judged
	o.Observer, _ = otel.New()
	c := open(t, redistest.Shared(t).Addr(), rueidisson.WithObserver(&o))
	name := redistest.Name(t)
	live, day := rated(t, c.RateLimiter(name), ratelimiter.PerHour(4)), rated(t, c.RateLimiter(name+"/day"), ratelimiter.PerHour(100))
	beta := rated(t, c.RateLimiter(name+"/beta"), ratelimiter.PerHour(2))
	for user, opts := range map[string][]httplimit.Option{
		"one": {httplimit.AlsoShadow(beta)}, "two": {httplimit.Also(day), httplimit.AlsoShadow(beta)},
	} {
		var seen reports
		h := limit(t, live, append(opts, httplimit.Observe(seen.observe))...)(hello)
		for i := range 6 {
			w := serve(h, request(user))
			require.Equal(t, i < 4, w.Code == http.StatusOK, "only the live one refuses")
			assert.NotContains(t, w.Header().Get("RateLimit")+w.Body.String(), "beta")
		}
		for _, p := range seen.all {
			assert.Len(t, p.Limits, len(opts))
			assert.False(t, p.Shadow)
		}
	}
	require.Eventually(t, func() bool { granted, refused := o.of(beta, true); return granted == 4 && refused == 4 }, time.Minute, time.Millisecond)
	granted, refused := o.of(live, false)
	assert.Equal(t, []int{8, 4}, []int{granted, refused})
	_, err := httplimit.New(live, httplimit.ByIP(), httplimit.FailOpen, httplimit.AlsoShadow(nil))
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
}

func TestALimitInShadowHearsOfChargesAndRefunds(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(1000))
	beta := rated(t, open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t)+"/beta"), ratelimiter.PerHour(100))
	has := func(user string, want int64) {
		t.Helper()
		redistest.Eventually(t, func() bool { return left(t, beta.For(user)) == want }, time.Minute, time.Millisecond)
	}
	var user string
	charge := charging(func(ctx context.Context) {
		has(user, 95)
		for _, n := range []int64{30, 45, 45, 10} {
			assert.NoError(t, httplimit.Charge(ctx, n))
			has(user, 100-n)
		}
	})
	five := httplimit.Cost(func(*http.Request) int64 { return 5 })
	user = "charged"
	serve(limit(t, l, five, httplimit.AlsoShadow(beta))(charge), request(user))
	has(user, 90)
	user = "charged and refunded"
	serve(limit(t, l, five, httplimit.AlsoShadow(beta), httplimit.RefundIf(httplimit.Succeeded))(charge), request(user))
	has(user, 100)
	user = "refunded"
	serve(limit(t, l, five, httplimit.AlsoShadow(beta), httplimit.RefundIf(httplimit.Succeeded))(charging(func(context.Context) { has(user, 95) })), request(user))
	has(user, 100)
	for _, user := range []string{"charged and refunded", "refunded"} {
		assert.EqualValues(t, 1000, left(t, l.For(user)))
	}
}
