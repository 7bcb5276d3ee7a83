package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// behindProxy is a limiter whose server can be made to vanish.
func behindProxy(t testing.TB, opts ...ratelimiter.Option) (*ratelimiter.Limiter, *redistest.Proxy) {
	t.Helper()
	p := redistest.NewProxy(t, redistest.Shared(t).Addr())
	return rated(t, open(t, p.Addr()).RateLimiter(redistest.Name(t), opts...), ratelimiter.PerHour(100)), p
}

func TestAServerThatIsGone(t *testing.T) {
	t.Parallel()
	l, proxy := behindProxy(t)
	var seen reports
	var log bytes.Buffer
	failures := map[string]httplimit.Failure{
		"open": httplimit.FailOpen, "closed": httplimit.FailClosed,
		"own": httplimit.FailWith(func(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
			assert.Error(t, err)
			w.Header().Set("X-Own", "1")
			next.ServeHTTP(w, r)
		}),
	}
	by := map[string]http.Handler{}
	for name, f := range failures {
		by[name] = limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), f, httplimit.Observe(seen.observe),
			httplimit.Logger(slog.New(slog.NewTextHandler(&log, nil))))(hello)
		assert.Equal(t, http.StatusOK, serve(by[name], request("u")).Code)
	}
	proxy.Refuse()
	proxy.CutAll()

	seen.all = nil
	w := serve(by["open"], request("u"))
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "hello", w.Body.String())
	assert.Empty(t, w.Header().Get("RateLimit"))
	w = serve(by["closed"], request("u"))
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	assert.JSONEq(t, `{"type":"about:blank","title":"Service Unavailable","status":503}`, w.Body.String())
	w = serve(by["own"], request("u"))
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "1", w.Header().Get("X-Own"))
	assert.Equal(t, []httplimit.Outcome{httplimit.Undecided, httplimit.Undecided, httplimit.Undecided}, seen.outcomes())
	assert.Error(t, seen.all[0].Err)
	assert.Equal(t, 3, strings.Count(log.String(), `msg="rate limiter failed"`), "one for each New")

	proxy.Accept()
	w = serve(by["closed"], request("u"))
	assert.Equal(t, http.StatusOK, w.Code, w.Body)
	assert.NotEmpty(t, w.Header().Get("RateLimit"))
}

func TestASilentServerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	l, proxy := behindProxy(t)
	h := limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailWith(func(w http.ResponseWriter, _ *http.Request, _ http.Handler, err error) {
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		w.WriteHeader(http.StatusTeapot)
	}), httplimit.Timeout(20*time.Millisecond))(hello)
	proxy.BlackHole()
	assert.Equal(t, http.StatusTeapot, serve(h, request("u")).Code)
}

func TestALimiterWithoutARateFailsAsChosen(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	var seen reports
	h := limit(t, l, httplimit.Observe(seen.observe))(hello)
	assert.Equal(t, http.StatusServiceUnavailable, serve(h, request("u")).Code)
	assert.ErrorIs(t, seen.all[0].Err, ratelimiter.ErrNoRate)
	assert.Empty(t, seen.all[0].Limits, "nobody could decide")
	h = limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailOpen)(hello)
	assert.Equal(t, http.StatusOK, serve(h, request("u")).Code)
}

