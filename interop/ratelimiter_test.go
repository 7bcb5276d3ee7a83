//go:build interop

package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

var rateLimiterProofs = []proof{
	{row: "rate_limiter/rate/go-java", test: goSetsRate},
	{row: "rate_limiter/rate/java-go", test: javaSetsRate},
	{row: "rate_limiter/permits/go-java", test: goTakesPermits},
	{row: "rate_limiter/permits/java-go", test: javaTakesPermits},
	{row: "rate_limiter/permits_of_each_client/both", test: permitsOfEachClient},
	{row: "rate_limiter/never_more_than_the_rate/both", test: neverMoreThanTheRate},
	{row: "rate_limiter/change_of_the_rate/go-java", test: goChangesRate},
	{row: "rate_limiter/change_of_the_rate/java-go", test: javaChangesRate},
	{row: "rate_limiter/change_that_keeps_what_was_taken/go-java", test: goKeepsState},
	{row: "rate_limiter/change_that_keeps_what_was_taken/java-go", test: javaKeepsState},
	{row: "rate_limiter/change_for_each_client/both", test: keepsStateOfEach},
	{row: "rate_limiter/update_of_the_rate/go-java", test: goUpdatesRate},
	{row: "rate_limiter/update_of_the_rate/java-go", test: javaUpdatesRate},
	{row: "rate_limiter/release/go-java", test: goReleases},
	{row: "rate_limiter/release/java-go", test: javaReleases},
	{row: "rate_limiter/keep-alive/go-java", test: goKeepsAlive},
	{row: "rate_limiter/keep-alive/java-go", test: javaKeepsAlive},
	{row: "rate_limiter/delete/go-java", test: goDeletes},
	{row: "rate_limiter/delete/java-go", test: javaDeletes},
	{row: "rate_limiter/names/both", test: limiterNames},
	{row: "rate_limiter/other_algorithm/go-java", test: goMeetsSlidingLog},
	{row: "rate_limiter/other_algorithm/java-go", test: javaMeetsBucket},
}

// rateLimiterWaits do next to nothing but wait for an interval.
var rateLimiterWaits = []proof{
	{row: "rate_limiter/waiting/go-java", test: javaWaitsForGo},
	{row: "rate_limiter/waiting/java-go", test: goWaitsForJava},
	{row: "rate_limiter/rate_below_what_was_taken/go-java", test: javaWaitsOutLowerRate},
	{row: "rate_limiter/rate_below_what_was_taken/java-go", test: goWaitsOutLowerRate},
	{row: "rate_limiter/released_once/go-java", test: javaCountsReleaseOnce},
	{row: "rate_limiter/permits_lost_by_java/java-go", test: goFindsPermits},
}

var rateLimiterEssentials = []proof{
	{row: "rate_limiter/permits/go-java", test: goTakesPermits},
	{row: "rate_limiter/permits/java-go", test: javaTakesPermits},
	{row: "rate_limiter/permits_of_each_client/both", test: permitsOfEachClient},
}

var rateLimiterEssentialWaits = []proof{
	{row: "rate_limiter/waiting/go-java", test: javaWaitsForGo},
	{row: "rate_limiter/waiting/java-go", test: goWaitsForJava},
}

const (
	// longInterval outlives a test, so that nothing comes back by itself.
	longInterval = time.Minute
	// shortInterval is waited for.
	shortInterval = time.Second
)

// answersMayTakeLong, since a limiter has no lease: with the watchdog of the locks' tests a client gives a request up that
// a busy machine answers, and it is not repeated.
var answersMayTakeLong = rueidisson.WithWatchdogTimeout(longLease)

// limit is a rate limiter as both sides see it. Its keys go with the test.
type limit struct {
	*world
	t      *testing.T
	ctx    context.Context
	name   string
	client *rueidisson.Client
	id     string // that mine counts under
	mine   *redissonlimiter.Limiter
	theirs peer.RateLimiter
}

