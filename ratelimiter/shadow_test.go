package ratelimiter_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// tried is a limit that decides, and one in shadow, which an observer hears of.
type tried struct {
	t          *testing.T
	o          heard
	c          *rueidisson.Client
	live, beta *ratelimiter.Limiter
	all        *ratelimiter.Combined
}

func newTried(t *testing.T, live, beta ratelimiter.Rate) *tried {
	s := &tried{t: t}
	s.c = open(t, redistest.Shared(t).Addr(), rueidisson.WithObserver(&s.o))
	name := redistest.Name(t)
	s.live, s.beta = s.c.RateLimiter(name+"/live"), s.c.RateLimiter(name+"/beta")
	require.NoError(t, s.live.SetRate(t.Context(), live))
	require.NoError(t, s.beta.SetRate(t.Context(), beta))
	s.all = ratelimiter.All(s.live, ratelimiter.Shadow(s.beta))
	return s
}

// ofBeta awaits what the observer hears of the limit in shadow.
func (s *tried) ofBeta(n int) (all []rueidisson.Decision) {
	s.t.Helper()
	redistest.Eventually(s.t, func() bool {
		for _, d := range s.o.take() {
			assert.Equal(s.t, d.Limiter == s.beta.Name(), d.Shadow, "%+v", d)
			if d.Shadow {
				all = append(all, d)
			}
		}
		return len(all) >= n
	}, soon, time.Millisecond)
	return all
}

func (s *tried) takes(n ...int64) ratelimiter.AllDecision {
	s.t.Helper()
	d, err := s.all.TakeEach(s.t.Context(), n...)
	require.NoError(s.t, err)
	return d
}

func TestALimitInShadowRefusesNothing(t *testing.T) {
	t.Parallel()
	s := newTried(t, ratelimiter.PerHour(10), ratelimiter.PerHour(4))
	for i := range 5 {
		d, err := s.all.Take(t.Context(), 2)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		assert.Len(t, d.Members, 1)
		assert.EqualValues(t, 10, d.Limit)
		got := s.ofBeta(1)
		assert.Equal(t, []any{1, i < 2, int64(2)}, []any{len(got), got[0].Allowed, got[0].Tokens}, "%d: %+v", i, got)
		assert.NoError(t, got[0].Err)
	}
	holds(t, &s.beta.Bucket, 0)
	holds(t, &s.live.Bucket, 0)
}

// What the others refuse it is not asked about, and keeps its tokens.
func TestALimitInShadowKeepsItsTokensWhenAnotherRefuses(t *testing.T) {
	t.Parallel()
	s := newTried(t, ratelimiter.PerHour(2), ratelimiter.PerHour(10))
	for range 5 {
		_, err := s.all.Allow(t.Context())
		require.NoError(t, err)
	}
	assert.Len(t, s.ofBeta(2), 2)
	willHold(t, &s.beta.Bucket, 8)
	require.NoError(t, s.live.Pause(t.Context()))
	_, err := s.all.Allow(t.Context())
	require.NoError(t, err)
	d, err := s.all.Peek(t.Context())
	require.NoError(t, err)
	assert.True(t, d.Paused)
	_, err = s.all.Take(t.Context(), 5)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
	holds(t, &s.beta.Bucket, 8)
}

