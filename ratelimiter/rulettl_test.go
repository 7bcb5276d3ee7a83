package ratelimiter_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// leased is a limiter whose rule goes, and what Redis knows of that.
type leased struct {
	t   *testing.T
	c   *rueidisson.Client
	raw rueidis.Client
	*ratelimiter.Limiter
}

const ruleTTL = 1000 * time.Second

func newLeased(t *testing.T, r ratelimiter.Rate) *leased {
	s := redistest.Shared(t)
	l := &leased{t: t, c: open(t, s.Addr()), raw: s.Client(t)}
	l.Limiter = l.c.RateLimiter(redistest.Name(t))
	_, created, err := l.TrySetRate(t.Context(), r, ratelimiter.WithRuleTTL(ruleTTL))
	require.NoError(t, err)
	require.True(t, created)
	return l
}

// left is how long the rule stays if nobody uses it, 0 for ever.
func (l *leased) left() time.Duration {
	l.t.Helper()
	left, err := l.pttl()
	require.NoError(l.t, err)
	return left
}

func (l *leased) pttl() (time.Duration, error) {
	ms, err := l.raw.Do(context.Background(), l.raw.B().Pttl().Key(l.Name()).Build()).AsInt64()
	if ms == -2 {
		return 0, errors.New("it has gone")
	}
	return time.Duration(max(0, ms)) * time.Millisecond, err
}

// prolongs awaits that a use counts.
func (l *leased) prolongs(use func() error) {
	l.t.Helper()
	var err error
	require.Eventually(l.t, func() bool {
		var left time.Duration
		if err = use(); err == nil {
			left, err = l.pttl()
		}
		return err != nil || left > ruleTTL*99/100
	}, soon, 20*time.Millisecond)
	require.NoError(l.t, err)
}

// unused has the rule be unused for so long that this is left.
func (l *leased) unused(left time.Duration) {
	l.t.Helper()
	require.NoError(l.t, l.raw.Do(context.Background(), l.raw.B().Pexpire().Key(l.Name()).Milliseconds(left.Milliseconds()).Build()).Error())
}

// goes has it gone, and awaits that it is known.
func (l *leased) goes() {
	l.t.Helper()
	l.unused(time.Millisecond)
	require.Eventually(l.t, func() bool {
		n, err := l.raw.Do(context.Background(), l.raw.B().Exists().Key(l.Name()).Build()).AsInt64()
		return err == nil && n == 0
	}, soon, time.Millisecond)
	_, err := l.Rate(context.Background())
	require.ErrorIs(l.t, err, ratelimiter.ErrNoRate)
}

func (l *leased) rule() string { return stored(l.t, l.raw, l.Name()) }

func (l *leased) sets(r ratelimiter.Rate, opts ...ratelimiter.SetOption) {
	l.t.Helper()
	require.NoError(l.t, l.SetRate(l.t.Context(), r, opts...))
}

func (l *leased) ttlIs(want time.Duration) {
	l.t.Helper()
	got, err := l.RuleTTL(l.t.Context())
	require.NoError(l.t, err)
	require.Equal(l.t, want, got)
	if want > 0 {
		require.InDelta(l.t, want, l.left(), float64(want/5))
	} else {
		require.Zero(l.t, l.left())
	}
}

// A rule that nobody has used for its time is no rule.
func TestARuleThatNobodyUsesGoes(t *testing.T) {
	t.Parallel()
	l := newLeased(t, ratelimiter.PerMinute(5))
	assert.InDelta(t, ruleTTL, l.left(), float64(10*time.Second))
	other := open(t, redistest.Shared(t).Addr()).RateLimiter(l.Name())
	gets(t, other.For("u"), 1) // which remembers it
	l.goes()
	_, err := l.Allow(t.Context())
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
	_, err = l.RuleTTL(t.Context())
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
	require.Eventually(t, func() bool { // within a second, said with room
		_, err := other.For("u").Allow(t.Context())
		return errors.Is(err, ratelimiter.ErrNoRate)
	}, soon, 10*time.Millisecond)
	_, created, err := l.TrySetRate(t.Context(), ratelimiter.PerMinute(7))
	require.NoError(t, err)
	require.True(t, created)
	l.ttlIs(0)
}