// What a request costs is the client's to say, and must not pass for a failure.
func TestACostBelowZeroIsNoFailure(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(10))
	var seen reports
	var log bytes.Buffer
	of := func(cost int64, opts ...httplimit.Option) http.Handler {
		return limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailOpen, append(opts, httplimit.Observe(seen.observe),
			httplimit.Logger(slog.New(slog.NewTextHandler(&log, nil))), httplimit.Cost(func(*http.Request) int64 { return cost }))...)(hello)
	}
	for _, cost := range []int64{-1, math.MinInt64} {
		w := serve(of(cost), request("u"))
		assert.Equal(t, http.StatusBadRequest, w.Code)
		assert.JSONEq(t, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"It cannot be told what this request costs."}`, w.Body.String())
	}
	assert.Equal(t, []httplimit.Outcome{httplimit.NoCost, httplimit.NoCost}, seen.outcomes())
	assert.ErrorIs(t, seen.all[0].Err, httplimit.ErrNoCost)
	assert.Equal(t, http.StatusOK, serve(of(-1, httplimit.Shadow()), request("u")).Code)
	assert.Equal(t, httplimit.NoCost, seen.all[2].Outcome)
	assert.Empty(t, log.String(), "a client could fill it")
	assert.EqualValues(t, 10, left(t, l.For("u")))
}

// What is known of the rate is enough to refuse a request that it never allows,
// although nobody can be asked about the numbers.
func TestACostThatNoBucketHoldsIsNoFailure(t *testing.T) {
	t.Parallel()
	l, proxy := behindProxy(t)
	name := redistest.Name(t)
	c := open(t, proxy.Addr())
	own := httplimit.Rule(func(*http.Request, *ratelimiter.Limiter) (ratelimiter.Rate, bool) {
		return ratelimiter.PerHour(5), true
	})
	cost := httplimit.Cost(func(*http.Request) int64 { return math.MaxInt64 })
	var seen reports
	one := limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailOpen, own, cost, httplimit.PolicyNames("api"), httplimit.Observe(seen.observe))(hello)
	several := limitBy(t, c.RateLimiter(name+"/1"), httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailOpen, own, cost,
		httplimit.Also(c.RateLimiter(name+"/2")), httplimit.Observe(seen.observe))(hello)
	proxy.Refuse()
	proxy.CutAll()
	w := serve(one, request("u"))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Contains(t, w.Body.String(), `"violated-policies":["api"]`)
	assert.Empty(t, w.Header().Get("RateLimit"), "they are not known")
	assert.Empty(t, w.Header().Get("Retry-After"))
	w = serve(several, request("u"))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.NotContains(t, w.Body.String(), "violated-policies", "nor is it known whose")
	assert.Equal(t, []httplimit.Outcome{httplimit.Refused, httplimit.Refused}, seen.outcomes())
	assert.True(t, seen.all[0].Never)
	assert.True(t, seen.all[1].Never)
}

func TestACostAboveThatOfAFallbackIsNoFailure(t *testing.T) {
	t.Parallel()
	l, proxy := behindProxy(t, ratelimiter.WithFallback(20*time.Millisecond, ratelimiter.Local(ratelimiter.PerHour(5))))
	h := limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailOpen, httplimit.Timeout(100*time.Millisecond),
		httplimit.Cost(func(*http.Request) int64 { return 6 }))(hello)
	proxy.BlackHole()
	w := serve(h, request("u"))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Contains(t, w.Body.String(), "more than the quota ever holds")
}

func TestALimitersOwnFallback(t *testing.T) {
	t.Parallel()
	const within = 20 * time.Millisecond
	for name, c := range map[string]struct {
		fallback ratelimiter.Fallback
		codes    []int
		headers  bool
	}{
		"open":   {ratelimiter.Open, []int{200, 200}, false},
		"closed": {ratelimiter.Closed, []int{503, 503}, false},
		"local":  {ratelimiter.Local(ratelimiter.PerHour(1)), []int{200, 429}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, proxy := behindProxy(t, ratelimiter.WithFallback(within, c.fallback))
			var seen reports
			h := limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailWith(func(http.ResponseWriter, *http.Request, http.Handler, error) {
				t.Error("the fallback has decided")
			}), httplimit.Observe(seen.observe), httplimit.RefundIf(func(httplimit.Response) bool { return true }))(hello)
			proxy.BlackHole()
			for _, code := range c.codes {
				w := serve(h, request("u"))
				assert.Equal(t, code, w.Code)
				assert.Equal(t, c.headers, w.Header().Get("RateLimit") != "")
			}
			for _, p := range seen.all {
				assert.True(t, p.Limits[0].Fallback)
				assert.NotEqual(t, httplimit.Refunded, p.Outcome, "nothing was taken")
			}
		})
	}
}

func TestTheFallbacksOfSeveralLimits(t *testing.T) {
	t.Parallel()
	const within = 20 * time.Millisecond
	local := ratelimiter.Local(ratelimiter.PerHour(1))
	for name, c := range map[string]struct {
		fallbacks [2]ratelimiter.Fallback
		codes     []int
	}{
		"open":            {[2]ratelimiter.Fallback{ratelimiter.Open, ratelimiter.Open}, []int{200, 200}},
		"one closed":      {[2]ratelimiter.Fallback{ratelimiter.Open, ratelimiter.Closed}, []int{503, 503}},
		"both closed":     {[2]ratelimiter.Fallback{ratelimiter.Closed, ratelimiter.Closed}, []int{503, 503}},
		"one local":       {[2]ratelimiter.Fallback{ratelimiter.Open, local}, []int{200, 429}},
		"closed or local": {[2]ratelimiter.Fallback{ratelimiter.Closed, local}, []int{503, 503}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := redistest.NewProxy(t, redistest.Shared(t).Addr())
			client, limits := open(t, p.Addr()), [2]*ratelimiter.Limiter{}
			for i, f := range c.fallbacks {
				limits[i] = rated(t, client.RateLimiter(redistest.Name(t), ratelimiter.WithFallback(within, f)), ratelimiter.PerHour(100))
			}
			h := limitBy(t, limits[0], httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailWith(func(http.ResponseWriter, *http.Request, http.Handler, error) {
				t.Error("the fallbacks have decided")
			}), httplimit.Also(limits[1]))(hello)
			p.BlackHole()
			for _, code := range c.codes {
				assert.Equal(t, code, serve(h, request("u")).Code)
			}
		})
	}
}

func TestAClientThatIsGone(t *testing.T) {
	t.Parallel()
	l, proxy := behindProxy(t)
	var seen reports
	reached := false
	h := limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailOpen, httplimit.Observe(seen.observe))(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	proxy.BlackHole()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := serve(h, request("u").WithContext(ctx))
	assert.Equal(t, http.StatusServiceUnavailable, w.Code, "not the 200 of an empty response")
	assert.False(t, reached, "also where it fails open")
	assert.Empty(t, seen.outcomes())
}

func TestOneWarningASecond(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	h := limit(t, l, httplimit.Logger(slog.New(slog.NewTextHandler(&log, nil))))(hello)
	began := time.Now()
	for range 50 {
		serve(h, request("u"))
	}
	lines := strings.Count(log.String(), "\n")
	assert.GreaterOrEqual(t, lines, 1)
	assert.LessOrEqual(t, lines, 1+int(time.Since(began)/time.Second))
	assert.Contains(t, log.String(), "no rate was set")
}

// net/http names the client's end of a Unix socket as ByIP expects it.
func TestAProxyOnAUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	var seen reports
	l := limiter(t, ratelimiter.PerHour(10))
	s := httptest.NewUnstartedServer(limitBy(t, l, httplimit.ByIP(httplimit.TrustUnixSocket()), httplimit.FailClosed, httplimit.Observe(seen.observe))(hello))
	s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://socket/", nil)
	require.NoError(t, err)
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	response, err := transport.RoundTrip(r)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	assert.Equal(t, "hello", string(body))
	assert.Equal(t, "192.0.2.1", seen.all[0].Key)
}
