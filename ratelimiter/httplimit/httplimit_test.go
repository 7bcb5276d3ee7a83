package httplimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/otel"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// manual is a limiter called "api" on a server whose clock stands still.
func manual(t testing.TB, r ratelimiter.Rate) (*ratelimiter.Limiter, *rueidissontest.Server) {
	t.Helper()
	s := rueidissontest.NewServer(t, rueidissontest.WithManualClock())
	return rated(t, s.NewClient(t).RateLimiter("api"), r), s
}

func TestAllowedThenRefusedThenAllowed(t *testing.T) {
	t.Parallel()
	l, server := manual(t, ratelimiter.PerMinute(6).WithBurst(2))
	h := limit(t, l)(hello)
	for _, field := range []string{`"api";r=1;t=10`, `"api";r=0;t=10`} {
		w := serve(h, request("u"))
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, "hello", w.Body.String())
		assert.Equal(t, `"api";q=2;w=20`, w.Header().Get("RateLimit-Policy"))
		assert.Equal(t, field, w.Header().Get("RateLimit"))
		assert.Empty(t, w.Header().Get("Retry-After"))
	}
	server.Forward(1500 * time.Millisecond)
	w := serve(h, request("u"))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, `"api";r=0;t=9`, w.Header().Get("RateLimit"))
	assert.Equal(t, "9", w.Header().Get("Retry-After"))
	assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	assert.JSONEq(t, `{
		"type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
		"title": "Request cannot be satisfied as assigned quota has been exceeded",
		"status": 429, "violated-policies": ["api"]
	}`, w.Body.String())
	assert.Equal(t, http.StatusOK, serve(h, request("another")).Code)
	server.Forward(8500 * time.Millisecond)
	assert.Equal(t, http.StatusOK, serve(h, request("u")).Code)
}

func TestLegacyAndNoHeaders(t *testing.T) {
	t.Parallel()
	l, _ := manual(t, ratelimiter.PerMinute(6))
	w := serve(limit(t, l, httplimit.Headers(httplimit.Legacy))(hello), request("u"))
	assert.Equal(t, "6", w.Header().Get("X-RateLimit-Limit"))
	assert.Equal(t, "5", w.Header().Get("X-RateLimit-Remaining"))
	assert.Equal(t, "10", w.Header().Get("X-RateLimit-Reset"))
	assert.Empty(t, w.Header().Get("RateLimit"))

	h := limit(t, l, httplimit.Headers(httplimit.None), httplimit.Cost(func(*http.Request) int64 { return 6 }))(hello)
	w = serve(h, request("u"))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "10", w.Header().Get("Retry-After"), "a refusal always has it")
	for name := range w.Header() {
		assert.NotContains(t, strings.ToLower(name), "ratelimit")
	}
}

func TestSeveralLimitsAreOneDecision(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	second := rated(t, c.RateLimiter(name+":second"), ratelimiter.PerHour(2))
	day := rated(t, c.RateLimiter(name+":day"), ratelimiter.Every(10, 24*time.Hour))
	h := limit(t, second, httplimit.Also(day), httplimit.PolicyNames("hour", "day"))(hello)
	for range 2 {
		assert.Equal(t, http.StatusOK, serve(h, request("u")).Code)
	}
	w := serve(h, request("u"))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, `"hour";q=2;w=3600, "day";q=10;w=86400`, w.Header().Get("RateLimit-Policy"))
	assert.Contains(t, w.Body.String(), `"violated-policies":["hour"]`)
	assert.Equal(t, "1800", w.Header().Get("Retry-After"))
	assert.EqualValues(t, 8, left(t, day.For("u")), "what one refuses is not taken of the other")
}