// Whoever goes by the rule uses it, whether it asks for it or knows it.
func TestWhatUsesARule(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(ctx context.Context, l *ratelimiter.Limiter) error{
		"allow":  func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Allow(ctx); return err },
		"a key":  func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.For("u").Allow(ctx); return err },
		"up to":  func(ctx context.Context, l *ratelimiter.Limiter) error { _, _, err := l.TakeUpTo(ctx, 2); return err },
		"charge": func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Charge(ctx, 1); return err },
		"refund": func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Refund(ctx, 1) },
		"wait":   func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Wait(ctx) },
		"peek":   func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Peek(ctx); return err },
		"all": func(ctx context.Context, l *ratelimiter.Limiter) error {
			_, err := ratelimiter.All(l).Take(ctx, 1)
			return err
		},
		"shadow": func(ctx context.Context, l *ratelimiter.Limiter) error {
			ratelimiter.Shadow(l).Take(ctx, 1)
			return nil
		},
		"rate": func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Rate(ctx); return err },
		"ttl":  func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.RuleTTL(ctx); return err },
		"try set": func(ctx context.Context, l *ratelimiter.Limiter) error {
			_, _, err := l.TrySetRate(ctx, ratelimiter.PerSecond(1))
			return err
		},
		"set the same": func(ctx context.Context, l *ratelimiter.Limiter) error {
			return l.SetRate(ctx, ratelimiter.PerSecond(1000))
		},
		"set another": func(ctx context.Context, l *ratelimiter.Limiter) error {
			return l.SetRate(ctx, ratelimiter.PerSecond(2000))
		},
	} {
		for _, perClient := range []bool{false, true} {
			if perClient && name == "all" {
				continue // has no rates per client
			}
			r := ratelimiter.PerSecond(1000)
			if perClient {
				r = r.PerClient()
			}
			t.Run(name+" "+r.String(), func(t *testing.T) {
				t.Parallel()
				l := newLeased(t, r)
				require.NoError(t, use(t.Context(), l.Limiter))
				for range 2 {
					l.unused(ruleTTL * 89 / 100)
					l.prolongs(func() error { return use(t.Context(), l.Limiter) })
				}
			})
		}
	}
}

// A second use within a tenth of the time costs no write.
func TestARuleIsProlongedOnceInATenth(t *testing.T) {
	t.Parallel()
	l := newLeased(t, ratelimiter.PerSecond(1000))
	l.unused(ruleTTL * 91 / 100)
	began := time.Now()
	for time.Since(began) < 1500*time.Millisecond {
		gets(t, &l.Bucket, 1)
		_, err := l.Rate(t.Context())
		require.NoError(t, err)
		time.Sleep(20 * time.Millisecond) // a rate of use
	}
	l.sets(ratelimiter.PerSecond(1000))
	require.Less(t, l.left(), ruleTTL*91/100)
}

// Who goes by a rule of his own uses no stored one, nor who only finds the name.
func TestWhatDoesNotUseARule(t *testing.T) {
	t.Parallel()
	l := newLeased(t, ratelimiter.PerSecond(1000))
	l.unused(ruleTTL / 2)
	gets(t, l.For("u", ratelimiter.WithRule(ratelimiter.PerHour(5))), 1)
	require.NoError(t, l.Reset(t.Context()))
	require.LessOrEqual(t, l.left(), ruleTTL/2)
}

// Only Resume ends a pause, so no time does.
func TestAPausedRuleStays(t *testing.T) {
	t.Parallel()
	l := newLeased(t, ratelimiter.PerMinute(5))
	require.NoError(t, l.Pause(t.Context()))
	l.storedFor(ruleTTL, 0)
	isRefused(t, &l.Bucket, 1)
	l.sets(ratelimiter.PerMinute(6))
	l.storedFor(ruleTTL, 0)
	l.sets(ratelimiter.PerMinute(6), ratelimiter.WithRuleTTL(2*ruleTTL))
	l.storedFor(2*ruleTTL, 0)
	require.True(t, isRefused(t, &l.Bucket, 1).Paused)
	require.NoError(t, l.Resume(t.Context()))
	l.ttlIs(2 * ruleTTL)
	gets(t, &l.Bucket, 1)
}

