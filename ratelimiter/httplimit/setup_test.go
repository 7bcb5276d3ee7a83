package httplimit_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// open returns a client that is closed with the test.
func open(t testing.TB, addr string, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true}, opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		assert.NoError(t, c.Close(ctx))
	})
	return c
}

// limiter is one with a rate of its own, on a real server.
func limiter(t testing.TB, r ratelimiter.Rate, opts ...ratelimiter.Option) *ratelimiter.Limiter {
	t.Helper()
	return rated(t, open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t), opts...), r)
}

func rated(t testing.TB, l *ratelimiter.Limiter, r ratelimiter.Rate) *ratelimiter.Limiter {
	t.Helper()
	_, created, err := l.TrySetRate(t.Context(), r)
	require.NoError(t, err)
	require.True(t, created)
	return l
}

// patient gives a busy machine time to decide.
var patient = httplimit.Timeout(30 * time.Second)

func limit(t testing.TB, l *ratelimiter.Limiter, opts ...httplimit.Option) func(http.Handler) http.Handler {
	t.Helper()
	return limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailClosed, opts...)
}

func limitBy(t testing.TB, l *ratelimiter.Limiter, k httplimit.Key, f httplimit.Failure, opts ...httplimit.Option) func(http.Handler) http.Handler {
	t.Helper()
	m, err := httplimit.New(l, k, f, append([]httplimit.Option{patient}, opts...)...)
	require.NoError(t, err)
	return m
}

// hello is the handler behind the limit.
var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

func request(user string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if user != "" {
		r.Header.Set("User", user)
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// reports are what an observer heard.
type reports struct {
	mu  sync.Mutex
	all []httplimit.Report
}

func (o *reports) observe(_ *http.Request, p httplimit.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, p)
}

func (o *reports) outcomes() (all []httplimit.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.all {
		all = append(all, p.Outcome)
	}
	return all
}

func left(t testing.TB, b *ratelimiter.Bucket) int64 {
	t.Helper()
	d, err := b.Peek(t.Context())
	require.NoError(t, err)
	return d.Remaining
}