func (w *world) limit(t *testing.T) *limit {
	t.Helper()
	return w.limitNamed(t, redistest.Name(t))
}

func (w *world) limitNamed(t *testing.T, name string) *limit {
	t.Helper()
	c := w.client(t, answersMayTakeLong)
	l := &limit{world: w, t: t, ctx: within(t), name: name, client: c}
	l.mine, l.id = w.redisson(t, name)
	l.theirs = w.java.RateLimiter(redistest.Name(t), name)
	t.Cleanup(func() { // Redisson leaves what it counts for a client for ever
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, key := range w.keys(ctx, t, name) {
			w.del(ctx, t, key)
		}
	})
	return l
}

// redisson is a limiter of a client of its own, and that client's id.
func (w *world) redisson(t *testing.T, name string) (*redissonlimiter.Limiter, string) {
	t.Helper()
	c := w.client(t, answersMayTakeLong)
	return c.RedissonRateLimiter(name), c.ID()
}

// The keys, spelled here once more so that the tests do not take the library's word for them.
func (l *limit) key(suffix string) string {
	if strings.Contains(l.name, "{") {
		return l.name + ":" + suffix
	}
	return "{" + l.name + "}:" + suffix
}

func overall(permits int64, interval time.Duration) redissonlimiter.Rate {
	return redissonlimiter.Rate{Permits: permits, Interval: interval}
}

func ofEach(permits int64, interval time.Duration) redissonlimiter.Rate {
	return redissonlimiter.Rate{Permits: permits, Interval: interval, Type: ratelimiter.PerClient}
}

// inJava is a rate as the peer takes it.
func inJava(r redissonlimiter.Rate) peer.Rate {
	return peer.Rate{PerClient: r.Type == ratelimiter.PerClient, Permits: r.Permits, Interval: r.Interval, KeepAlive: r.KeepAlive}
}

func (l *limit) goSets(r redissonlimiter.Rate) {
	l.t.Helper()
	created, err := l.mine.TrySetRate(l.ctx, r)
	require.NoError(l.t, err)
	require.True(l.t, created)
}

func (l *limit) javaSets(r redissonlimiter.Rate) {
	l.t.Helper()
	created, err := l.theirs.TrySetRate(l.ctx, inJava(r))
	require.NoError(l.t, err)
	require.True(l.t, created)
}

// goTakes requires that Go gets that many permits and not one more.
func (l *limit) goTakes(n int64) {
	l.t.Helper()
	if n > 0 {
		l.goTakesSome(n)
	}
	d, err := l.mine.Take(l.ctx, 1)
	require.NoError(l.t, err)
	require.False(l.t, d.Allowed, "one more than %d", n)
	require.Positive(l.t, d.RetryAfter)
}

func (l *limit) goTakesSome(n int64) {
	l.t.Helper()
	d, err := l.mine.Take(l.ctx, n)
	require.NoError(l.t, err)
	require.True(l.t, d.Allowed, "%+v", d)
}

func (l *limit) javaTakes(n int64) {
	l.t.Helper()
	if n > 0 {
		l.javaTakesSome(n)
	}
	got, err := l.theirs.TryAcquire(l.ctx, 1, 0)
	require.NoError(l.t, err)
	require.False(l.t, got, "one more than %d", n)
}

func (l *limit) javaTakesSome(n int64) {
	l.t.Helper()
	got, err := l.theirs.TryAcquire(l.ctx, n, 0)
	require.NoError(l.t, err)
	require.True(l.t, got)
}

// bothSee requires that both count that many permits.
func (l *limit) bothSee(n int64) {
	l.t.Helper()
	mine, err := l.mine.Available(l.ctx)
	require.NoError(l.t, err)
	require.Equal(l.t, n, mine, "in Go")
	theirs, err := l.theirs.AvailablePermits(l.ctx)
	require.NoError(l.t, err)
	require.Equal(l.t, n, theirs, "in Java")
}