// storedFor is ttlIs where what Redis will do is another thing.
func (l *leased) storedFor(want, server time.Duration) {
	l.t.Helper()
	got, err := l.RuleTTL(l.t.Context())
	require.NoError(l.t, err)
	require.Equal(l.t, []time.Duration{want, server}, []time.Duration{got, l.left()})
}

// Only WithRuleTTL changes the time, and that changes nothing else.
func TestTheTimeOfARuleThatIsSetAgain(t *testing.T) {
	t.Parallel()
	l := newLeased(t, ratelimiter.PerMinute(5))
	gets(t, &l.Bucket, 5)
	before := l.rule()
	l.sets(ratelimiter.PerMinute(5))
	require.Equal(t, before, l.rule())
	l.ttlIs(ruleTTL)
	l.sets(ratelimiter.PerMinute(5), ratelimiter.WithRuleTTL(2*ruleTTL))
	l.ttlIs(2 * ruleTTL)
	require.Equal(t, strings.TrimSuffix(before, "1000000"), strings.TrimSuffix(l.rule(), "2000000"), "the same generation")
	isRefused(t, &l.Bucket, 1)
	l.sets(ratelimiter.PerMinute(4))
	l.ttlIs(2 * ruleTTL)
	isRefused(t, &l.Bucket, 1)
	l.sets(ratelimiter.PerMinute(4), ratelimiter.WithReset())
	l.ttlIs(2 * ruleTTL)
	gets(t, &l.Bucket, 4)
	l.sets(ratelimiter.PerMinute(4), ratelimiter.WithRuleTTL(0))
	l.ttlIs(0)
	isRefused(t, &l.Bucket, 1)
	l.sets(ratelimiter.PerMinute(4), ratelimiter.WithRuleTTL(ruleTTL))
	l.ttlIs(ruleTTL)
	l.sets(ratelimiter.PerHour(6))
	l.ttlIs(2*time.Hour + time.Millisecond)
	_, created, err := l.TrySetRate(t.Context(), ratelimiter.PerHour(7), ratelimiter.WithRuleTTL(24*time.Hour))
	require.NoError(t, err)
	require.False(t, created)
	l.ttlIs(2*time.Hour + time.Millisecond)
}

func TestTimesThatARuleCannotHave(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	for _, of := range []struct {
		r   ratelimiter.Rate
		ttl time.Duration
	}{
		{ratelimiter.PerSecond(5), -1},
		{ratelimiter.PerSecond(5), 9 * time.Second},
		{ratelimiter.PerHour(5), 2 * time.Hour},
		{ratelimiter.PerSecond(5).WithBurst(500), 199 * time.Second},
		{ratelimiter.PerSecond(5), 101 * 365 * 24 * time.Hour},
		{slowly(1_000_000), 50 * 365 * 24 * time.Hour},
	} {
		require.ErrorIs(t, l.SetRate(t.Context(), of.r, ratelimiter.WithRuleTTL(of.ttl)), ratelimiter.ErrInvalidArgument, "%v", of)
		_, _, err := l.TrySetRate(t.Context(), of.r, ratelimiter.WithRuleTTL(of.ttl))
		require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, "%v", of)
	}
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerSecond(5), nil)
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	_, err = l.Rate(t.Context())
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.Unlimited, ratelimiter.WithRuleTTL(10*time.Second)))
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerSecond(0), ratelimiter.WithRuleTTL(10*time.Second)))
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(5), ratelimiter.WithRuleTTL(2*time.Hour+time.Second)))
}

// Letting a rule go is no way out of debt, nor to a second burst.
func TestARuleThatComesAgainForgivesNothing(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerMinute(5), func(t *testing.T, r ratelimiter.Rate) {
		l := newLeased(t, r)
		b, ttl := l.For("u"), ratelimiter.WithRuleTTL(ruleTTL)
		_, err := b.Charge(t.Context(), 100)
		require.NoError(t, err)
		for again, set := range map[string]func() error{
			"tried": func() error { _, _, err := l.TrySetRate(t.Context(), r, ttl); return err },
			"set":   func() error { return l.SetRate(t.Context(), r, ttl) },
		} {
			l.goes()
			require.NoError(t, set(), again)
			assert.Greater(t, isRefused(t, b, 1).RetryAfter, 19*time.Minute, "%s: 96 tokens of 5 a minute", again)
		}
		l.sets(r.WithBurst(6))
		assert.Less(t, isRefused(t, b, 1).RetryAfter, time.Minute, "a change forgives debt")
		l.sets(r, ttl, ratelimiter.WithReset())
		gets(t, b, 5)
		l.goes()
		require.NoError(t, l.SetRate(t.Context(), r, ttl, ratelimiter.WithReset()))
		gets(t, b, 5)
		l.goes()
		require.NoError(t, l.SetRate(t.Context(), r))
		gets(t, b, 5)
	})
}