func TestNumbersForMembersInShadow(t *testing.T) {
	t.Parallel()
	s := newTried(t, ratelimiter.PerHour(10), ratelimiter.PerHour(100))
	s.all = ratelimiter.All(ratelimiter.Shadow(s.beta), s.live)
	assert.True(t, s.takes(30, 2).Allowed)
	willHold(t, &s.beta.Bucket, 70)
	holds(t, &s.live.Bucket, 8)
	require.NoError(t, s.all.RefundEach(t.Context(), 20, 1))
	willHold(t, &s.beta.Bucket, 90)
	holds(t, &s.live.Bucket, 9)
	_, err := s.all.TakeEach(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	taken, _, err := s.all.TakeUpTo(t.Context(), 50)
	require.NoError(t, err)
	assert.EqualValues(t, 9, taken)
	willHold(t, &s.beta.Bucket, 81)
	require.NoError(t, s.all.Refund(t.Context(), 3))
	willHold(t, &s.beta.Bucket, 84)

	keyed := s.all.For("u")
	_, err = keyed.TakeEach(t.Context(), 40, 10)
	require.NoError(t, err)
	willHold(t, s.beta.For("u"), 60)
	holds(t, s.live.For("u"), 0)
}

func TestAWaitDoesNotWaitForALimitInShadow(t *testing.T) {
	t.Parallel()
	s := newTried(t, ratelimiter.Every(1, 50*time.Millisecond).WithBurst(1), ratelimiter.PerHour(1))
	for range 3 {
		require.NoError(t, s.all.Wait(t.Context()))
	}
	granted := 0
	for _, d := range s.ofBeta(3) {
		if d.Allowed {
			granted++
		}
	}
	assert.Equal(t, 1, granted)

	s = newTried(t, ratelimiter.PerHour(1), ratelimiter.PerHour(10))
	require.NoError(t, s.all.Wait(t.Context()))
	willHold(t, &s.beta.Bucket, 9)
	ctx, leave := context.WithCancel(t.Context())
	done := begun(func() error { return s.all.Wait(ctx) }) // ends with ctx
	willHold(t, &s.beta.Bucket, 8)
	leave()
	require.ErrorIs(t, outcome(t, done), context.Canceled)
	willHold(t, &s.beta.Bucket, 9)
}

// A limit that is tried out has no rate, or its server is silent: the others
// hear nothing of it.
func TestALimitInShadowFailsForItself(t *testing.T) {
	t.Parallel()
	s := newTried(t, slowly(100_000), ratelimiter.PerHour(4))
	_, err := s.beta.Delete(t.Context())
	require.NoError(t, err)
	require.True(t, s.takes(1, 1).Allowed)
	require.ErrorIs(t, s.ofBeta(1)[0].Err, ratelimiter.ErrNoRate)

	var o heard
	away, p := proxied(t, rueidisson.WithObserver(&o))
	silent := away.RateLimiter(redistest.Name(t) + "/silent")
	require.NoError(t, silent.SetRate(t.Context(), ratelimiter.PerHour(5)))
	p.BlackHole()
	all := ratelimiter.All(s.live, ratelimiter.Shadow(silent))
	for range 6000 {
		ok, err := all.Allow(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
	}
	told := 0
	redistest.Eventually(t, func() bool {
		for _, d := range o.take() {
			assert.True(t, d.Shadow)
			assert.Error(t, d.Err)
			told++
		}
		return told == 6000
	}, soon, time.Millisecond, "each is told of")
}

func TestACallerWhoHasGoneIsNotTriedOut(t *testing.T) {
	t.Parallel()
	s := newTried(t, ratelimiter.PerHour(10), ratelimiter.PerHour(10))
	ctx, leave := context.WithCancel(t.Context())
	leave()
	_, err := s.all.Allow(ctx)
	require.ErrorIs(t, err, context.Canceled)
	ctx, leave = context.WithCancel(context.WithValue(t.Context(), traced{}, "x"))
	_, err = s.all.Allow(ctx)
	require.NoError(t, err)
	leave() // which does not end what was begun
	assert.True(t, s.ofBeta(1)[0].Allowed)
	holds(t, &s.beta.Bucket, 9)
}

type traced struct{}

// Its own options count: it may have a rate per client, which All has not.
func TestALimitInShadowHasItsOptions(t *testing.T) {
	t.Parallel()
	s := newTried(t, ratelimiter.PerHour(10), ratelimiter.PerHour(2).PerClient())
	for range 3 {
		ok, err := s.all.Allow(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
		require.Zero(t, s.ofBeta(1)[0].Together, "in the process")
	}
	holds(t, &s.beta.Bucket, 0)
}

func TestALimitInShadowByItself(t *testing.T) {
	t.Parallel()
	s := newTried(t, ratelimiter.PerHour(10), ratelimiter.PerHour(5))
	beta := ratelimiter.Shadow(s.beta.For("u"))
	beta.Take(t.Context(), 3)
	willHold(t, s.beta.For("u"), 2)
	beta.Settle(t.Context(), 3, 3)
	beta.Settle(t.Context(), 3, 1)
	willHold(t, s.beta.For("u"), 4)
	var none context.Context
	beta.Take(none, 1)
	willHold(t, s.beta.For("u"), 3)
	ratelimiter.Shadow(nil).Take(t.Context(), 1)
	ratelimiter.Shadow((*ratelimiter.Limiter)(nil)).Take(t.Context(), 1)
}

func TestWhatCannotBeInShadow(t *testing.T) {
	t.Parallel()
	s := newTried(t, ratelimiter.PerHour(10), ratelimiter.PerHour(5))
	bad := s.c.RateLimiter("x", ratelimiter.WithMaxDebt(-1))
	for name, all := range map[string]*ratelimiter.Combined{
		"alone":  ratelimiter.All(ratelimiter.Shadow(s.beta)),
		"nil":    ratelimiter.All(s.live, ratelimiter.Shadow(nil)),
		"no one": ratelimiter.All(s.live, (*ratelimiter.Shadowed)(nil)),
		"twice":  ratelimiter.All(s.live, ratelimiter.Shadow(s.live)),
		"option": ratelimiter.All(s.live, ratelimiter.Shadow(bad)),
	} {
		for _, all := range []*ratelimiter.Combined{all, all.For("u")} {
			_, err := all.Take(t.Context(), 1)
			require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, name)
		}
	}
	holds(t, &s.live.Bucket, 10)
}

func TestCloseWaitsForWhatIsTriedOut(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c, err := rueidisson.Open("redis://" + server.Addr())
	require.NoError(t, err)
	name := redistest.Name(t)
	live, beta := c.RateLimiter(name+"/live"), c.RateLimiter(name+"/beta")
	require.NoError(t, live.SetRate(t.Context(), slowly(1_000_000)))
	require.NoError(t, beta.SetRate(t.Context(), slowly(1_000_000)))
	all := ratelimiter.All(live, ratelimiter.Shadow(beta))
	done := begun(func() error { // ends with the client
		for {
			if _, err := all.Allow(t.Context()); err != nil {
				return err
			}
		}
	})
	require.Eventually(t, func() bool { d, err := beta.Peek(t.Context()); return err == nil && d.Remaining < 999_000 }, soon, time.Millisecond)
	require.NoError(t, c.Close(t.Context()))
	err = outcome(t, done)
	require.True(t, errors.Is(err, ratelimiter.ErrClosed) || errors.Is(err, ratelimiter.ErrOutcomeUnknown), "%v", err)
	all.Allow(t.Context())
	ratelimiter.Shadow(beta).Take(t.Context(), 1)
}

// shadowElsewhere tries a limit out that lies in another slot, which no member
// that decides may.
func shadowElsewhere(t *testing.T, cluster *redistest.Cluster) {
	c, name := openCluster(t, cluster), redistest.Name(t)
	live, beta := c.RateLimiter(name+"{a}"), c.RateLimiter(name+"{b}")
	for _, l := range []*ratelimiter.Limiter{live, beta} {
		require.NoError(t, l.SetRate(t.Context(), ratelimiter.PerHour(10)))
	}
	_, err := ratelimiter.All(live, beta).Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrCrossSlot)
	d, err := ratelimiter.All(live, ratelimiter.Shadow(beta)).Take(t.Context(), 3)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	willHold(t, &beta.Bucket, 7)
	holds(t, &live.Bucket, 7)
}

// What is given back was taken before, however soon that is.
func TestWhatIsTriedOutIsGivenBackBehindItsTake(t *testing.T) {
	t.Parallel()
	s := newTried(t, ratelimiter.PerHour(1_000_000), ratelimiter.PerHour(100))
	for i := range 200 {
		key := strconv.Itoa(i)
		beta := ratelimiter.Shadow(s.beta.For(key))
		beta.Take(t.Context(), 3)
		beta.Settle(t.Context(), 3, 0)
	}
	s.ofBeta(200)
	for i := range 200 {
		willHold(t, s.beta.For(strconv.Itoa(i)), 100)
	}
}