// logged are the times of the grants in the log, oldest first.
func (l *limit) logged(suffix string) (at []int64) {
	l.t.Helper()
	cmd := l.redis.B().Zrange().Key(l.key(suffix)).Min("0").Max("-1").Withscores().Build()
	entries, err := l.redis.Do(l.ctx, cmd).AsZScores()
	require.NoError(l.t, err)
	for _, e := range entries {
		require.Len(l.t, e.Member, 21)
		at = append(at, int64(e.Score))
	}
	return at
}

func goSetsRate(t *testing.T, w *world) {
	for _, rate := range []redissonlimiter.Rate{overall(5, longInterval), ofEach(7, 1234*time.Millisecond)} {
		l := w.limit(t)
		l.goSets(rate)
		created, err := l.theirs.TrySetRate(l.ctx, inJava(overall(99, time.Hour)))
		require.NoError(t, err)
		require.False(t, created)
		got, err := l.theirs.Config(l.ctx)
		require.NoError(t, err)
		require.Equal(t, inJava(rate), got)
	}
}

func javaSetsRate(t *testing.T, w *world) {
	for _, rate := range []redissonlimiter.Rate{overall(5, longInterval), ofEach(7, 1234*time.Millisecond)} {
		l := w.limit(t)
		l.javaSets(rate)
		created, err := l.mine.TrySetRate(l.ctx, overall(99, time.Hour))
		require.NoError(t, err)
		require.False(t, created)
		got, err := l.mine.Rate(l.ctx)
		require.NoError(t, err)
		require.Equal(t, rate, got)
	}
}

func goTakesPermits(t *testing.T, w *world) {
	l := w.limit(t)
	l.goSets(overall(5, longInterval))
	l.goTakesSome(3)
	l.bothSee(2)
	l.javaTakes(2)
	l.goTakes(0)
	require.Len(t, l.logged("permits"), 2)
}

func javaTakesPermits(t *testing.T, w *world) {
	l := w.limit(t)
	l.javaSets(overall(5, longInterval))
	l.javaTakesSome(3)
	l.bothSee(2)
	l.goTakes(2)
	l.javaTakes(0)
	require.Len(t, l.logged("permits"), 2)
}

func permitsOfEachClient(t *testing.T, w *world) {
	for _, set := range []func(*limit, redissonlimiter.Rate){(*limit).goSets, (*limit).javaSets} {
		l := w.limit(t)
		set(l, ofEach(3, longInterval))
		l.goTakes(3)
		l.javaTakes(3)
		require.False(t, w.exists(l.ctx, t, l.key("value")))
		require.False(t, w.exists(l.ctx, t, l.key("permits")))
		for _, id := range []string{l.id, w.java.ID()} {
			require.True(t, w.exists(l.ctx, t, l.key("value:"+id)))
			require.Len(t, l.logged("permits:"+id), 1)
		}
		for _, key := range []string{l.key("value:" + l.id), l.key("permits:" + l.id)} {
			require.NotEqual(t, noEnd, w.pttl(l.ctx, t, key))
			require.LessOrEqual(t, w.pttl(l.ctx, t, key), longInterval)
		}
	}
}

func goChangesRate(t *testing.T, w *world) {
	l := w.limit(t)
	l.javaSets(overall(5, longInterval))
	l.javaTakes(5)
	require.NoError(t, l.mine.SetRate(l.ctx, overall(3, longInterval)))
	l.bothSee(3)
	l.javaTakesSome(2)
	require.NoError(t, l.mine.SetRate(l.ctx, overall(6, longInterval), redissonlimiter.WithKeepState()))
	l.bothSee(4)
	l.javaTakesSome(3)
	updated, err := l.mine.UpdateRate(l.ctx, overall(2, longInterval), redissonlimiter.WithKeepState())
	require.NoError(t, err)
	require.True(t, updated)
	l.javaTakes(0)
	l.goTakes(0)
	require.NoError(t, l.mine.SetRate(l.ctx, ofEach(2, longInterval)))
	l.javaTakes(2)
	l.goTakes(2)
}

