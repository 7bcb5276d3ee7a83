package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// exampleT stands for the *testing.T that a test function is given.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()                   {}
func (t *exampleT) Cleanup(f func())          { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Logf(string, ...any)       {}
func (t *exampleT) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func (t *exampleT) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

// exampleLimiter is the limiter "api" with that rate; a program gets it from its
// rueidisson.Client.
func exampleLimiter(r ratelimiter.Rate) (lim *ratelimiter.Limiter, stop func()) {
	t := &exampleT{}
	lim = rueidissontest.NewServer(t, rueidissontest.WithManualClock()).NewClient(t).RateLimiter("api")
	if _, _, err := lim.TrySetRate(context.Background(), r); err != nil {
		panic(err)
	}
	return lim, t.end
}

// show sends a request and prints what came back.
func show(h http.Handler, change func(*http.Request)) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	change(r)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Header().Get("RateLimit"), " ", w.Header().Get("Retry-After"))))
}

func ExampleNew() {
	lim, stop := exampleLimiter(ratelimiter.PerMinute(6).WithBurst(2))
	defer stop()

	limit, err := httplimit.New(lim, httplimit.ByIP(), httplimit.FailOpen)
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	server := limit(mux) // or router.Use(limit)

	for range 3 {
		show(server, func(r *http.Request) { r.RemoteAddr = "192.0.2.1:5000" })
	}
	show(server, func(r *http.Request) { r.RemoteAddr = "192.0.2.2:5000" })
	// Output:
	// 200 "api";r=1;t=10
	// 200 "api";r=0;t=10
	// 429 "api";r=0;t=10 10
	// 200 "api";r=1;t=10
}

// A load balancer writes X-Forwarded-For; what the client put there before does
// not count.
func ExampleTrustProxies() {
	lim, stop := exampleLimiter(ratelimiter.PerMinute(1))
	defer stop()

	limit, err := httplimit.New(lim, httplimit.ByIP(httplimit.TrustProxies("10.0.0.0/8")), httplimit.FailOpen)
	if err != nil {
		panic(err)
	}
	server := limit(http.NotFoundHandler())
	for _, pretended := range []string{"1.1.1.1", "2.2.2.2"} {
		show(server, func(r *http.Request) {
			r.RemoteAddr = "10.0.0.7:80"
			r.Header.Set("X-Forwarded-For", pretended+", 192.0.2.1")
		})
	}
	// Output:
	// 404 "api";r=0;t=60
	// 429 "api";r=0;t=60 60
}

// Of logins only those count that fail.
func ExampleRefundIf() {
	lim, stop := exampleLimiter(ratelimiter.PerMinute(1))
	defer stop()

	limit, err := httplimit.New(lim, httplimit.ByIP(), httplimit.FailClosed, httplimit.RefundIf(httplimit.Succeeded))
	if err != nil {
		panic(err)
	}
	login := limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Password") != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	for _, password := range []string{"right", "right", "wrong", "wrong"} {
		show(login, func(r *http.Request) { r.Header.Set("Password", password) })
	}
	// Output:
	// 200 "api";r=0;t=60
	// 200 "api";r=0;t=60
	// 401 "api";r=0;t=60
	// 429 "api";r=0;t=60 60
}

// A model's answer is streamed, and what it has cost is known when it ends. The
// first one costs more than there was: the next is refused until that is paid.
func ExampleCharge() {
	lim, stop := exampleLimiter(ratelimiter.PerMinute(60).WithBurst(10))
	defer stop()

	limit, err := httplimit.New(lim, httplimit.ByHeader("Authorization"), httplimit.FailClosed)
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		spent := int64(0)
		defer func() {
			if err := httplimit.Charge(r.Context(), spent); err != nil { // also if the client has gone
				log.Print(err)
			}
		}()
		for _, word := range strings.Fields("the quick brown fox jumps over the lazy dog and runs away") {
			if _, err := fmt.Fprintln(w, word); err != nil {
				return
			}
			spent++
			_ = http.NewResponseController(w).Flush()
		}
	})))
	defer server.Close()

	for range 2 {
		r, _ := http.NewRequest(http.MethodGet, server.URL, nil)
		r.Header.Set("Authorization", "Bearer secret")
		response, err := server.Client().Do(r)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			fmt.Println(response.Status, "with", strings.Count(string(body), "\n"), "words")
		} else {
			fmt.Println(response.Status, "for", response.Header.Get("Retry-After"), "s")
		}
	}
	// Output:
	// 200 OK with 12 words
	// 429 Too Many Requests for 3 s
}

// Users count by their plan, visitors by their address.
func ExampleBy() {
	lim, stop := exampleLimiter(ratelimiter.PerMinute(1))
	defer stop()

	address := httplimit.ByIP()
	key := httplimit.By(func(r *http.Request) (string, error) {
		if user, _, ok := r.BasicAuth(); ok { // which was checked before
			return "user:" + user, nil
		}
		ip, err := address.Of(r)
		return "ip:" + ip, err
	})
	plan := httplimit.Rule(func(r *http.Request, _ *ratelimiter.Limiter) (ratelimiter.Rate, bool) {
		_, _, known := r.BasicAuth()
		return ratelimiter.PerMinute(60), known
	})
	limit, err := httplimit.New(lim, key, httplimit.FailOpen, plan)
	if err != nil {
		panic(err)
	}
	server := limit(http.NotFoundHandler())
	show(server, func(r *http.Request) { r.SetBasicAuth("ann", "") })
	show(server, func(*http.Request) {})
	// Output:
	// 404 "api";r=59;t=59
	// 404 "api";r=0;t=60
}
