package ratelimiter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// aStep is one thing that is done to a bucket: n tokens are reserved, or the
// reservation of that place is cancelled.
type aStep struct{ reserve, cancel int }

func reserve(n int) aStep { return aStep{reserve: n} }
func cancel(i int) aStep  { return aStep{cancel: i} }

// cancels are what golang.org/x/time/rate v0.16.0 makes of the same steps, at
// one moment: tokens are those of its TokensAt afterwards.
var cancels = []struct {
	name   string
	steps  []aStep
	tokens int64
}{
	{"alone", []aStep{reserve(10), reserve(4), cancel(2)}, 0},
	{"twice", []aStep{reserve(2), reserve(10), cancel(2), cancel(2)}, 8},
	{"partly there already", []aStep{reserve(8), reserve(4), cancel(2)}, 2},
	{"fewer behind it", []aStep{reserve(10), reserve(4), reserve(3), cancel(2)}, -6},
	{"more behind it", []aStep{reserve(10), reserve(3), reserve(4), cancel(2)}, -7},
	{"as many behind it", []aStep{reserve(10), reserve(4), reserve(4), cancel(2)}, -8},
	{"the last first", []aStep{reserve(10), reserve(4), reserve(3), cancel(3), cancel(2)}, 0},
	{"the first first", []aStep{reserve(10), reserve(4), reserve(3), cancel(2), cancel(3)}, -3},
	{"one behind it has gone", []aStep{reserve(10), reserve(6), reserve(2), reserve(1), cancel(4), cancel(2)}, -4},
	{"in the middle", []aStep{reserve(10), reserve(2), reserve(5), reserve(2), cancel(3)}, -6},
}

// missing is how many tokens a bucket has, below 0 too. Its next token comes
// within perToken.
func tokensOf(t testing.TB, b *ratelimiter.Bucket, perToken time.Duration) int64 {
	t.Helper()
	d, err := b.Peek(t.Context())
	require.NoError(t, err)
	if d.Remaining > 0 {
		return d.Remaining
	}
	return 1 - ceilTo(d.RetryAfter, perToken)
}

func TestCancelGivesBackWhatXTimeRateDoes(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]ratelimiter.Rate{
		"overall":             ratelimiter.PerHour(1).WithBurst(10),
		"per client":          ratelimiter.PerHour(1).WithBurst(10).PerClient(),
		"in units of seconds": {N: 1, Per: time.Hour, Burst: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, redistest.Shared(t).Addr())
			for _, test := range cancels {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					l := limited(t, c, r)
					var all []*ratelimiter.Reservation
					for _, step := range test.steps {
						if step.reserve > 0 {
							one, err := l.ReserveN(t.Context(), int64(step.reserve))
							require.NoError(t, err)
							all = append(all, one)
						} else {
							require.NoError(t, all[step.cancel-1].Cancel(t.Context()))
						}
					}
					assert.Equal(t, test.tokens, tokensOf(t, &l.Bucket, time.Hour))
				})
			}
		})
	}
}

// onStandingClock is a client of a server whose clock stands.
func onStandingClock(t *testing.T) (*rueidisson.Client, *embedded.Server) {
	t.Helper()
	s, err := embedded.StartManual()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	c, err := rueidisson.New(s.ClientOption())
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, c.Close(ctx))
	})
	return c, s
}

func TestACancelLaterOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		after  time.Duration
		tokens int64
	}{
		{"half waited", 2 * time.Second, 2},
		{"a moment before it is due", 4*time.Second - time.Microsecond, 3}, // 3.999999
		{"when it is due", 4 * time.Second, 0},
		{"long after", 9 * time.Second, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, s := onStandingClock(t)
			l := limited(t, c, ratelimiter.Every(1, time.Second).WithBurst(10))
			gets(t, &l.Bucket, 10)
			r, err := l.ReserveN(t.Context(), 4)
			require.NoError(t, err)
			s.Forward(test.after)
			require.NoError(t, r.Cancel(t.Context()))
			d, err := l.Peek(t.Context())
			require.NoError(t, err)
			assert.Equal(t, test.tokens, d.Remaining, "%+v", d)
		})
	}
}

func TestAReservation(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1).WithBurst(3))
	now, err := l.ReserveN(t.Context(), 3)
	require.NoError(t, err)
	require.Zero(t, now.Delay())
	require.EqualValues(t, 3, now.Tokens())
	later, err := l.ReserveN(t.Context(), 2)
	require.NoError(t, err)
	require.LessOrEqual(t, later.Delay(), 2*time.Hour)
	require.Greater(t, later.Delay(), 2*time.Hour-time.Minute)
	require.NoError(t, now.Cancel(t.Context())) // due: nothing comes back
	require.EqualValues(t, -2, tokensOf(t, &l.Bucket, time.Hour))
}

