package httplimit

import (
	"context"
	"net/http"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// tryOut asks the limits in shadow about a request that the others have granted.
func (t *ticket) tryOut(r *http.Request) {
	if len(t.m.tried) == 0 || !t.refundable() {
		return
	}
	for _, b := range t.m.bucketsOf(t.m.tried, r, t.Key) {
		s := ratelimiter.Shadow(b)
		s.Take(r.Context(), t.Cost)
		t.tried = append(t.tried, s)
	}
}

// settleTried makes n what they have heard that the request costs.
func (t *ticket) settleTried(ctx context.Context, before, n int64) {
	for _, s := range t.tried {
		s.Settle(ctx, before, n)
	}
}
