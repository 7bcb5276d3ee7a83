package httplimit_test

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// charging is a handler that says what requests have cost.
func charging(charge func(ctx context.Context)) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { charge(r.Context()) })
}

func TestAChargeIsOfTheWholeRequest(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(100))
	var seen reports
	h := limit(t, l, httplimit.Cost(func(*http.Request) int64 { return 5 }), httplimit.Observe(seen.observe))(charging(func(ctx context.Context) {
		assert.EqualValues(t, 95, left(t, l.For("u")))
		for _, c := range []struct{ whole, left int64 }{{30, 70}, {45, 55}, {45, 55}, {2, 98}, {0, 100}, {60, 40}} {
			assert.NoError(t, httplimit.Charge(ctx, c.whole))
			assert.Equal(t, c.left, left(t, l.For("u")), "after %d in all", c.whole)
		}
		assert.ErrorIs(t, httplimit.Charge(ctx, -1), ratelimiter.ErrInvalidArgument)
	}))
	require.Equal(t, http.StatusOK, serve(h, request("u")).Code)
	assert.Equal(t, httplimit.Charged, seen.all[1].Outcome)
	assert.Equal(t, "charged", seen.all[1].Outcome.String())
	assert.EqualValues(t, 30, seen.all[1].Cost)
	assert.Equal(t, "u", seen.all[1].Key)
}

// Who has used more than there was waits until that is paid.
func TestAChargeGoesIntoDebt(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(100))
	h := limit(t, l)(charging(func(ctx context.Context) { assert.NoError(t, httplimit.Charge(ctx, 150)) }))
	require.Equal(t, http.StatusOK, serve(h, request("u")).Code)
	w := serve(h, request("u"))
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Contains(t, []string{"1836", "1835", "1834"}, w.Header().Get("Retry-After"), "51 tokens at 36 s each")
	assert.Equal(t, http.StatusOK, serve(h, request("other")).Code)
}

func TestAChargeIsMadeAlthoughTheClientHasGone(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(100))
	ctx, leave := context.WithCancel(t.Context())
	h := limit(t, l)(charging(func(ctx context.Context) {
		leave()
		assert.Error(t, ctx.Err())
		assert.NoError(t, httplimit.Charge(context.WithoutCancel(ctx), 20))
		assert.NoError(t, httplimit.Charge(ctx, 30))
	}))
	serve(h, request("u").WithContext(ctx))
	assert.EqualValues(t, 70, left(t, l.For("u")))
}

func TestAChargeIsOfEachLimitAndARefundOfAllThatWasCharged(t *testing.T) {
	t.Parallel()
	c, name := open(t, redistest.Shared(t).Addr()), redistest.Name(t)
	l, day := rated(t, c.RateLimiter(name), ratelimiter.PerHour(100)), rated(t, c.RateLimiter(name+"/day"), ratelimiter.PerHour(1000))
	for name, c := range map[string]struct {
		more      []httplimit.Option
		left, day int64
	}{
		"one":               {nil, 70, 1000},
		"one, refunded":     {[]httplimit.Option{httplimit.RefundIf(httplimit.Succeeded)}, 100, 1000},
		"several":           {[]httplimit.Option{httplimit.Also(day)}, 70, 970},
		"several, refunded": {[]httplimit.Option{httplimit.Also(day), httplimit.RefundIf(httplimit.Succeeded)}, 100, 1000},
	} {
		h := limit(t, l, c.more...)(charging(func(ctx context.Context) { assert.NoError(t, httplimit.Charge(ctx, 30)) }))
		require.Equal(t, http.StatusOK, serve(h, request(name)).Code)
		assert.Equal(t, c.left, left(t, l.For(name)), name)
		assert.Equal(t, c.day, left(t, day.For(name)), name)
	}
}

