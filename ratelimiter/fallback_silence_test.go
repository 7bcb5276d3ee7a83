package ratelimiter_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// decisions is what some callers get who ask all the time.
type decisions struct {
	answers, waited, atOnce, allowed atomic.Int64
}

// ask takes tokens until the test ends it.
func (d *decisions) ask(t *testing.T, b *ratelimiter.Bucket, within time.Duration, ends <-chan struct{}) {
	for {
		select {
		case <-ends:
			return
		case <-time.After(time.Millisecond):
		}
		began := time.Now()
		got, err := b.Take(t.Context(), 1)
		if !assert.NoError(t, err) {
			return
		}
		switch {
		case !got.Fallback:
			d.answers.Add(1)
		case time.Since(began) < within:
			d.atOnce.Add(1)
		default:
			d.waited.Add(1)
		}
		if got.Allowed {
			d.allowed.Add(1)
		}
	}
}

// TestLimiterFallbackDecidesOnlyForRequestsInAShortSilence lets the server stand still
// nine times for 80 ms. The fallback decides about requests that wait meanwhile, and
// about no others. A silence that this machine has made much longer does not count.
func TestLimiterFallbackDecidesOnlyForRequestsInAShortSilence(t *testing.T) {
	t.Parallel()
	const within, silence, longest = 50 * time.Millisecond, 80 * time.Millisecond, 500 * time.Millisecond
	s := redistest.Start(t)
	l := limited(t, open(t, s.Addr()), ratelimiter.PerSecond(10), ratelimiter.WithFallback(within, ratelimiter.Open))
	var d decisions
	var callers sync.WaitGroup
	ends := make(chan struct{})
	began := time.Now()
	for range 2 {
		callers.Go(func() { d.ask(t, &l.Bucket, within, ends) })
	}
	answers := func(n int64) {
		until := d.answers.Load() + n
		redistest.Eventually(t, func() bool { return d.answers.Load() >= until }, soon, time.Millisecond)
	}
	for round, tries := 0, 0; round < 9; tries++ {
		require.Less(t, tries, 50, "this machine stands still all the time")
		answers(300)
		before, paused := d.atOnce.Load(), time.Now()
		s.Pause()
		time.Sleep(silence)
		s.Resume()
		answers(10)
		if time.Since(paused) < longest {
			require.Zero(t, d.atOnce.Load()-before, "silence %d: decided without waiting", round)
			round++
		}
	}
	close(ends)
	callers.Wait()
	due := 10 + int64(10*time.Since(began).Seconds()) + 1
	t.Logf("%d allowed, %d due, %d decisions of the fallback in silences, %d without waiting", d.allowed.Load(), due, d.waited.Load(), d.atOnce.Load())
	require.LessOrEqual(t, d.allowed.Load(), due+d.waited.Load()+d.atOnce.Load())
	require.Positive(t, d.waited.Load(), "or no silence was long enough")
}
