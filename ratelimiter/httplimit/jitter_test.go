package httplimit_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

func TestRefusalsAreSpreadByAJitter(t *testing.T) {
	t.Parallel()
	l, _ := manual(t, ratelimiter.PerMinute(1))
	told := func(opts ...httplimit.Option) map[int]bool {
		all, h := map[int]bool{}, limit(t, l, opts...)(hello)
		for range 100 {
			w := serve(h, request("u"))
			if w.Code == http.StatusOK { // the first of all
				continue
			}
			assert.Equal(t, `"api";r=0;t=60`, w.Header().Get("RateLimit"))
			wait, err := strconv.Atoi(w.Header().Get("Retry-After"))
			require.NoError(t, err)
			all[wait] = true
		}
		return all
	}
	assert.Equal(t, map[int]bool{60: true}, told())
	assert.Equal(t, map[int]bool{60: true, 61: true, 62: true}, told(httplimit.WithRetryJitter(2900*time.Millisecond)))
}