// What no bucket on the server has decided about is charged to none.
func TestWhatIsNotCharged(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(1))
	bare := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t) + "/bare")
	gone, proxy := behindProxy(t, ratelimiter.WithFallback(30*time.Second, ratelimiter.Open))
	proxy.Refuse()
	proxy.CutAll()
	var seen reports
	used := limit(t, l)(hello)
	require.Equal(t, http.StatusOK, serve(used, request("shadow")).Code)
	for name, m := range map[string]func(http.Handler) http.Handler{
		"free":     limit(t, l, httplimit.Cost(func(*http.Request) int64 { return 0 })),
		"fallback": limit(t, gone),
		"open":     limitBy(t, bare, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailOpen),
		"shadow":   limit(t, l, httplimit.Shadow(), httplimit.Observe(seen.observe)),
	} {
		called := false
		h := m(charging(func(ctx context.Context) {
			called = true
			assert.NoError(t, httplimit.Charge(ctx, 10), name)
		}))
		// An outer limit is not the one that is meant.
		outer := limiter(t, ratelimiter.PerHour(100))
		require.Equal(t, http.StatusOK, serve(limit(t, outer)(h), request(name)).Code, name)
		assert.True(t, called, name)
		assert.EqualValues(t, 99, left(t, outer.For(name)), name)
	}
	assert.Zero(t, left(t, l.For("shadow")))
	assert.EqualValues(t, 1, left(t, l.For("free")))
	for _, err := range []error{httplimit.Charge(t.Context(), 1), httplimit.Charge(t.Context(), -1)} {
		assert.ErrorIs(t, err, httplimit.ErrNoDecision)
	}
}

// What a lost reply may have charged is not charged again.
func TestAChargeWhoseReplyIsLostIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	l, proxy := behindProxy(t)
	var seen reports
	ofBucket := func(cmd []string) bool { return slices.Contains(cmd, l.Name()+":{u}") }
	h := limit(t, l, httplimit.Observe(seen.observe))(charging(func(ctx context.Context) {
		proxy.DropReply(ofBucket, 1)
		assert.ErrorIs(t, httplimit.Charge(ctx, 30), ratelimiter.ErrOutcomeUnknown)
		assert.NoError(t, httplimit.Charge(ctx, 30))
		assert.EqualValues(t, 70, left(t, l.For("u")))
		assert.NoError(t, httplimit.Charge(ctx, 40))
	}))
	require.Equal(t, http.StatusOK, serve(h, request("u")).Code)
	assert.EqualValues(t, 60, left(t, l.For("u")))
	assert.ErrorIs(t, seen.all[1].Err, ratelimiter.ErrOutcomeUnknown)
}

// net/http removes a form's files by the request that it made, and logs tell
// the pattern that a mux wrote into it.
func TestWhatAHandlerLeavesInTheRequestIsSeenFurtherOut(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(100))
	files := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /upload/{id}", func(_ http.ResponseWriter, r *http.Request) {
		if assert.NoError(t, r.ParseMultipartForm(0)) {
			f, err := r.MultipartForm.File["a"][0].Open()
			if assert.NoError(t, err) {
				files <- f.(*os.File).Name()
				f.Close()
			}
		}
	})
	patterns := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit(t, l)(mux).ServeHTTP(w, r)
		patterns <- r.Pattern
	}))
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("a", "a.txt")
	require.NoError(t, err)
	_, _ = part.Write(make([]byte, 1<<20))
	require.NoError(t, form.Close())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/upload/7", &body)
	require.NoError(t, err)
	r.Header.Set("User", "u")
	r.Header.Set("Content-Type", form.FormDataContentType())
	response, err := s.Client().Do(r)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, "POST /upload/{id}", <-patterns)
	s.Close() // waits for what is done after a response
	assert.NoFileExists(t, <-files)
}

func TestChargeOfANilContext(t *testing.T) {
	t.Parallel()
	var none context.Context
	require.ErrorIs(t, httplimit.Charge(none, 1), ratelimiter.ErrInvalidArgument)
}

// TestAChargeAfterARefundPaysTheWhole: nothing was paid any more.
func TestAChargeAfterARefundPaysTheWhole(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(10))
	kept := make(chan context.Context, 1)
	h := limit(t, l, httplimit.Cost(func(*http.Request) int64 { return 5 }), httplimit.RefundIf(httplimit.Succeeded))(charging(func(ctx context.Context) { kept <- ctx }))
	require.Equal(t, http.StatusOK, serve(h, request("u")).Code)
	require.EqualValues(t, 10, left(t, l.For("u")))
	require.NoError(t, httplimit.Charge(<-kept, 8))
	require.EqualValues(t, 2, left(t, l.For("u")))
}