func javaChangesRate(t *testing.T, w *world) {
	l := w.limit(t)
	l.goSets(overall(5, longInterval))
	l.goTakes(5)
	require.NoError(t, l.theirs.SetRate(l.ctx, inJava(overall(3, longInterval))))
	l.bothSee(3)
	l.goTakes(3)
	require.NoError(t, l.theirs.SetRate(l.ctx, inJava(ofEach(2, longInterval))))
	l.goTakes(2)
	l.javaTakes(2)
	// Redisson leaves the permits of the others as they are.
	require.NoError(t, l.theirs.SetRate(l.ctx, inJava(ofEach(4, longInterval))))
	l.javaTakes(4)
	l.goTakes(2)
}

func goReleases(t *testing.T, w *world) {
	l := w.limit(t)
	l.goSets(overall(5, longInterval))
	l.goTakes(5)
	require.NoError(t, l.mine.Release(l.ctx, 2))
	l.bothSee(2)
	l.javaTakes(2)
	require.NoError(t, l.mine.Release(l.ctx, 4))
	l.bothSee(4)
	l.goTakes(4)
}

func javaReleases(t *testing.T, w *world) {
	l := w.limit(t)
	l.javaSets(overall(5, longInterval))
	l.javaTakes(5)
	require.NoError(t, l.theirs.Release(l.ctx, 2))
	l.bothSee(2)
	l.goTakes(2)
	require.NoError(t, l.theirs.Release(l.ctx, 4))
	l.bothSee(4)
	l.javaTakes(4)
}

// nearly requires that the keys live for about that long.
func (l *limit) nearly(want time.Duration, suffixes ...string) {
	l.t.Helper()
	for _, key := range append(suffixes, l.name) {
		if key != l.name {
			key = l.key(key)
		}
		left := l.pttl(l.ctx, l.t, key)
		require.LessOrEqual(l.t, left, want, key)
		require.Greater(l.t, left, want*3/4, key)
	}
}

func (l *limit) shorten(suffixes ...string) {
	l.t.Helper()
	for _, key := range append(suffixes, l.name) {
		if key != l.name {
			key = l.key(key)
		}
		require.NoError(l.t, l.redis.Do(l.ctx, l.redis.B().Pexpire().Key(key).Milliseconds(longInterval.Milliseconds()/2).Build()).Error())
	}
}

func goKeepsAlive(t *testing.T, w *world) {
	l := w.limit(t)
	rate := overall(5, shortInterval)
	rate.KeepAlive = longInterval
	l.goSets(rate)
	l.nearly(longInterval)
	for _, use := range []func(){func() { l.javaTakesSome(5) }, func() { l.goTakes(0) }} {
		l.shorten("value", "permits")
		use()
		l.nearly(longInterval, "value", "permits")
		l.javaTakes(0)
	}
	require.NoError(t, l.theirs.SetRate(l.ctx, inJava(overall(5, shortInterval))))
	l.goTakesSome(1)
	l.nearly(longInterval, "value", "permits") // what Redisson has forgotten to switch off
	require.NoError(t, l.mine.SetRate(l.ctx, overall(5, shortInterval)))
	l.javaTakesSome(1)
	for _, key := range []string{l.name, l.key("value"), l.key("permits")} {
		require.Equal(t, noEnd, w.pttl(l.ctx, t, key), key)
	}
}

func javaKeepsAlive(t *testing.T, w *world) {
	l := w.limit(t)
	rate := overall(5, shortInterval)
	rate.KeepAlive = longInterval
	l.javaSets(rate)
	l.nearly(longInterval)
	got, err := l.mine.Rate(l.ctx)
	require.NoError(t, err)
	require.Equal(t, rate, got)
	for _, use := range []func(){func() { l.goTakesSome(5) }, func() { l.javaTakes(0) }} {
		l.shorten("value", "permits")
		use()
		l.nearly(longInterval, "value", "permits")
	}
}