func TestAMiddlewareAroundAnother(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		second, day int64
		allowed     string // RateLimit of the first request
		refused     string // and of the second
		policy      string
		violated    string
	}{
		{"the inner refuses", 3, 1, `"second";r=2;t=40, "day";r=0;t=86400`,
			`"second";r=1;t=20, "day";r=0;t=86400`, `"second";q=3;w=60, "day";q=1;w=86400`, `["day"]`},
		{"the outer refuses", 1, 3, `"second";r=0;t=60, "day";r=2;t=57600`,
			`"second";r=0;t=60`, `"second";q=1;w=60`, `["second"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := rueidissontest.NewServer(t, rueidissontest.WithManualClock()).NewClient(t)
			second := rated(t, client.RateLimiter("second"), ratelimiter.PerMinute(c.second))
			day := rated(t, client.RateLimiter("day"), ratelimiter.Every(c.day, 24*time.Hour))
			h := limit(t, second)(limit(t, day)(hello))
			w := serve(h, request("u"))
			assert.Equal(t, http.StatusOK, w.Code)
			assert.Equal(t, []string{c.allowed}, w.Header().Values("RateLimit"))
			w = serve(h, request("u"))
			assert.Equal(t, http.StatusTooManyRequests, w.Code)
			assert.Equal(t, []string{c.refused}, w.Header().Values("RateLimit"))
			assert.Equal(t, []string{c.policy}, w.Header().Values("RateLimit-Policy"))
			assert.Contains(t, w.Body.String(), `"violated-policies":`+c.violated)
			assert.Len(t, w.Header().Values("Retry-After"), 1)
		})
	}
}

func TestAPauseOfOneOfSeveral(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	one, other := rated(t, c.RateLimiter(name+"/1"), ratelimiter.PerHour(5)), rated(t, c.RateLimiter(name+"/2"), ratelimiter.PerHour(5))
	require.NoError(t, other.Pause(t.Context()))
	w := serve(limit(t, one, httplimit.Also(other), httplimit.PolicyNames("one", "other"))(hello), request("u"))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Contains(t, w.Body.String(), `"violated-policies":["other"]`)
	assert.Equal(t, `"other";r=0;t=1`, w.Header().Get("RateLimit"), "nobody was asked about the first")
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
}

func TestCost(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(10))
	var seen reports
	h := limit(t, l, httplimit.Observe(seen.observe), httplimit.Cost(func(r *http.Request) int64 { return r.ContentLength }))(hello)
	post := func(n int) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", n)))
		r.Header.Set("User", "u")
		return serve(h, r)
	}
	w := post(0)
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Empty(t, w.Header().Get("RateLimit"), "what costs nothing is not limited")
	assert.Empty(t, seen.outcomes())
	assert.Equal(t, http.StatusOK, post(7).Code)
	w = post(4)
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "360", w.Header().Get("Retry-After"))
	w = post(11)
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Empty(t, w.Header().Get("Retry-After"), "there is no time at which it would be allowed")
	assert.Contains(t, w.Body.String(), "more than the quota ever holds")
	assert.Contains(t, w.Body.String(), "violated-policies")
	assert.EqualValues(t, 3, left(t, l.For("u")))
}

func TestARequestThatOnlySomeLimitsCouldEverAllow(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	small, large := rated(t, c.RateLimiter(name+"/1"), ratelimiter.PerHour(5)), rated(t, c.RateLimiter(name+"/2"), ratelimiter.PerHour(50))
	h := limit(t, large, httplimit.Also(small), httplimit.PolicyNames("large", "small"), httplimit.Cost(func(*http.Request) int64 { return 6 }))(hello)
	w := serve(h, request("u"))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Contains(t, w.Body.String(), `"violated-policies":["small"]`)
	assert.Equal(t, `"large";r=50;t=3600, "small";r=5;t=3600`, w.Header().Get("RateLimit"))
}

func TestAPlanHasARateOfItsOwn(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(1))
	h := limit(t, l, httplimit.Rule(func(r *http.Request, _ *ratelimiter.Limiter) (ratelimiter.Rate, bool) {
		return ratelimiter.PerHour(3), r.Header.Get("User") == "premium"
	}))(hello)
	for user, most := range map[string]int{"premium": 3, "basic": 1} {
		for range most {
			assert.Equal(t, http.StatusOK, serve(h, request(user)).Code, user)
		}
		assert.Equal(t, http.StatusTooManyRequests, serve(h, request(user)).Code, user)
	}
}

func TestRequestsWithoutAKey(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(1))
	var seen reports
	w := serve(limit(t, l, httplimit.Observe(seen.observe))(hello), request(""))
	assert.Equal(t, http.StatusBadRequest, w.Code)
	assert.JSONEq(t, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"It cannot be told whose request this is."}`, w.Body.String())
	assert.Equal(t, []httplimit.Outcome{httplimit.NoKey}, seen.outcomes())
	assert.ErrorIs(t, seen.all[0].Err, httplimit.ErrNoKey)

	shared := limit(t, l, httplimit.SharedKey("nobody"))(hello)
	assert.Equal(t, http.StatusOK, serve(shared, request("")).Code)
	assert.Equal(t, http.StatusTooManyRequests, serve(shared, request("")).Code)
	assert.Equal(t, http.StatusOK, serve(shared, request("u")).Code)
}

// decisions notes those of a client, and whether they were in earnest.
type decisions struct {
	rueidisson.Observer
	mu      sync.Mutex
	shadows []bool
}

func (o *decisions) Decided(_ context.Context, d rueidisson.Decision) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shadows = append(o.shadows, d.Shadow)
}

func TestTheClientsObserverHearsOfShadows(t *testing.T) {
	t.Parallel()
	var told decisions
	told.Observer, _ = otel.New()
	l := rated(t, open(t, redistest.Shared(t).Addr(), rueidisson.WithObserver(&told)).RateLimiter(redistest.Name(t)), ratelimiter.PerHour(2))
	var seen reports
	serve(limit(t, l)(hello), request("u"))
	serve(limit(t, l, httplimit.Shadow(), httplimit.Observe(seen.observe))(hello), request("u"))
	assert.Equal(t, []bool{false, true}, told.shadows)
}

