package httplimit_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// TestHandlerDoesNotWaitForAServerThatStaysSilent has a limiter without a fallback.
// After some requests have waited for the timeout, most do not.
func TestHandlerDoesNotWaitForAServerThatStaysSilent(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	l, proxy := behindProxy(t)
	var seen reports
	h := limitBy(t, l, httplimit.ByHeader("User", httplimit.Plain()), httplimit.FailOpen, httplimit.Timeout(timeout), httplimit.Observe(seen.observe))(hello)
	atOnce := func() bool {
		began := time.Now()
		require.Equal(t, http.StatusOK, serve(h, request("u")).Code)
		return time.Since(began) < timeout
	}
	proxy.BlackHole()
	redistest.Eventually(t, atOnce, redistest.Soon, time.Millisecond)
	const requests = 100
	waited := 0
	for range requests {
		if !atOnce() {
			waited++
		}
	}
	require.Less(t, waited, requests/2, "one asks after each rest of 50 ms to 1 s")
	last := seen.all[len(seen.all)-1]
	assert.Equal(t, httplimit.Undecided, last.Outcome)
	assert.ErrorIs(t, last.Err, context.DeadlineExceeded)
	proxy.Restore()
	redistest.Eventually(t, func() bool {
		return serve(h, request("u")).Header().Get("RateLimit") != ""
	}, redistest.Soon, time.Millisecond)
}
