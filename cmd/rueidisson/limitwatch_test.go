//go:build unix

package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// limiter stores a rate of 5 an hour under the name.
func (w world) limiter() *ratelimiter.Limiter {
	w.t.Helper()
	l := w.client().RateLimiter(w.name)
	require.NoError(w.t, l.SetRate(w.t.Context(), ratelimiter.PerHour(5)))
	return l
}

// awaitLine waits for a line of standard output behind the first n that matches.
func (p *process) awaitLine(n int, pattern string) {
	p.t.Helper()
	line := regexp.MustCompile("^(?:" + pattern + ")$")
	timeout := time.After(patience)
	for {
		for _, said := range p.said()[min(n, len(p.said())):] {
			if line.MatchString(said) {
				return
			}
		}
		select {
		case <-p.more:
		case <-timeout:
			p.t.Fatalf("nothing like %q was said", pattern)
		}
	}
}

// awaitError waits for a text on standard error, which may be read a moment
// after the process has ended.
func (p *process) awaitError(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.errors(), text) }, patience, time.Millisecond)
}

const (
	clock = `\d\d:\d\d:\d\d  `
	some  = `[0-9hms.]+`
)

func TestLimitWatchIsALineEachUntilItIsInterrupted(t *testing.T) {
	w := newWorld(t)
	l := w.limiter()
	p := start(t, w.url, "limit", "watch", w.name, "--key", "u", "--interval", "20ms")
	p.awaitLine(0, clock+"5 of 5 left")
	_, err := l.For("u").Take(t.Context(), 3)
	require.NoError(t, err)
	p.awaitLine(0, clock+"2 of 5 left, full in "+some)
	require.NoError(t, l.Pause(t.Context()))
	p.awaitLine(0, clock+"2 of 5 left, paused, full in "+some)
	require.NoError(t, l.Resume(t.Context()))
	_, err = l.For("u").Charge(t.Context(), 2)
	require.NoError(t, err)
	p.awaitLine(0, clock+"0 of 5 left, refused for "+some+", full in "+some)
	p.signal(syscall.SIGINT)
	assert.Zero(t, p.code())
	assert.Empty(t, p.errors())
}

func TestLimitWatchOfRedisson(t *testing.T) {
	w := newWorld(t)
	l := w.client().RedissonRateLimiter(w.name)
	require.NoError(t, l.SetRate(t.Context(), redissonlimiter.Rate{Permits: 5, Interval: time.Hour}))
	p := start(t, w.url, "limit", "watch", w.name, "--redisson", "--interval", "20ms")
	p.awaitLine(0, clock+"5 of 5 left")
	_, err := l.Take(t.Context(), 5)
	require.NoError(t, err)
	p.awaitLine(0, clock+"0 of 5 left, refused for "+some+", full in "+some)
	p.signal(syscall.SIGINT)
	assert.Zero(t, p.code())
}

func TestLimitWatchEndsByOtherSignalsAsTheRest(t *testing.T) {
	w := newWorld(t)
	w.limiter()
	p := start(t, w.url, "limit", "watch", w.name, "--interval", "20ms")
	p.awaitLine(1, clock+"5 of 5 left")
	p.signal(syscall.SIGTERM)
	assert.Equal(t, 128+int(syscall.SIGTERM), p.code())
	p.awaitError("rueidisson: interrupted: terminated\n")
}

func TestLimitWatchEndsWhenItsTimeIsOver(t *testing.T) {
	w := newWorld(t)
	w.limiter()
	before := time.Now()
	got := runHere(t, []string{envRedis + "=" + w.url}, "limit", "watch", w.name, "--for", "3s", "--interval", "10ms", "--json")
	require.Zero(t, got.code, got.errors)
	assert.Empty(t, got.errors)
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	assert.GreaterOrEqual(t, len(lines), 1)
	for _, line := range lines {
		var told seenJSON
		require.NoError(t, json.Unmarshal([]byte(line), &told))
		assert.False(t, told.Time.Before(before), "the times do not go back")
		before = told.Time
		assert.Equal(t, decidedJSON{
			Name: w.name, Allowed: true, Limit: 5, Remaining: 5, Rate: rateToldJSON{Text: "5/h burst 5", N: 5, PerNS: int64(time.Hour), Burst: 5},
		}, told.decidedJSON)
	}
}

func TestAnErrorEndsLimitWatch(t *testing.T) {
	w := newWorld(t)
	l := w.limiter()
	p := start(t, w.url, "limit", "watch", w.name, "--interval", "20ms")
	p.awaitLine(0, clock+"5 of 5 left")
	_, err := l.Delete(t.Context())
	require.NoError(t, err)
	assert.Equal(t, exit.NoRate, p.code())
	p.awaitError("no rate was set")
}

func TestLimitWatchEndsWhileTheServerIsSilent(t *testing.T) {
	t.Parallel()
	w := worldOn(t, redistest.Start(t))
	w.limiter()
	p := start(t, w.url, "limit", "watch", w.name, "--interval", "20ms")
	p.awaitLine(0, clock+"5 of 5 left")
	w.server.Pause()
	p.signal(syscall.SIGINT)
	assert.Zero(t, p.code(), "with the server still silent")
	w.server.Resume()
}

func TestASignalEndsAWaitOfLimitTakeAndGivesTheTokensBack(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			w := newWorld(t)
			l := w.limiter()
			back := false
			for range 5 { // the signal may come before the answer, whose tokens are forfeited by the end of the tool
				require.NoError(t, l.Reset(t.Context()))
				_, err := l.Take(t.Context(), 5)
				require.NoError(t, err)
				p := start(t, w.url, "limit", "take", w.name, "5", "--wait", "2h")
				require.Eventually(t, func() bool { return w.missing(l) > time.Hour }, patience, 5*time.Millisecond)
				p.signal(sig)
				assert.Equal(t, 128+int(sig), p.code())
				p.awaitError("rueidisson: interrupted: ")
				assert.Empty(t, p.said())
				if back = w.missing(l) <= time.Hour; back {
					break
				}
			}
			assert.True(t, back, "given back when it ends")
		})
	}
}

// missing is how long the bucket takes until it is full.
func (w world) missing(l *ratelimiter.Limiter) time.Duration {
	w.t.Helper()
	d, err := l.Peek(w.t.Context())
	require.NoError(w.t, err)
	return d.ResetAfter
}

func TestLimitOnTheServerOfALockThatIsEmbedded(t *testing.T) {
	t.Parallel()
	p := start(t, "redis://127.0.0.1:1", "lock", "demo", "--embedded", "--", "sh", "-c",
		`"$TOOL" limit set mails --rate 1/h && "$TOOL" limit take mails && "$TOOL" limit take mails; exit $?`)
	assert.Equal(t, exit.Refused, p.code())
	p.await("granted, 0 of 1 left")
	p.awaitLine(3, "refused, retry after "+some)
}
