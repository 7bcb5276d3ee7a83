package ratelimiter_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// crowd takes one token at a time from many goroutines until the bucket is
// empty, whatever happens to the server meanwhile.
type crowd struct {
	granted, unknown atomic.Int64
	all              sync.WaitGroup
	failed           chan error // what is neither an answer nor an outage
}

func startCrowd(l *ratelimiter.Limiter, goroutines int) *crowd {
	c := &crowd{failed: make(chan error, goroutines)}
	for range goroutines {
		c.all.Go(func() { // ends with the tokens, or some time after soon
			if err := c.take(l); err != nil {
				c.failed <- err
			}
		})
	}
	return c
}

func (c *crowd) take(l *ratelimiter.Limiter) error {
	for end := time.Now().Add(3 * soon); time.Now().Before(end); {
		ok, err := l.Allow(context.Background())
		switch {
		case errors.Is(err, ratelimiter.ErrNoRate), errors.Is(err, ratelimiter.ErrOtherAlgorithm), errors.Is(err, ratelimiter.ErrClosed):
			return err
		case errors.Is(err, ratelimiter.ErrOutcomeUnknown):
			c.unknown.Add(1)
		case err != nil: // nobody there
		case !ok:
			return nil
		default:
			c.granted.Add(1)
		}
	}
	return errors.New("the tokens never ended")
}

func (c *crowd) wait(t *testing.T) {
	t.Helper()
	c.all.Wait()
	select {
	case err := <-c.failed:
		require.NoError(t, err)
	default:
	}
}

// With an append-only file that is written before each answer, a server that
// is killed forgets no grant that anybody heard of, and no rule.
func TestTheBoundHoldsOverAKillWithAppendOnlyFile(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"))
	burst := int64(redistest.Count(t, 4_000, 20_000))
	l := open(t, server.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second)).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.Every(burst, 30*24*time.Hour))
	require.NoError(t, err)
	c := startCrowd(l, 4)
	for _, part := range []int64{burst / 8, burst / 4} {
		require.Eventually(t, func() bool { return c.granted.Load() > part }, soon, time.Millisecond)
		server.Restart()
	}
	c.wait(t)
	granted, lost := c.granted.Load(), c.unknown.Load()
	t.Logf("granted %d of %d; the outcome of %d is unknown", granted, burst, lost)
	require.LessOrEqual(t, granted, burst)
	require.GreaterOrEqual(t, granted+lost, burst, "only what nobody heard of is lost")
}

// The same while the bucket is refilled. It is that large that what comes while
// nobody is there is not lost, and the bound stays close.
func TestTheBoundHoldsUnderLoadOverKillsWithAppendOnlyFile(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"))
	name, r := redistest.Name(t), ratelimiter.PerSecond(100).WithBurst(600)
	var takers []taker
	for range 2 {
		l := open(t, server.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second)).RateLimiter(name)
		_, _, err := l.TrySetRate(t.Context(), r)
		require.NoError(t, err)
		takers = append(takers, taker{l.Allow, l.Wait})
	}
	tr := startTraffic(t, send.Transient, r, takers...)
	for range 3 {
		tr.emptied("before the kill")
		server.Restart()
		tr.goesOn("after the kill")
		tr.emptied("after the kill")
	}
	tr.end()
	t.Logf("granted %d of %d", tr.granted.Load(), bound(r, tr.now()-tr.from))
}

// Without persistence a restarted server knows neither rule nor buckets: who
// asks is told within a second, and whoever sets the rate again starts with
// full buckets.
func TestAServerWithoutPersistenceForgetsTheRate(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := open(t, server.Addr(), rueidisson.WithWatchdogTimeout(3*time.Second)).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(10))
	require.NoError(t, err)
	ok, err := l.AllowN(t.Context(), 10)
	require.NoError(t, err)
	require.True(t, ok)
	server.Restart()
	require.Eventually(t, func() bool {
		_, err := l.Allow(t.Context())
		return errors.Is(err, ratelimiter.ErrNoRate)
	}, soon, 10*time.Millisecond)
	_, created, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(5))
	require.NoError(t, err)
	require.True(t, created)
	var d ratelimiter.Decision
	require.Eventually(t, func() bool { // it is sent once, and another connection may find out only now
		d, err = l.Take(t.Context(), 1)
		return err == nil
	}, soon, 10*time.Millisecond)
	require.True(t, d.Allowed)
	require.Equal(t, ratelimiter.PerHour(5), d.Rate)
	require.EqualValues(t, 5, d.Limit)
	require.LessOrEqual(t, d.Remaining, int64(4))
}

