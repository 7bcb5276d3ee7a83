package redissonlimiter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// slidingWindow is the exact model of a sliding log: what was granted when.
type slidingWindow struct {
	redissonlimiter.Rate
	log []logEntry
}

// live is what of the log counts at that time, µs.
func (w *slidingWindow) live(us int64) (live []logEntry, sum int64) {
	for _, g := range w.log {
		if g.at > us/1000-w.Interval.Milliseconds() {
			live, sum = append(live, g), sum+g.permits
		}
	}
	return live, sum
}

// after is when, from us on, that many permits are there.
func (w *slidingWindow) after(us, n int64) time.Duration {
	live, sum := w.live(us)
	for _, g := range live {
		if w.Permits-sum >= n {
			break
		}
		sum -= g.permits
		us = max(us, (g.at+w.Interval.Milliseconds())*1000)
	}
	return time.Duration(us) * time.Microsecond
}

func (w *slidingWindow) take(us, n int64) ratelimiter.Decision {
	live, sum := w.live(us)
	d := ratelimiter.Decision{Limit: w.Permits, Allowed: w.Permits-sum >= n}
	d.Rate = ratelimiter.Rate{N: w.Permits, Per: w.Interval, Burst: w.Permits, Type: w.Type}
	if d.Allowed {
		live, sum = append(live, logEntry{at: us / 1000, permits: n}), sum+n
	} else {
		d.RetryAfter = w.after(us, n) - time.Duration(us)*time.Microsecond
	}
	w.log = live
	d.Remaining = max(0, w.Permits-sum)
	if len(live) > 0 {
		d.ResetAfter = time.Duration((live[len(live)-1].at+w.Interval.Milliseconds())*1000-us) * time.Microsecond
	}
	return d
}

// release drops the oldest first.
func (w *slidingWindow) release(us, n int64) {
	live, _ := w.live(us)
	for n > 0 && len(live) > 0 {
		part := min(n, live[0].permits)
		n -= part
		if live[0].permits -= part; live[0].permits == 0 {
			live = live[1:]
		}
	}
	w.log = live
}

// TestAgreesWithTheModel plays random operations at random times
// against the exact window. Deadlines are hit on the microsecond.
func TestAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		permits  int64
		interval time.Duration
		kind     ratelimiter.RateType
	}{
		{1, 10 * time.Minute, ratelimiter.Overall},
		{5, 10 * time.Minute, ratelimiter.Overall},
		{7, 611953 * time.Millisecond, ratelimiter.PerClient},
		{1009, 30 * 24 * time.Hour, ratelimiter.Overall},
		{100_000, 24 * time.Hour, ratelimiter.PerClient},
	} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%d per %v seed %d", of.permits, of.interval, seed), func(t *testing.T) {
				t.Parallel()
				g := &logGame{rig: standingRig(t), rnd: rand.New(rand.NewPCG(seed, uint64(of.permits)))}
				g.change(redissonlimiter.Rate{Permits: of.permits, Interval: of.interval, Type: of.kind})
				for range 300 {
					g.step()
				}
			})
		}
	}
}

type logGame struct {
	*rig
	rnd  *rand.Rand
	w    slidingWindow
	last time.Duration // RetryAfter of the last refusal
	n    int64         // what was refused
}

func (g *logGame) step() {
	g.t.Helper()
	us := g.clock.now
	switch roll := g.rnd.IntN(100); {
	case roll < 50:
		g.request(1 + g.rnd.Int64N(max(1, g.w.Permits/(1+g.rnd.Int64N(6)))))
	case roll < 70:
		g.pass(time.Duration(g.rnd.Int64N(1 + int64(g.w.Interval)/(1+g.rnd.Int64N(8)))).Truncate(time.Microsecond))
	case roll < 80:
		g.retry()
	case roll < 86:
		d, err := g.Peek(context.Background())
		require.NoError(g.t, err)
		copied := g.w
		want := copied.take(us, 1)
		if want.Allowed {
			want.Remaining++
		}
		require.Equal(g.t, want.Remaining, d.Remaining)
		require.Equal(g.t, want.Allowed, d.Allowed)
		require.Equal(g.t, want.RetryAfter, d.RetryAfter)
	case roll < 92:
		n := 1 + g.rnd.Int64N(g.w.Permits+1)
		require.NoError(g.t, g.Release(context.Background(), n))
		g.w.release(us, n)
	case roll < 97:
		r := g.w.Rate
		r.Permits = 1 + g.rnd.Int64N(2*r.Permits)
		r.Interval = time.Duration(1+g.rnd.Int64N(2*r.Interval.Milliseconds())) * time.Millisecond
		r.Interval = max(r.Interval, 10*time.Minute) // its keys live by the server's own clock
		g.keep(r)
	default:
		g.change(g.w.Rate)
	}
	g.inStep()
}

