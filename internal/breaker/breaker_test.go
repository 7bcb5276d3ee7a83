package breaker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// asked is a breaker whose requests end at times that the test sets.
type asked struct {
	Breaker
	t   *testing.T
	now time.Duration
}

// request ends in what, or is not asked.
func (a *asked) request(what finding) (was bool) {
	ask, probe := a.admit(a.now)
	if ask {
		a.ended(a.now, what, probe)
	}
	return ask
}

// each has a request end like this each step, for so long.
func (a *asked) each(step, long time.Duration, what finding) {
	for until := a.now + long; a.now < until; a.now += step {
		a.request(what)
	}
}

// opens has requests fail until the breaker opens.
func (a *asked) opens() {
	a.t.Helper()
	for range 1000 {
		if a.until.Load() != 0 {
			return
		}
		a.request(silent)
	}
	require.Fail(a.t, "it never opens")
}

func TestBreakerStaysClosedInShortSilences(t *testing.T) {
	t.Parallel()
	for name, callers := range map[string]int{"one caller": 1, "many callers": 200} {
		a := &asked{t: t, now: time.Hour}
		for range 9 {
			a.each(ms, time.Second, answered)
			for range callers { // those that were on their way fail together
				require.True(t, a.request(silent), name)
			}
			require.True(t, a.request(answered), name)
		}
	}
}

func TestBreakerOpensWhenMostRequestsFail(t *testing.T) {
	t.Parallel()
	a := &asked{t: t, now: time.Hour}
	a.each(10*ms, 10*time.Second, answered)
	a.each(10*ms, 450*ms, silent)
	assert.True(t, a.request(nothing), "45 of the last 100 have failed")
	a.each(10*ms, 100*ms, silent)
	assert.False(t, a.request(silent), "half of them have")
}

func TestBreakerOpensWhenHalfOfTheRequestsFailAllTheTime(t *testing.T) {
	t.Parallel()
	a := &asked{t: t, now: time.Hour}
	for range leastFailures {
		a.request(answered)
		require.True(t, a.request(silent))
		a.now += 20 * ms
	}
	assert.False(t, a.request(silent))
}

func TestBreakerOpensWithoutTrafficAfterFiveFailures(t *testing.T) {
	t.Parallel()
	a := &asked{t: t, now: time.Hour}
	a.request(answered)
	for range leastFailures {
		a.now += 30 * time.Second // a caller with so much patience
		require.True(t, a.request(silent))
	}
	assert.False(t, a.request(silent))

	a = &asked{t: t, now: time.Hour}
	for range 20 {
		a.now += 30 * time.Second
		require.True(t, a.request(silent))
		require.True(t, a.request(silent))
		require.True(t, a.request(answered), "what was answered since does not count")
	}
}

func TestBreakerRestsTwiceAsLongAfterEachProbeThatFails(t *testing.T) {
	t.Parallel()
	a := &asked{t: t, now: time.Hour}
	a.opens()
	for _, rest := range []time.Duration{50, 100, 200, 400, 800, 1000, 1000} {
		a.now += rest*ms - 1
		require.False(t, a.request(answered), rest)
		a.ended(a.now, silent, false) // one that was sent before
		a.now++
		require.True(t, a.request(silent), rest)
	}
	a.now += LongestRest
	require.True(t, a.request(answered))
	for range leastFailures {
		require.True(t, a.request(silent), "it knows nothing of what was before")
	}
	require.False(t, a.request(silent))
	a.now += FirstRest
	require.True(t, a.request(answered), "the first rest is short again")
}

func TestBreakerIsClosedByALateAnswer(t *testing.T) {
	t.Parallel()
	a := &asked{t: t, now: time.Hour}
	a.opens()
	a.ended(a.now, answered, false)
	assert.True(t, a.request(answered))
}

func TestBreakerHasOneProbeAtATime(t *testing.T) {
	t.Parallel()
	a := &asked{t: t, now: time.Hour}
	a.opens()
	a.now += FirstRest
	_, probe := a.admit(a.now)
	require.True(t, probe)
	a.now += time.Hour
	require.False(t, a.request(answered))
	a.ended(a.now, nothing, true) // its caller has left
	require.True(t, a.request(silent), "the next one asks")
}

func TestBreakerProbeThatPanicsLeavesTheNextOneToAsk(t *testing.T) {
	t.Parallel()
	var k Breaker
	now := time.Hour
	p := Patience{Within: time.Hour, Now: func() time.Duration { return now }, Silent: func(error, bool) bool { return true }}
	ask := func(does func(context.Context) error) (instead bool) {
		_ = Instead(t.Context(), &k, p, does, func() error { instead = true; return nil })
		return instead
	}
	for range leastFailures {
		require.True(t, ask(func(context.Context) error { return errors.New("silence") }))
	}
	now += FirstRest
	require.Panics(t, func() { ask(func(context.Context) error { panic("the probe") }) })
	require.False(t, ask(func(context.Context) error { return nil }), "it is asked")
	require.False(t, ask(func(context.Context) error { return nil }), "it is closed")
}

// What is answered without the server, from a stock of tokens say, says nothing of it.
func TestBreakerDoesNotCountWhatIsAnsweredWithoutTheServer(t *testing.T) {
	t.Parallel()
	var k Breaker
	var now atomic.Int64
	now.Store(int64(time.Hour))
	p := Patience{Within: time.Hour, Now: func() time.Duration { return time.Duration(now.Load()) }, Silent: func(error, bool) bool { return true }}
	fails := errors.New("silence")
	ask := func(does func(ctx context.Context) error) (instead bool) {
		_ = Instead(t.Context(), &k, p, does, func() error { instead = true; return nil })
		return instead
	}
	local := func(ctx context.Context) error { Unasked(ctx); return nil }
	for range leastFailures {
		for range 100 {
			require.False(t, ask(local))
		}
		require.True(t, ask(func(context.Context) error { return fails }))
	}
	require.True(t, ask(local), "it is open")
	now.Add(int64(FirstRest))
	require.False(t, ask(local), "a probe, which finds nothing out")
	require.False(t, ask(func(context.Context) error { return nil }), "another")
	require.False(t, ask(local), "it is closed")
}

// BenchmarkBreakerAnswer is what each answer costs.
func BenchmarkBreakerAnswer(b *testing.B) {
	var k Breaker
	b.RunParallel(func(pb *testing.PB) {
		for now := time.Hour; pb.Next(); now += time.Microsecond {
			_, probe := k.admit(now)
			k.ended(now, answered, probe)
		}
	})
}