// A server that takes no writes says what is stored.
func TestARuleThatCannotBeProlongedIsRead(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	raw, l := s.Client(t), open(t, s.Addr()).RateLimiter("x")
	require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerSecond(5), ratelimiter.WithRuleTTL(ruleTTL)))
	require.NoError(t, raw.Do(t.Context(), raw.B().Pexpire().Key("x").Milliseconds(100_000).Build()).Error())
	require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary("REPLICAOF").Args("127.0.0.1", "1").Build()).Error())
	got, err := l.Rate(t.Context())
	require.NoError(t, err)
	assert.Equal(t, ratelimiter.PerSecond(5), got)
	require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary("REPLICAOF").Args("no", "one").Build()).Error())
	_, err = l.Rate(t.Context())
	require.NoError(t, err)
	ms, err := raw.Do(t.Context(), raw.B().Pttl().Key("x").Build()).AsInt64()
	require.NoError(t, err)
	assert.Greater(t, ms, int64(900_000))
}

// What a server has of a rule that it knows but that lost its time to live, such
// as by a copy, goes again.
func TestARuleGetsItsTimeBack(t *testing.T) {
	t.Parallel()
	l := newLeased(t, ratelimiter.PerSecond(5))
	require.NoError(t, l.raw.Do(t.Context(), l.raw.B().Persist().Key(l.Name()).Build()).Error())
	require.Zero(t, l.left())
	_, err := l.Rate(t.Context())
	require.NoError(t, err)
	l.ttlIs(ruleTTL)
}

// A lost reply to a create that is sent again finds the first one's rule.
func TestALostReplyToTheCreateOfARuleThatGoes(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, how ...redistest.DropOption) {
		f := newFaulty(t)
		_, err := f.sure.Delete(t.Context())
		require.NoError(t, err)
		f.proxy.DropReply(f.script("rule_create"), 1, how...)
		_, created, err := f.limiter.TrySetRate(t.Context(), ratelimiter.PerMinute(7), ratelimiter.WithRuleTTL(ruleTTL))
		require.NoError(t, err)
		require.True(t, created)
		got, err := f.sure.RuleTTL(t.Context())
		require.NoError(t, err)
		require.Equal(t, ruleTTL, got)
	})
}

// ruleGoes has a rule go on a cluster, where its keys are elsewhere.
func ruleGoes(t *testing.T, cluster *redistest.Cluster) {
	one, other := openCluster(t, cluster), openCluster(t, cluster)
	l := &leased{t, one, cluster.Client(t), one.RateLimiter(redistest.Name(t))}
	_, _, err := l.TrySetRate(t.Context(), ratelimiter.PerMinute(5), ratelimiter.WithRuleTTL(ruleTTL))
	require.NoError(t, err)
	far := other.RateLimiter(l.Name())
	for i := range 20 {
		gets(t, far.For(strconv.Itoa(i)), 5)
	}
	l.unused(ruleTTL / 2)
	l.prolongs(func() error { // who knows the rule uses it
		ok, err := far.For("7").Allow(t.Context())
		if ok {
			err = errors.New("it is empty")
		}
		return err
	})
	l.goes()
	require.Eventually(t, func() bool {
		_, err := far.For("7").Allow(t.Context())
		return errors.Is(err, ratelimiter.ErrNoRate)
	}, soon, 20*time.Millisecond)
	_, created, err := l.TrySetRate(t.Context(), ratelimiter.PerMinute(5), ratelimiter.WithRuleTTL(ruleTTL))
	require.NoError(t, err)
	require.True(t, created)
	for i := range 20 {
		d, err := far.For(strconv.Itoa(i)).Take(t.Context(), 4)
		require.NoError(t, err)
		require.False(t, d.Allowed, "it is no second burst: %+v", d)
	}
}