func (g *logGame) request(n int64) {
	g.t.Helper()
	d, err := g.Take(context.Background(), n)
	if n > g.w.Permits {
		require.ErrorIs(g.t, err, ratelimiter.ErrExceedsBurst)
		return
	}
	require.NoError(g.t, err)
	require.Equal(g.t, g.w.take(g.clock.now, n), d)
	if !d.Allowed {
		g.last, g.n = d.RetryAfter, n
	}
}

// retry asks once more a microsecond before the time that a refusal named, and
// at that time.
func (g *logGame) retry() {
	g.t.Helper()
	if g.last == 0 || g.n > g.w.Permits {
		return
	}
	g.request(g.n)
	if g.last > time.Microsecond {
		g.pass(g.last - time.Microsecond)
		g.request(g.n)
		g.pass(time.Microsecond)
	}
	g.request(g.n)
	g.last = 0
}

func (g *logGame) change(r redissonlimiter.Rate) {
	g.t.Helper()
	g.set(r)
	g.w, g.last = slidingWindow{Rate: r}, 0
}

func (g *logGame) keep(r redissonlimiter.Rate) {
	g.t.Helper()
	g.set(r, redissonlimiter.WithKeepState())
	g.w.Rate, g.last = r, 0
	g.w.log, _ = g.w.live(g.clock.now)
}

// inStep: what is stored is what the log says, whatever happened.
func (g *logGame) inStep() {
	g.t.Helper()
	value, log := g.valueKey(), g.logKey()
	if g.w.Type == ratelimiter.PerClient {
		value, log = g.ownValueKey(), g.ownLogKey()
	}
	if !g.exists(value) {
		require.Empty(g.t, g.entries(log))
		return
	}
	sum := g.value(value)
	for _, e := range g.entries(log) {
		sum += e.permits
	}
	require.Equal(g.t, g.w.Permits, sum)
}

// TestNeverGrantsMoreThanTheRateInAnyInterval lets clients take as they
// like and looks at every window afterwards.
func TestNeverGrantsMoreThanTheRateInAnyInterval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const most, interval = 50, 100 * time.Millisecond
	r.set(atMost(most, interval))
	clients := []*rig{r, r.beside(), r.beside()}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end, moved := time.Now().Add(time.Second), int64(0) // long enough for the window to move
	// Grants are read off the log, which is where they have their time.
	seen := map[string]logEntry{}
	done := make(chan error, len(clients))
	for _, c := range clients {
		go func() {
			var err error
			for n := int64(1); err == nil; n = n%7 + 1 {
				err = c.WaitN(ctx, n)
			}
			done <- err
		}()
	}
	for left := len(clients); left > 0; {
		select {
		case err := <-done:
			require.Error(t, err)
			require.True(t, errors.Is(err, context.Canceled), "%v", err)
			left--
		default:
			for _, g := range r.entries(r.logKey()) {
				if _, known := seen[g.member]; !known {
					seen[g.member], moved = g, moved+g.permits
				}
			}
			if moved > most && time.Now().After(end) {
				cancel()
			}
		}
	}
	var total int64
	for _, first := range seen {
		var sum int64
		for _, g := range seen {
			if g.at >= first.at && g.at < first.at+interval.Milliseconds() {
				sum += g.permits
			}
		}
		require.LessOrEqual(t, sum, int64(most))
		total += first.permits
	}
	require.Greater(t, total, int64(most), "the window has moved")
}
