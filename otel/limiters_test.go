package otel_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestDecisionsAreCountedByOutcome(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	for _, d := range []rueidisson.Decision{
		{Limiter: "api", Allowed: true, Together: 1}, {Limiter: "api", Allowed: true, Together: 7}, {Limiter: "api", Together: 1},
		{Limiter: "api"}, {Limiter: "api", Allowed: true, Fallback: true}, {Limiter: "mail", Together: 1, Shadow: true},
		{Limiter: "mail", Err: fmt.Errorf("for the key %q: %w", "secret", ratelimiter.ErrNoRate)}, {Limiter: "mail", Err: errors.New("secret")},
	} {
		decider(r).Decided(t.Context(), d)
	}
	assert.Equal(t, map[string]int64{
		"rueidisson.by=server,rueidisson.limiter=api,rueidisson.outcome=allowed,rueidisson.shadow=false":   2,
		"rueidisson.by=server,rueidisson.limiter=api,rueidisson.outcome=refused,rueidisson.shadow=false":   1,
		"rueidisson.by=process,rueidisson.limiter=api,rueidisson.outcome=refused,rueidisson.shadow=false":  1,
		"rueidisson.by=fallback,rueidisson.limiter=api,rueidisson.outcome=allowed,rueidisson.shadow=false": 1,
		"rueidisson.by=server,rueidisson.limiter=mail,rueidisson.outcome=refused,rueidisson.shadow=true":   1,
		"error.type=no_rate,rueidisson.limiter=mail,rueidisson.outcome=failed,rueidisson.shadow=false":     1,
		"error.type=_OTHER,rueidisson.limiter=mail,rueidisson.outcome=failed,rueidisson.shadow=false":      1,
	}, r.sums(t, "rueidisson.limiter.decisions"))
}

// Whoever names a limiter for each customer gets no time series for each.
func TestManyLimitersAreOne(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	for range 2 {
		for i := range 1000 {
			decider(r).Decided(t.Context(), rueidisson.Decision{Limiter: fmt.Sprintf("tenant-%03d", i), Allowed: true, Together: 1})
		}
	}
	sums := r.sums(t, "rueidisson.limiter.decisions")
	assert.Len(t, sums, 101)
	assert.EqualValues(t, 2, sums["rueidisson.by=server,rueidisson.limiter=tenant-099,rueidisson.outcome=allowed,rueidisson.shadow=false"])
	assert.EqualValues(t, 1800, sums["rueidisson.by=server,rueidisson.limiter=_OTHER,rueidisson.outcome=allowed,rueidisson.shadow=false"])
}

func TestAClientTellsItsDecisions(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	l := rueidissontest.NewClient(t, rueidisson.WithObserver(r.Observer)).RateLimiter("api")
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(1))
	require.NoError(t, err)
	for range 2 {
		_, err = l.For("user:42").Allow(t.Context())
		require.NoError(t, err)
	}
	assert.Equal(t, map[string]int64{
		"rueidisson.by=server,rueidisson.limiter=api,rueidisson.outcome=allowed,rueidisson.shadow=false": 1,
		"rueidisson.by=server,rueidisson.limiter=api,rueidisson.outcome=refused,rueidisson.shadow=false": 1,
	}, r.sums(t, "rueidisson.limiter.decisions"))
}