func goDeletes(t *testing.T, w *world) {
	l := w.limit(t)
	l.javaSets(overall(5, longInterval))
	l.javaTakesSome(1)
	requireTruth(l.ctx, t, true, l.mine.Delete)
	require.Empty(t, w.keys(l.ctx, t, l.name))
	_, err := l.theirs.TryAcquire(l.ctx, 1, 0)
	require.ErrorContains(t, err, "not initialized")
}

func javaDeletes(t *testing.T, w *world) {
	l := w.limit(t)
	l.goSets(overall(5, longInterval))
	l.goTakesSome(1)
	requireTruth(l.ctx, t, true, l.theirs.Delete)
	require.Empty(t, w.keys(l.ctx, t, l.name))
	_, err := l.mine.Take(l.ctx, 1)
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
}

// limiterNames: only those that work with Redisson on a cluster, too.
func limiterNames(t *testing.T, w *world) {
	for _, form := range wellFormed {
		l := w.limitNamed(t, fmt.Sprintf(form, redistest.Name(t)))
		t.Logf("sharing %q", l.name)
		l.goSets(overall(5, longInterval))
		l.goTakesSome(2)
		l.javaTakes(3)
		l.goTakes(0)
	}
}

// goMeetsSlidingLog: a token bucket does not touch what Java uses.
func goMeetsSlidingLog(t *testing.T, w *world) {
	l := w.limit(t)
	l.javaSets(overall(5, longInterval))
	l.javaTakesSome(2)
	bucket := l.client.RateLimiter(l.name)
	_, _, err := bucket.TrySetRate(l.ctx, ratelimiter.PerMinute(5))
	require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)
	require.ErrorIs(t, bucket.SetRate(l.ctx, ratelimiter.PerMinute(5)), ratelimiter.ErrOtherAlgorithm)
	_, err = bucket.Take(l.ctx, 1)
	require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)
	_, err = bucket.Delete(l.ctx)
	require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)
	l.bothSee(3)
}

// javaMeetsBucket: every call of Java that would run a second budget is an error.
func javaMeetsBucket(t *testing.T, w *world) {
	l := w.limit(t)
	bucket := l.client.RateLimiter(l.name)
	_, created, err := bucket.TrySetRate(l.ctx, ratelimiter.PerMinute(5))
	require.NoError(t, err)
	require.True(t, created)
	d, err := bucket.Take(l.ctx, 2)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	stored, before := l.text(l.name), w.keys(l.ctx, t, l.name)

	rate := inJava(overall(5, longInterval))
	for op, call := range map[string]func() error{
		"trySetRate":       func() error { _, err := l.theirs.TrySetRate(l.ctx, rate); return err },
		"setRate":          func() error { return l.theirs.SetRate(l.ctx, rate) },
		"tryAcquire":       func() error { _, err := l.theirs.TryAcquire(l.ctx, 1, 0); return err },
		"acquire":          func() error { return l.theirs.Acquire(l.ctx, 1) },
		"release":          func() error { return l.theirs.Release(l.ctx, 1) },
		"availablePermits": func() error { _, err := l.theirs.AvailablePermits(l.ctx); return err },
		"getConfig":        func() error { _, err := l.theirs.Config(l.ctx); return err },
	} {
		require.ErrorContains(t, call(), "WRONGTYPE", op)
	}
	require.Equal(t, stored, l.text(l.name))
	require.Equal(t, noEnd, w.pttl(l.ctx, t, l.name))
	require.Equal(t, before, w.keys(l.ctx, t, l.name))
	d, err = bucket.Peek(l.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, d.Remaining)
}

func (l *limit) text(key string) string {
	l.t.Helper()
	text, err := l.redis.Do(l.ctx, l.redis.B().Get().Key(key).Build()).ToString()
	require.NoError(l.t, err)
	return text
}