func openSentinel(t testing.TB, s *redistest.Sentinel) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{
		InitAddress: s.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: s.MasterName()}, DisableCache: true,
	}, rueidisson.WithWatchdogTimeout(6*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// inStep awaits that a master's replica has heard of all that was done.
func inStep(t testing.TB, master rueidis.Client, key string) {
	t.Helper()
	conn, release := master.Dedicate()
	defer release()
	require.Eventually(t, func() bool {
		set := conn.B().Set().Key(key).Value("1").Build()
		n, err := conn.DoMulti(t.Context(), set, conn.B().Wait().Numreplicas(1).Timeout(500).Build())[1].AsInt64()
		return err == nil && n == 1
	}, soon, time.Millisecond)
}

// A failover keeps the rule and what the replica has heard of, and calls go on
// by themselves. What it has not heard of is granted again; nothing can be
// done about that.
func TestAFailoverKeepsWhatTheReplicaKnows(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	l := openSentinel(t, s).RateLimiter(redistest.Name(t))
	waiter := openSentinel(t, s).RateLimiter(l.Name())
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(10))
	require.NoError(t, err)
	ok, err := l.AllowN(t.Context(), 6)
	require.NoError(t, err)
	require.True(t, ok)
	old := s.Master()
	inStep(t, old.Client(t), "in step")

	old.Kill()
	s.AwaitMaster(t, old.Addr())
	began := time.Now()
	for _, each := range []*ratelimiter.Limiter{l, waiter} {
		var d ratelimiter.Decision
		require.Eventually(t, func() bool {
			var err error
			d, err = each.Take(t.Context(), 5)
			return err == nil
		}, soon, 10*time.Millisecond, "calls never went on")
		require.False(t, d.Allowed, "of 10 tokens 6 were taken")
	}
	t.Logf("calls went on %v after the failover", time.Since(began))
	ok, err = l.AllowN(t.Context(), 4)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = waiter.Allow(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
}

// What the replica has not heard of is granted once more, and no more than that.
func TestAFailoverForgetsWhatTheReplicaDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	const burst, known, unknown = 100, 10, 60
	l := openSentinel(t, s).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.Every(burst, 30*24*time.Hour))
	require.NoError(t, err)
	gets(t, &l.Bucket, known)
	old, replica := s.Master(), s.Replica()
	raw := old.Client(t)
	inStep(t, raw, "in step")

	replica.Pause() // it still reads later what was sent before the connection ends
	require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary("CLIENT", "KILL", "TYPE", "replica").Build()).Error())
	gets(t, &l.Bucket, unknown)
	old.Kill()
	replica.Resume()
	s.AwaitMaster(t, old.Addr())
	var d ratelimiter.Decision
	require.Eventually(t, func() bool {
		d, err = l.Peek(t.Context())
		return err == nil
	}, soon, 10*time.Millisecond, "calls never went on")
	require.EqualValues(t, burst-known, d.Remaining)
	gets(t, &l.Bucket, burst-known)
	isRefused(t, &l.Bucket, 1)
}

// A promoted replica's clock may be behind the old master's. Up to a second
// of that is waited for; more is taken as it is, so that no bucket stays
// empty for as long as a clock was wrong. Nothing is refilled by it.
func TestAStateFromAnotherClock(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		ahead time.Duration
		late  bool // the state's time stays ahead
	}{
		"less than a second ahead": {900 * time.Millisecond, true},
		"an hour ahead":            {time.Hour, false},
		"an hour behind":           {-time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t)
			f.took(faultyBurst)
			raw := f.server.Client(t)
			key := f.stateKey()
			state, err := raw.Do(t.Context(), raw.B().Get().Key(key).Build()).ToString()
			require.NoError(t, err)
			require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(key).Value(moved(t, state, of.ahead)).Build()).Error())
			d, err := f.direct.Take(t.Context(), 1)
			require.NoError(t, err)
			if of.ahead < 0 {
				require.True(t, d.Allowed, "an hour went by")
				return
			}
			require.False(t, d.Allowed)
			token := time.Hour / faultyBurst
			most := token
			if of.late {
				most += of.ahead
			}
			require.LessOrEqual(t, d.RetryAfter, most)
			require.Greater(t, d.RetryAfter, token-30*time.Second)
		})
	}
}

// On a hot key one lost reply is that of many callers. Each is told that it
// does not know; what was taken for them is never granted to others, and
// nobody else's grant is touched.
func TestLostRepliesOnAHotKey(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	const burst, goroutines, times, lost = 5000, 64, 60, 25
	l := open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second)).RateLimiter(redistest.Name(t))
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.Every(burst, 30*24*time.Hour))
	require.NoError(t, err)
	b := l.For("u")
	take, decide := redistest.MatchScript(scriptText(t, "take")), redistest.MatchScript(scriptText(t, "decide"))
	drop := proxy.DropReply(func(cmd []string) bool { return take(cmd) || decide(cmd) }, lost)
	var granted, unknown atomic.Int64
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := range times {
				ok, err := i%2 == 0, error(nil)
				if ok {
					ok, err = b.Allow(t.Context())
				} else {
					err = b.Wait(t.Context())
					ok = err == nil
				}
				switch {
				case errors.Is(err, ratelimiter.ErrOutcomeUnknown):
					unknown.Add(1)
				case assert.NoError(t, err) && assert.True(t, ok):
					granted.Add(1)
				}
			}
		})
	}
	all.Wait()
	drop.Await(t)
	left, err := open(t, server.Addr()).RateLimiter(l.Name()).For("u").Peek(t.Context())
	require.NoError(t, err)
	forNobody := burst - left.Remaining - granted.Load()
	t.Logf("%d granted, %d do not know, %d were taken for them", granted.Load(), unknown.Load(), forNobody)
	require.GreaterOrEqual(t, forNobody, int64(0), "more was granted than taken")
	require.LessOrEqual(t, forNobody, unknown.Load())
	require.GreaterOrEqual(t, unknown.Load(), int64(lost))
}
