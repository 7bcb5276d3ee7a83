package fencehttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/fence/fencehttp"
)

func token(t testing.TB, lock string, number int64) fence.Token {
	t.Helper()
	made, err := fence.New(lock, number)
	require.NoError(t, err)
	return made
}

func orders(*http.Request) string { return "order:42" }

// shop is a server behind a gate that tells the token of each request.
func shop(t *testing.T, g *fencehttp.Gate) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := fence.FromContext(r.Context())
		_, _ = io.WriteString(w, got.String())
	})))
	t.Cleanup(s.Close)
	return s
}

// ask sends a request under ctx, and returns what became of it.
func ask(ctx context.Context, t *testing.T, url string, headers ...string) (status int, body string) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: &fencehttp.Transport{Base: transport}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, nil)
	require.NoError(t, err)
	for _, h := range headers {
		req.Header.Add(fencehttp.Header, h)
	}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, strings.TrimSpace(string(text))
}

func TestATokenPassesUntilANewerOneCame(t *testing.T) {
	t.Parallel()
	s := shop(t, fencehttp.NewGate(orders, nil))
	for _, of := range []struct {
		title  string
		token  fence.Token
		status int
	}{
		{"the first", token(t, "order:42", 7), 200},
		{"an equal one, as the same holder's", token(t, "order:42", 7), 200},
		{"the same with its owner", token(t, "order:42", 7).By("a"), 200},
		{"an equal one of another owner", token(t, "order:42", 7).By("b"), 412},
		{"a newer one", token(t, "order:42", 9).By("b"), 200},
		{"an older one", token(t, "order:42", 8).By("a"), 412},
		{"one of another lock", token(t, "order:43", 10), 400},
	} {
		status, body := ask(fence.NewContext(t.Context(), of.token), t, s.URL)
		assert.Equal(t, of.status, status, of.title)
		if status == http.StatusOK {
			assert.Equal(t, of.token.String(), body, "the handler has it in its context")
		}
	}
}

func TestWhatIsNoTokenDoesNotPass(t *testing.T) {
	t.Parallel()
	s := shop(t, fencehttp.NewGate(orders, nil))
	for title, of := range map[string]struct {
		headers []string
		status  int
	}{
		"none":           {nil, 428},
		"an empty one":   {[]string{""}, 400},
		"a number":       {[]string{"7"}, 400},
		"one that is no": {[]string{"-7;lock=order%3A42"}, 400},
		"two of them":    {[]string{"7;lock=order%3A42", "8;lock=order%3A42"}, 400},
		"two in one":     {[]string{"7;lock=order%3A42, 8;lock=order%3A42"}, 400},
		"a huge one":     {[]string{strings.Repeat("9", 10000) + ";lock=order%3A42"}, 400},
		"a huge owner":   {[]string{"7;lock=order%3A42;owner=" + strings.Repeat("x", 10000)}, 400},
	} {
		status, body := ask(t.Context(), t, s.URL, of.headers...)
		assert.Equal(t, of.status, status, title)
		assert.Less(t, len(body), 100, "what was sent is not said again")
	}
}

func TestAGateMayLetSomePassWithoutAToken(t *testing.T) {
	t.Parallel()
	s := shop(t, fencehttp.NewGate(func(*http.Request) string { return "" }, nil))
	status, _ := ask(t.Context(), t, s.URL)
	assert.Equal(t, 200, status)
	require.Panics(t, func() { fencehttp.NewGate(nil, nil) })
}

// Whatever comes at the same time: behind the newest that has passed, none that is
// older does.
func TestAGateAmongManyLetsNoOlderOnePassBehindANewer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	passed := map[string]int64{}
	locks := []string{"order:1", "order:2"}
	gate := fencehttp.NewGate(func(r *http.Request) string { return r.URL.Path[1:] }, nil).Wrap(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got, _ := fence.FromContext(r.Context())
			mu.Lock()
			defer mu.Unlock()
			passed[got.Lock()] = max(passed[got.Lock()], got.Number())
		}))
	send := func(lock string, number int64) int {
		req, res := httptest.NewRequest(http.MethodPut, "/"+lock, nil), httptest.NewRecorder()
		req.Header.Set(fencehttp.Header, token(t, lock, number).String())
		gate.ServeHTTP(res, req)
		return res.Code
	}
	var group sync.WaitGroup
	var next atomic.Int64
	for range 16 {
		group.Go(func() {
			for range 500 {
				number := next.Add(1)
				for _, lock := range locks {
					mu.Lock()
					newest := passed[lock]
					mu.Unlock()
					if status := send(lock, number); number < newest {
						assert.Equal(t, 412, status)
					}
				}
			}
		})
	}
	group.Wait()
	for _, lock := range locks {
		assert.EqualValues(t, 8000, passed[lock])
		assert.Equal(t, 412, send(lock, 7999))
		assert.Equal(t, 200, send(lock, 8000))
	}
}

type broken struct{}

func (broken) Admit(context.Context, fence.Token) error { return errors.New("password of the store") }

func TestAStoreThatDoesNotAnswerLetsNothingPass(t *testing.T) {
	t.Parallel()
	s := shop(t, fencehttp.NewGate(orders, broken{}))
	status, body := ask(fence.NewContext(t.Context(), token(t, "order:42", 7)), t, s.URL)
	assert.Equal(t, 503, status)
	assert.NotContains(t, body, "password")
}

func TestTheTransportReplacesTheHeaderAndLeavesTheRequest(t *testing.T) {
	t.Parallel()
	s := shop(t, fencehttp.NewGate(orders, nil))
	status, body := ask(fence.NewContext(t.Context(), token(t, "order:42", 7)), t, s.URL, "1;lock=order%3A42", "2;lock=x")
	assert.Equal(t, 200, status)
	assert.Equal(t, "7;lock=order%3A42", body)

	sent := &seen{}
	req := httptest.NewRequest(http.MethodPut, "http://here/", nil).WithContext(fence.NewContext(t.Context(), token(t, "x", 1)))
	_, err := (&fencehttp.Transport{Base: sent}).RoundTrip(req)
	require.NoError(t, err)
	assert.Empty(t, req.Header, "the caller's request is as it was")
	assert.Equal(t, "1;lock=x", sent.header.Get(fencehttp.Header))
}

type seen struct{ header http.Header }

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.header = r.Header
	return &http.Response{Request: r, Body: http.NoBody}, nil
}

func TestTheTokenDoesNotFollowARedirectToAnotherHost(t *testing.T) {
	t.Parallel()
	var got []string
	var mu sync.Mutex
	note := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get(fencehttp.Header))
	}
	other := httptest.NewServer(http.HandlerFunc(note))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
			return
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	status, _ := ask(fence.NewContext(t.Context(), token(t, "x", 7)), t, first.URL)
	assert.Equal(t, 200, status)
	assert.Equal(t, []string{"7;lock=x", "7;lock=x", ""}, got)
}