func TestShadowChangesNothing(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(1))
	var seen reports
	h := limit(t, l, httplimit.Shadow(), httplimit.Observe(seen.observe))(hello)
	for _, user := range []string{"u", "u", ""} {
		w := serve(h, request(user))
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, "hello", w.Body.String())
		assert.Equal(t, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, w.Header())
	}
	assert.Equal(t, []httplimit.Outcome{httplimit.Allowed, httplimit.Refused, httplimit.NoKey}, seen.outcomes())
	assert.True(t, seen.all[1].Shadow)
	assert.Zero(t, left(t, l.For("u")), "its decisions are those of a limit in force")
}

func TestRefuseWithSomethingElse(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(1))
	h := limit(t, l, httplimit.RefuseWith(func(w http.ResponseWriter, _ *http.Request, p httplimit.Report) {
		http.Error(w, "slow down, "+p.Key, http.StatusServiceUnavailable)
	}))(hello)
	serve(h, request("u"))
	w := serve(h, request("u"))
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "slow down, u\n", w.Body.String())
	assert.NotEmpty(t, w.Header().Get("Retry-After"))
	assert.NotEmpty(t, w.Header().Get("RateLimit"))
}

func TestManyAtOnceGetNoMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(50))
	servers := []*httptest.Server{}
	for range 2 {
		s := httptest.NewServer(limitBy(t, l, httplimit.ByIP(httplimit.TrustProxies("127.0.0.1")), httplimit.FailClosed)(hello))
		t.Cleanup(s.Close)
		servers = append(servers, s)
	}
	var all sync.WaitGroup
	var passed, stopped [2]atomic.Int64
	for i := range 16 {
		all.Go(func() {
			for n := range 20 {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, servers[n%2].URL, nil)
				if !assert.NoError(t, err) {
					return
				}
				r.Header.Set("X-Forwarded-For", []string{"192.0.2.1", "192.0.2.2"}[i%2])
				response, err := servers[n%2].Client().Do(r)
				if !assert.NoError(t, err) {
					return
				}
				response.Body.Close()
				if response.StatusCode == http.StatusOK {
					passed[i%2].Add(1)
				} else {
					stopped[i%2].Add(1)
				}
			}
		})
	}
	all.Wait()
	for i := range 2 {
		assert.EqualValues(t, 50, passed[i].Load())
		assert.EqualValues(t, 110, stopped[i].Load())
	}
}

func TestWhatNewRefuses(t *testing.T) {
	t.Parallel()
	l, key, open := limiter(t, ratelimiter.PerHour(1)), httplimit.ByIP(), httplimit.FailOpen
	for name, try := range map[string]func() (func(http.Handler) http.Handler, error){
		"a nil limiter":    func() (func(http.Handler) http.Handler, error) { return httplimit.New(nil, key, open) },
		"no key":           func() (func(http.Handler) http.Handler, error) { return httplimit.New(l, httplimit.Key{}, open) },
		"no key function":  func() (func(http.Handler) http.Handler, error) { return httplimit.New(l, httplimit.By(nil), open) },
		"no failure":       func() (func(http.Handler) http.Handler, error) { return httplimit.New(l, key, nil) },
		"an empty failure": func() (func(http.Handler) http.Handler, error) { return httplimit.New(l, key, httplimit.FailWith(nil)) },
	} {
		m, err := try()
		assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, name)
		assert.Nil(t, m, name)
	}
	for name, o := range map[string]httplimit.Option{
		"nil": nil, "Also": httplimit.Also(nil), "PolicyNames": httplimit.PolicyNames("a", "b"),
		"an empty name": httplimit.PolicyNames(""), "Headers": httplimit.Headers(3), "Cost": httplimit.Cost(nil),
		"Rule": httplimit.Rule(nil), "RefundIf": httplimit.RefundIf(nil), "RefuseWith": httplimit.RefuseWith(nil),
		"Observe": httplimit.Observe(nil), "Logger": httplimit.Logger(nil), "SharedKey": httplimit.SharedKey(""),
		"Shadow alone": httplimit.Shadow(), "Timeout": httplimit.Timeout(0),
		"jitter of less than a second": httplimit.WithRetryJitter(time.Second - 1),
	} {
		_, err := httplimit.New(l, key, open, o)
		assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, name)
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "undecided", httplimit.Undecided.String())
	assert.Equal(t, "no cost", httplimit.NoCost.String())
	assert.Equal(t, "Outcome(9)", httplimit.Outcome(9).String())
	assert.Equal(t, "Draft11", httplimit.Draft11.String())
	assert.Equal(t, "HeaderFormat(-1)", httplimit.HeaderFormat(-1).String())
	require.Equal(t, "gone", httplimit.Gone.String())
}
