package httplimit_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// answers is a handler with the status of the path.
var answers = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/204":
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNoContent)
	case "/401":
		w.WriteHeader(http.StatusUnauthorized)
	case "/panic":
		panic(http.ErrAbortHandler)
	case "/late":
		_, _ = io.WriteString(w, "x")
		panic(http.ErrAbortHandler)
	case "/copy":
		_, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader("copied")})
	case "/flush":
		w.(http.Flusher).Flush()
		w.WriteHeader(http.StatusUnauthorized) // too late
	}
})

func TestRefunds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		predicate func(httplimit.Response) bool
		refunded  []string
		counted   []string
	}{
		{"only failures count", httplimit.Succeeded, []string{"/", "/204", "/late", "/copy", "/flush"}, []string{"/401", "/panic"}},
		{"only successes count", httplimit.Failed, []string{"/401", "/panic"}, []string{"/", "/204", "/late", "/copy", "/flush"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := limiter(t, ratelimiter.PerHour(100))
			var seen reports
			h := limit(t, l, httplimit.RefundIf(c.predicate), httplimit.Observe(seen.observe), httplimit.Cost(func(*http.Request) int64 { return 3 }))(answers)
			ask := func(path string) {
				defer func() { _ = recover() }()
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Header.Set("User", path)
				serve(h, r)
			}
			for _, path := range append(c.refunded, c.counted...) {
				ask(path)
			}
			for _, path := range c.refunded {
				assert.EqualValues(t, 100, left(t, l.For(path)), path)
			}
			for _, path := range c.counted {
				assert.EqualValues(t, 97, left(t, l.For(path)), path)
			}
			assert.Len(t, seen.outcomes(), 7+len(c.refunded))
		})
	}
}

func TestRefusedRequestsAreNotRefunded(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(1))
	h := limit(t, l, httplimit.RefundIf(httplimit.Failed))(hello)
	for _, code := range []int{200, 429, 429} {
		assert.Equal(t, code, serve(h, request("u")).Code)
	}
	assert.Zero(t, left(t, l.For("u")))
}

// What the server's own writer can do, the handler's can.
func TestAResponseCanBeFlushedAndTakenOver(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(100))
	statuses := make(chan int, 1)
	handled := func(h http.HandlerFunc) *httptest.Server {
		m := limit(t, l, httplimit.RefundIf(func(r httplimit.Response) bool {
			statuses <- r.Status
			return false
		}))
		s := httptest.NewServer(m(h))
		t.Cleanup(s.Close)
		return s
	}
	get := func(s *httptest.Server) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		require.NoError(t, err)
		r.Header.Set("User", "u")
		response, err := s.Client().Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { response.Body.Close() })
		return response
	}

	flushed, seen := make(chan struct{}), make(chan struct{})
	s := handled(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		assert.NoError(t, http.NewResponseController(w).Flush())
		close(flushed)
		<-seen
	})
	response := get(s)
	<-flushed
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "first\n", line, "before the handler has returned")
	close(seen)
	assert.Equal(t, http.StatusOK, <-statuses)

	response = get(handled(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if assert.NoError(t, err) {
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			conn.Close()
		}
	}))
	assert.Equal(t, http.StatusNoContent, response.StatusCode)
	assert.Equal(t, http.StatusSwitchingProtocols, <-statuses)
}

// bare is a writer that can do nothing else.
type bare struct{ http.ResponseWriter }

type hijackable struct{ bare }

func (hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, nil }

type pushable struct{ http.ResponseWriter }

func (pushable) Push(string, *http.PushOptions) error { return nil }

type flushable struct {
	bare
	http.Flusher
}

func TestAWriterIsGivenNoAbilitiesItHasNot(t *testing.T) {
	t.Parallel()
	l := limiter(t, ratelimiter.PerHour(100))
	plain := bare{httptest.NewRecorder()}
	flushes, takesOver := flushable{plain, httptest.NewRecorder()}, hijackable{plain}
	both := struct {
		bare
		http.Flusher
		http.Hijacker
	}{plain, flushes, takesOver}
	for name, own := range map[string]http.ResponseWriter{
		"neither": plain, "flushes": flushes, "taken over": takesOver, "both": both,
		"pushes": pushable{plain}, "pushes and flushes, as HTTP/2 does": struct {
			flushable
			http.Pusher
		}{flushes, pushable{}},
		"pushes and is taken over": struct {
			hijackable
			http.Pusher
		}{takesOver, pushable{}},
		"all three": struct {
			flushable
			http.Hijacker
			http.Pusher
		}{flushes, takesOver, pushable{}},
	} {
		called := false
		h := limit(t, l, httplimit.RefundIf(httplimit.Failed))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			called = true
			assert.Equal(t, abilities(own), abilities(w), name)
		}))
		h.ServeHTTP(own, request("u"))
		assert.True(t, called, name)
	}
}

// abilities are what handlers ask a writer for by a type assertion.
func abilities(w http.ResponseWriter) (all [3]bool) {
	_, all[0] = w.(http.Flusher)
	_, all[1] = w.(http.Hijacker)
	_, all[2] = w.(http.Pusher)
	return all
}

// A push is one of the server's own.
func TestAHandlerBehindARefundPushesOverHTTP2(t *testing.T) {
	t.Parallel()
	pushed := make(chan error, 1)
	h := limit(t, limiter(t, ratelimiter.PerHour(100)), httplimit.RefundIf(httplimit.Failed))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := w.(http.Pusher)
		if !assert.True(t, ok, r.Proto) {
			pushed <- nil
			return
		}
		pushed <- p.Push("/style.css", nil)
	}))
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	require.NoError(t, err)
	r.Header.Set("User", "u")
	response, err := s.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 2, response.ProtoMajor)
	// Go's client has switched pushes off, and the server says so.
	assert.ErrorIs(t, <-pushed, http.ErrNotSupported)
}