func TestAReservationIgnoresTheDeadline(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1))
	gets(t, &l.Bucket, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := l.Reserve(ctx)
	require.NoError(t, err)
	require.Greater(t, r.Delay(), 59*time.Minute)
}

func TestACancelThatWasNotSentMayBeRepeated(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1).WithBurst(3))
	gets(t, &l.Bucket, 2)
	r, err := l.ReserveN(t.Context(), 2)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.Cancel(ctx), context.Canceled)
	require.NoError(t, r.Cancel(t.Context()))
	holds(t, &l.Bucket, 1)
	require.NoError(t, r.Cancel(t.Context()))
	holds(t, &l.Bucket, 1)
}

// The bucket does not know of whom it was emptied: a cancel after a reset gives
// its tokens back, up to a full bucket.
func TestACancelAfterAResetGivesBack(t *testing.T) {
	t.Parallel()
	for name, rate := range map[string]ratelimiter.Rate{"overall": ratelimiter.PerHour(10), "per client": ratelimiter.PerHour(10).PerClient()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limited(t, open(t, redistest.Shared(t).Addr()), rate)
			gets(t, &l.Bucket, 10)
			r, err := l.ReserveN(t.Context(), 10)
			require.NoError(t, err)
			require.NoError(t, l.Reset(t.Context()))
			gets(t, &l.Bucket, 10)
			require.NoError(t, r.Cancel(t.Context()))
			holds(t, &l.Bucket, 10)
		})
	}
}

func TestACancelAfterADeleteGivesNothingBack(t *testing.T) {
	t.Parallel()
	l := limited(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10))
	gets(t, &l.Bucket, 10)
	r, err := l.ReserveN(t.Context(), 10)
	require.NoError(t, err)
	_, err = l.Delete(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Cancel(t.Context()))
	_, _, err = l.TrySetRate(t.Context(), ratelimiter.PerHour(10))
	require.NoError(t, err)
	gets(t, &l.Bucket, 10)
	require.NoError(t, r.Cancel(t.Context()))
	isRefused(t, &l.Bucket, 1)
}

// What is due in more years than a time.Duration counts is not due now.
func TestAReservationOfTheFarFutureIsNotDue(t *testing.T) {
	t.Parallel()
	for name, perClient := range map[string]bool{"overall": false, "per client": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rate := ratelimiter.Every(1, 200*24*time.Hour).WithBurst(1000)
			if perClient {
				rate = rate.PerClient()
			}
			l := limited(t, open(t, redistest.Shared(t).Addr()), rate)
			_, err := l.Charge(t.Context(), 100_000)
			require.NoError(t, err)
			r, err := l.Reserve(t.Context())
			if err == nil {
				assert.Greater(t, r.Delay(), 200*365*24*time.Hour)
			} else {
				assert.ErrorIs(t, err, ratelimiter.ErrExceedsDebt)
			}
			d, err := l.Peek(t.Context())
			require.NoError(t, err)
			assert.Greater(t, d.RetryAfter, 200*365*24*time.Hour)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			require.ErrorIs(t, l.Wait(ctx), ratelimiter.ErrExceedsDeadline)
		})
	}
}

// A cancel of which the answer was not heard is not done once more.
func TestACancelWhoseCallerLeavesIsDoneOnce(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	l := limited(t, c, ratelimiter.PerHour(1).WithBurst(10))
	gets(t, &l.Bucket, 10)
	known, err := l.ReserveN(t.Context(), 5) // a script that the server does not know goes out twice
	require.NoError(t, err)
	require.NoError(t, known.Cancel(t.Context()))
	before := p.Count(luaOf(t, "cancel"))
	r, err := l.ReserveN(t.Context(), 5)
	require.NoError(t, err)
	held := p.HoldRequest(luaOf(t, "cancel"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := begun(func() error { return r.Cancel(ctx) })
	held.Await(t)
	cancel()
	require.ErrorIs(t, outcome(t, gone), context.Canceled)
	held.Release()
	require.NoError(t, r.Cancel(t.Context()))
	p.AwaitCount(t, luaOf(t, "cancel"), before+1)
	d, err := l.Peek(t.Context())
	require.NoError(t, err)
	require.Zero(t, d.Remaining, "%+v", d)
	require.Equal(t, before+1, p.Count(luaOf(t, "cancel")))
}
