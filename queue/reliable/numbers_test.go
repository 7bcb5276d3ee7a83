package reliable

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// ofItsOwn is a lease that no other handle has.
func ofItsOwn() Option { return WithLease(time.Second + rand.N(time.Hour)) }

func (h *hub) numbered() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.numbers)
}

// TestHandlesOfARequestEach have terms of their own, and leave nothing behind, also if they have waited.
func TestHandlesOfARequestEach(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		for i := range redistest.Count(t, 60, 300) {
			q := r.with(ofItsOwn())
			if i%10 == 0 {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				_, err := q.Receive(ctx)
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			q.adds("a")
			q.acks("a")
		}
		redistest.Eventually(t, func() bool {
			_, _ = r.with(ofItsOwn()).Poll(t.Context()) // what has gone is forgotten in passing
			return r.h.numbered() == 0
		}, soon, time.Millisecond)
		r.leaves()
	})
}

// TestNoTwoConsumersHaveOneNumber, though numbers come back.
func TestNoTwoConsumersHaveOneNumber(t *testing.T) {
	t.Parallel()
	r := rigOn(t, miniredisClient(t))
	type used struct {
		q *rig
		c *consumer
	}
	there := map[string]used{}
	for range 1000 {
		q := r.with(ofItsOwn())
		c := q.consumer(q.policy)
		require.NotContains(t, there, c.me)
		require.Same(t, c, q.consumer(q.policy))
		q.done(c)
		there[c.me] = used{q, c}
		for me, u := range there {
			if len(there) > 20 {
				u.q.done(u.c)
				delete(there, me)
			}
		}
	}
	for _, u := range there {
		u.q.done(u.c)
	}
	require.Zero(t, r.h.numbered())
}

// TestTermsOfTheSameWordsAreOne, whichever handle has them.
func TestTermsOfTheSameWordsAreOne(t *testing.T) {
	t.Parallel()
	r := rigOn(t, miniredisClient(t))
	other := r.with()
	c := r.consumer(r.policy)
	defer r.done(c)
	require.Same(t, c, other.consumer(other.policy))
	defer other.done(c)
	differs := r.with(WithMaxAttempts(3))
	d := differs.consumer(differs.policy)
	defer differs.done(d)
	require.NotSame(t, c, d)
	require.Equal(t, 3, d.terms.MaxAttempts)
}
