package httplimit_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

const bearer = "Bearer sk_live_4eC39HqLyjWD"

// hashed is what stands for it: printf %s "$bearer" | sha256sum | cut -c 1-32
const hashed = "a6d30e5acc41b1369e4ddf761cde16ea"

func asking(header, value string) *http.Request {
	r := request("")
	r.RemoteAddr = "192.0.2.7:1234"
	r.Header.Set(header, value)
	return r
}

// keysOf are the keys that a limiter has in Redis.
func keysOf(t testing.TB, name string) []string {
	t.Helper()
	found, err := redistest.Shared(t).Client(t).Do(t.Context(), redistest.Shared(t).Client(t).B().Keys().Pattern(name+":*").Build()).AsStrSlice()
	require.NoError(t, err)
	return found
}

func TestWhatStandsInRedisForAKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key  httplimit.Key
		want string
	}{
		"a header":             {httplimit.ByHeader("Authorization"), hashed},
		"a header as it is":    {httplimit.ByHeader("Authorization", httplimit.Plain()), bearer},
		"an address":           {httplimit.ByIP(), "192.0.2.7"},
		"a function's own key": {httplimit.By(func(*http.Request) (string, error) { return "plan:7", nil }), "plan:7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limiter(t, ratelimiter.PerHour(10))
			h := limitBy(t, l, c.key, httplimit.FailClosed)(hello)
			require.Equal(t, http.StatusOK, serve(h, asking("Authorization", bearer)).Code)
			assert.Equal(t, []string{l.Name() + ":{" + c.want + "}"}, keysOf(t, l.Name()))
		})
	}
}

// Errors of the limiter are logged, and handed to observers: of a key they
// carry the kind and a hash, and only of an address the text.
func TestNoLogCarriesTheTextOfAKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key  httplimit.Key
		want string
	}{
		"a header":             {httplimit.ByHeader("authorization"), `key="header Authorization #`},
		"a header as it is":    {httplimit.ByHeader("Authorization", httplimit.Plain()), `key="header Authorization #`},
		"a function's own key": {httplimit.By(func(*http.Request) (string, error) { return bearer, nil }), `key="own #`},
		"an address":           {httplimit.ByIP(), `key="address 192.0.2.7"`},
		"nobody's": {
			httplimit.By(func(*http.Request) (string, error) { return "", nil }), `key=shared`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t)) // without a rate
			var log bytes.Buffer
			var seen reports
			h := limitBy(t, l, c.key, httplimit.FailClosed, httplimit.Logger(slog.New(slog.NewTextHandler(&log, nil))),
				httplimit.SharedKey("nobody"), httplimit.Observe(seen.observe))(hello)
			require.Equal(t, http.StatusServiceUnavailable, serve(h, asking("Authorization", bearer)).Code)
			assert.Contains(t, log.String(), c.want)
			for _, said := range []string{log.String(), seen.all[0].Err.Error()} {
				assert.NotContains(t, said, strings.TrimPrefix(bearer, "Bearer "))
				assert.Contains(t, said, "for key #")
			}
		})
	}
}
