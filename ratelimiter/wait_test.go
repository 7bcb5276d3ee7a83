package ratelimiter_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// limited is a limiter of its own with that rate.
func limited(t testing.TB, c *rueidisson.Client, r ratelimiter.Rate, opts ...ratelimiter.Option) *ratelimiter.Limiter {
	t.Helper()
	l := c.RateLimiter(redistest.Name(t), opts...)
	_, created, err := c.RateLimiter(l.Name()).TrySetRate(t.Context(), r)
	require.NoError(t, err)
	require.True(t, created)
	return l
}

// proxied is a client of the shared server, behind a proxy.
func proxied(t testing.TB, opts ...rueidisson.Option) (*rueidisson.Client, *redistest.Proxy) {
	t.Helper()
	p := redistest.NewProxy(t, redistest.Shared(t).Addr())
	return open(t, p.Addr(), opts...), p
}

// luaOf matches the calls of a script of this package.
func luaOf(t testing.TB, name string) redistest.Match {
	t.Helper()
	return redistest.MatchScript(scriptText(t, name))
}

// gets takes n tokens, which are there.
func gets(t testing.TB, b *ratelimiter.Bucket, n int64) ratelimiter.Decision {
	t.Helper()
	d, err := b.Take(t.Context(), n)
	require.NoError(t, err)
	require.True(t, d.Allowed, "%v has no %d tokens: %+v", b, n, d)
	require.Zero(t, d.RetryAfter)
	return d
}

// isRefused tries to take n tokens, which are not there.
func isRefused(t testing.TB, b *ratelimiter.Bucket, n int64) ratelimiter.Decision {
	t.Helper()
	d, err := b.Take(t.Context(), n)
	require.NoError(t, err)
	require.False(t, d.Allowed, "%v had %d tokens: %+v", b, n, d)
	require.Positive(t, d.RetryAfter)
	return d
}

// holds says how many tokens a bucket has.
func holds(t testing.TB, b *ratelimiter.Bucket, want int64) {
	t.Helper()
	d, err := b.Peek(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, d.Remaining, "%v: %+v", b, d)
}

// willHold awaits what comes back behind the caller's back.
func willHold(t testing.TB, b *ratelimiter.Bucket, want int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		d, err := b.Peek(t.Context())
		return err == nil && d.Remaining == want
	}, soon, 2*time.Millisecond, "%v has not %d tokens", b, want)
}

// begun is what do will return.
func begun(do func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do() }() // ends with do, which the test awaits
	return done
}

// outcome awaits it.
func outcome(t testing.TB, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(soon):
		require.FailNow(t, "a call has not ended")
		return nil
	}
}

// stored is what a key holds on the server, "" if it is not there.
func stored(t testing.TB, raw rueidis.Client, key string) string {
	t.Helper()
	text, err := raw.Do(t.Context(), raw.B().Get().Key(key).Build()).ToString()
	if !rueidis.IsRedisNil(err) {
		require.NoError(t, err)
	}
	return text
}

// changesFrom awaits that a key no longer holds what it did.
func changesFrom(t testing.TB, raw rueidis.Client, key, before string) string {
	t.Helper()
	var now string
	redistest.Eventually(t, func() bool {
		now = stored(t, raw, key)
		return now != before
	}, redistest.Soon, time.Millisecond)
	return now
}

func unkeyed(l *ratelimiter.Limiter) string { return "{" + l.Name() + "}:bucket" }

// Were a later waiter served before an earlier one, it would return before its
// own token is there.
func TestWaitersOfTwoProcessesAreServedInTheOrderOfTheirArrival(t *testing.T) {
	t.Parallel()
	const per = 40 * time.Millisecond
	s := redistest.Shared(t)
	reserved := tidings{come: make(chan struct{}, 1)}
	observed := rueidisson.WithObserver(reserved)
	one := limited(t, open(t, s.Addr(), observed), ratelimiter.Every(1, per))
	two := open(t, s.Addr(), observed).RateLimiter(one.Name())
	_, err := two.Rate(t.Context())
	require.NoError(t, err)

	began := time.Now()
	gets(t, &one.Bucket, 1)
	reserved.await(t)
	var ends []<-chan error
	var took [6]time.Duration
	for i := range took {
		l := []*ratelimiter.Limiter{one, two}[i%2]
		ends = append(ends, begun(func() error {
			err := l.Wait(t.Context())
			took[i] = time.Since(began)
			return err
		}))
		reserved.await(t)
	}
	for i, end := range ends {
		require.NoError(t, outcome(t, end))
		assert.GreaterOrEqual(t, took[i], time.Duration(i+1)*per, "waiter %d", i)
	}
}

// tidings is an observer that says when a decision has come, and before its
// caller goes on.
type tidings struct {
	silentObserver
	come chan struct{}
}

func (a tidings) Decided(context.Context, rueidisson.Decision) { a.come <- struct{}{} }

func (a tidings) await(t testing.TB) {
	t.Helper()
	select {
	case <-a.come:
	case <-time.After(soon):
		require.FailNow(t, "no decision has come")
	}
}

func TestAWaitNeverReturnsEarly(t *testing.T) {
	t.Parallel()
	const per, burst = 5 * time.Millisecond, 3
	for name, r := range map[string]ratelimiter.Rate{
		"overall":               ratelimiter.Every(1, per).WithBurst(burst),
		"per client":            ratelimiter.Every(1, per).WithBurst(burst).PerClient(),
		"in units of a second":  {N: 1 << 22, Per: 5003 * time.Second, Burst: 1},
		"that is no whole unit": {N: 3, Per: 3*per + 1, Burst: burst},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limited(t, open(t, redistest.Shared(t).Addr()), r)
			began := time.Now()
			var mu sync.Mutex
			var ends []time.Duration
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 5 {
						if !assert.NoError(t, l.Wait(t.Context())) {
							return
						}
						mu.Lock()
						ends = append(ends, time.Since(began))
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			slices.Sort(ends)
			for i, end := range ends {
				earliest := time.Duration(int64(i+1)-r.Burst) * r.Per / time.Duration(r.N)
				assert.GreaterOrEqual(t, end, earliest, "grant %d", i+1)
			}
		})
	}
}

func TestAWaitThatWouldOutlastItsDeadlineIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	raw := s.Client(t)
	c, p := proxied(t)
	l := limited(t, c, ratelimiter.PerHour(2))
	gets(t, &l.Bucket, 2)
	state := stored(t, raw, unkeyed(l))
	holds(t, &l.Bucket, 0) // the server knows the script then
	p.ResetLog()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // the test's own timeout is shorter
	defer cancel()
	err := l.Wait(ctx)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsDeadline)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, ratelimiter.ErrExceedsDebt)
	require.ErrorContains(t, err, l.Name())
	require.ErrorContains(t, err, "wait")
	require.ErrorIs(t, l.WaitN(ctx, 2), ratelimiter.ErrExceedsDeadline)
	assert.LessOrEqual(t, p.Count(luaOf(t, "decide")), 2, "script calls")
	assert.Zero(t, p.Count(luaOf(t, "cancel")), "nothing was taken, nothing goes back")
	assert.Equal(t, state, stored(t, raw, unkeyed(l)))
}

func TestADeadlineFarAwayIsNoneThatIsOver(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]ratelimiter.Rate{
		"overall":    ratelimiter.Every(1, 10*time.Millisecond),
		"per client": ratelimiter.Every(1, 10*time.Millisecond).PerClient(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limited(t, open(t, redistest.Shared(t).Addr()), r)
			ctx, cancel := context.WithDeadline(t.Context(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
			defer cancel()
			for range 3 {
				require.NoError(t, l.Wait(ctx))
			}
		})
	}
}

func TestAWaitWithoutRoomForDebtIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	l := limited(t, open(t, s.Addr()), ratelimiter.PerHour(1), ratelimiter.WithMaxDebt(1), ratelimiter.WithMaxWait(24*time.Hour))
	gets(t, &l.Bucket, 1)
	r, err := l.Reserve(t.Context())
	require.NoError(t, err)
	err = l.Wait(t.Context())
	require.ErrorIs(t, err, ratelimiter.ErrExceedsDebt)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	_, err = l.Reserve(t.Context())
	require.ErrorIs(t, err, ratelimiter.ErrExceedsDebt)
	require.NoError(t, r.Cancel(t.Context()))
	_, err = l.Reserve(t.Context())
	require.NoError(t, err)
}

var errEnough = errors.New("enough")

func TestAWaitThatIsCancelledWhileItSleepsGivesBack(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]ratelimiter.Rate{"overall": ratelimiter.PerHour(10), "per client": ratelimiter.PerHour(10).PerClient()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limited(t, open(t, redistest.Shared(t).Addr()), r)
			gets(t, &l.Bucket, 6)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			end := begun(func() error { return l.WaitN(ctx, 7) })
			willHold(t, &l.Bucket, 0)
			cancel(errEnough)
			err := outcome(t, end)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, errEnough)
			require.NotErrorIs(t, err, ratelimiter.ErrExceedsDeadline)
			willHold(t, &l.Bucket, 4)
		})
	}
}

func TestAWaitThatIsCancelledBeforeSendsNothing(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	l := limited(t, c, ratelimiter.PerHour(1))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	p.ResetLog()
	err := l.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errEnough)
	require.Zero(t, p.Count(redistest.AnyScript()))
}

func TestAWaitThatIsCancelledDuringItsExchangeGivesBack(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]int64{"tokens that are there": 0, "tokens to come": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, p := proxied(t)
			l := limited(t, c, ratelimiter.PerHour(10))
			other := open(t, redistest.Shared(t).Addr()).RateLimiter(l.Name())
			if taken > 0 {
				gets(t, &l.Bucket, taken)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			held := p.HoldRequest(luaOf(t, "decide"))
			end := begun(func() error { return l.WaitN(ctx, 4) })
			held.Await(t)
			cancel()
			require.ErrorIs(t, outcome(t, end), context.Canceled)
			held.Release()
			p.AwaitCount(t, luaOf(t, "cancel"), 1)
			if taken == 0 {
				willHold(t, &other.Bucket, 10) // it was due at once, but nobody got it
				return
			}
			willReserve(t, &other.Bucket, 1)
		})
	}
}

// willReserve awaits that the next token of an empty bucket is to be had after
// so many hours, at a rate of 10 an hour in tenths of one.
func willReserve(t testing.TB, b *ratelimiter.Bucket, want int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		r, err := b.Reserve(t.Context())
		if err != nil {
			return false
		}
		steps := ceilTo(r.Delay(), 6*time.Minute)
		return r.Cancel(t.Context()) == nil && steps == want
	}, redistest.Soon, 2*time.Millisecond)
}

func ceilTo(d, unit time.Duration) int64 { return int64((d + unit - 1) / unit) }

func TestAWaitEndsWithTheClient(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, l *ratelimiter.Limiter){
		"while it sleeps": func(t *testing.T, l *ratelimiter.Limiter) { gets(t, &l.Bucket, 1) },
		"during a pause":  func(t *testing.T, l *ratelimiter.Limiter) { require.NoError(t, l.Pause(t.Context())) },
		"during a block":  func(t *testing.T, l *ratelimiter.Limiter) { require.NoError(t, l.Block(t.Context(), time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t)
			c, raw := open(t, s.Addr()), s.Client(t)
			l := limited(t, c, ratelimiter.PerHour(1))
			prepare(t, l)
			state := stored(t, raw, unkeyed(l))
			end := begun(func() error { return l.Wait(context.Background()) })
			if name != "during a pause" {
				changesFrom(t, raw, unkeyed(l), state)
			}
			require.NoError(t, c.Close(t.Context()))
			require.ErrorIs(t, outcome(t, end), ratelimiter.ErrClosed)
		})
	}
}

func TestAWaitThatWasGrantedKeepsItsTime(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(ctx context.Context, l *ratelimiter.Limiter) error{
		"though the bucket is blocked": func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Block(ctx, time.Hour) },
		"though the limiter is paused": func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Pause(ctx) },
		"though the rate changes":      func(ctx context.Context, l *ratelimiter.Limiter) error { return l.SetRate(ctx, ratelimiter.PerHour(1)) },
		"though the bucket is reset":   func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Reset(ctx) },
		"though the limiter is deleted": func(ctx context.Context, l *ratelimiter.Limiter) error {
			_, err := l.Delete(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t)
			raw := s.Client(t)
			const per = 150 * time.Millisecond
			l := limited(t, open(t, s.Addr()), ratelimiter.Every(1, per))
			began := time.Now()
			gets(t, &l.Bucket, 1)
			state := stored(t, raw, unkeyed(l))
			end := begun(func() error { return l.Wait(t.Context()) })
			changesFrom(t, raw, unkeyed(l), state)
			require.NoError(t, meanwhile(t.Context(), open(t, s.Addr()).RateLimiter(l.Name())))
			require.NoError(t, outcome(t, end))
			require.GreaterOrEqual(t, time.Since(began), per)
		})
	}
}

func TestAWaitThatIsCancelledAfterARateChangeGivesNothingBack(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	raw := s.Client(t)
	c, p := proxied(t)
	l := limited(t, c, ratelimiter.PerHour(10))
	gets(t, &l.Bucket, 10)
	state := stored(t, raw, unkeyed(l))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end := begun(func() error { return l.WaitN(ctx, 4) })
	changesFrom(t, raw, unkeyed(l), state)
	other := open(t, s.Addr()).RateLimiter(l.Name())
	require.NoError(t, other.SetRate(t.Context(), ratelimiter.PerHour(30)))
	gets(t, &other.Bucket, 2) // beside the 14
	cancel()
	require.ErrorIs(t, outcome(t, end), context.Canceled)
	answered(t, c, p, luaOf(t, "cancel"))
	holds(t, &other.Bucket, 14)
}

// answered awaits that a client has sent a command and had its answer: its
// goroutines end with it.
func answered(t testing.TB, c *rueidisson.Client, p *redistest.Proxy, command redistest.Match) {
	t.Helper()
	p.AwaitCount(t, command, 1)
	require.NoError(t, c.Close(context.WithoutCancel(t.Context())))
}

func TestAWaitOutlastsABlock(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]ratelimiter.Rate{"overall": ratelimiter.PerHour(5), "per client": ratelimiter.PerHour(5).PerClient()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := limited(t, open(t, redistest.Shared(t).Addr()), r)
			began := time.Now()
			require.NoError(t, l.Block(t.Context(), 60*time.Millisecond))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			require.NoError(t, l.WaitN(ctx, 5))
			require.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond)

			require.NoError(t, l.Reset(t.Context()))
			require.NoError(t, l.Block(t.Context(), time.Hour))
			require.ErrorIs(t, l.WaitN(ctx, 5), ratelimiter.ErrExceedsDeadline)
			require.NoError(t, l.Reset(t.Context()))
			gets(t, &l.Bucket, 5)
		})
	}
}

// A crowd that waits and goes away locks nobody out, in whatever order it leaves.
func TestPlacesOfWaitersWhoLeaveComeBack(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		for name, order := range map[string]func(i, n int) int{
			"first first": func(i, _ int) int { return i },
			"last first":  func(i, n int) int { return n - 1 - i },
			"any":         func(i, n int) int { return i * 7 % n },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				const waiters = 300 // thirty hours, and more than one exchange can give back
				l := limited(t, open(t, redistest.Shared(t).Addr()), r, ratelimiter.WithMaxWait(48*time.Hour))
				gets(t, &l.Bucket, 10)
				var leave []context.CancelFunc
				var ends []<-chan error
				for i := range waiters {
					ctx, cancel := context.WithCancel(t.Context())
					leave = append(leave, cancel)
					ends = append(ends, begun(func() error { return l.Wait(ctx) }))
					require.Eventually(t, func() bool {
						d, err := l.Peek(t.Context())
						return err == nil && d.ResetAfter > time.Hour+time.Duration(i)*6*time.Minute
					}, soon, time.Millisecond)
				}
				for i := range waiters {
					leave[order(i, waiters)]()
					require.ErrorIs(t, outcome(t, ends[order(i, waiters)]), context.Canceled)
				}
				require.Eventually(t, func() bool {
					d, err := l.Peek(t.Context())
					return err == nil && d.ResetAfter <= time.Hour
				}, soon, time.Millisecond, "what is missing is the burst, and no more")
			})
		}
	})
}

// Who waits keeps its time, whoever leaves before it.
func TestAPlaceBeforeAWaiterStays(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerHour(10), func(t *testing.T, r ratelimiter.Rate) {
		l := limited(t, open(t, redistest.Shared(t).Addr()), r, ratelimiter.WithMaxWait(24*time.Hour))
		gets(t, &l.Bucket, 10)
		begin := func(n int64) (context.CancelFunc, <-chan error) {
			before, err := l.Peek(t.Context())
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			end := begun(func() error { return l.WaitN(ctx, n) })
			require.Eventually(t, func() bool {
				d, err := l.Peek(t.Context())
				return err == nil && d.ResetAfter > before.ResetAfter+time.Minute
			}, soon, time.Millisecond)
			return cancel, end
		}
		leave, left := begin(5)
		stay, stays := begin(2)
		leave()
		require.ErrorIs(t, outcome(t, left), context.Canceled)
		missing := func(tokens int) {
			t.Helper()
			require.Eventually(t, func() bool {
				d, err := l.Peek(t.Context())
				return err == nil && (d.ResetAfter+time.Minute).Truncate(6*time.Minute) == time.Duration(tokens)*6*time.Minute
			}, soon, time.Millisecond)
		}
		missing(10 + 2 + 2) // of the 5, as many as are behind them stay
		stay()
		require.ErrorIs(t, outcome(t, stays), context.Canceled)
		missing(10)
	})
}

func TestALongestWait(t *testing.T) {
	t.Parallel()
	both(t, ratelimiter.PerMinute(1), func(t *testing.T, r ratelimiter.Rate) {
		redistest.Within(t, soon, func() time.Duration {
			c := open(t, redistest.Shared(t).Addr())
			l := limited(t, c, r.WithBurst(2))
			gets(t, &l.Bucket, 2)
			short := c.RateLimiter(l.Name(), ratelimiter.WithMaxWait(59*time.Second))
			require.ErrorIs(t, short.Wait(t.Context()), ratelimiter.ErrExceedsWait)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			require.ErrorIs(t, short.Wait(ctx), ratelimiter.ErrExceedsDeadline, "the deadline comes first")
			if r.Type == ratelimiter.Overall {
				require.ErrorIs(t, ratelimiter.All(short, l.For("u")).Wait(t.Context()), ratelimiter.ErrExceedsWait)
			}
			for range 2 { // two minutes, which is what two tokens need
				_, err := l.Reserve(t.Context())
				require.NoError(t, err, "a reservation does not wait")
			}
			require.ErrorIs(t, l.Wait(t.Context()), ratelimiter.ErrExceedsWait, "one needs a minute")
			require.NoError(t, l.Pause(t.Context()))
			began := time.Now()
			paused := c.RateLimiter(l.Name(), ratelimiter.WithMaxWait(500*time.Millisecond))
			require.ErrorIs(t, paused.Wait(t.Context()), ratelimiter.ErrExceedsWait, "a pause, too")
			took := time.Since(began)
			_, err := c.RateLimiter(l.Name(), ratelimiter.WithMaxWait(0)).Take(t.Context(), 1)
			require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
			return took
		})
	})
}

// What one member says of its own wait does not lengthen what the others say of theirs.
func TestAMembersLongestWaitIsNotThatOfTheOthers(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Shared(t).Addr())
	hasty := limited(t, c, ratelimiter.PerMinute(1)) // without a longest wait: a minute, which one token needs
	patient := limited(t, c, ratelimiter.PerHour(1_000_000), ratelimiter.WithMaxWait(24*time.Hour))
	slow := limited(t, c, ratelimiter.PerHour(1).WithBurst(10))
	gets(t, hasty.For("u"), 1)
	owes, err := hasty.For("u").Reserve(t.Context())
	require.NoError(t, err)
	for _, members := range [][]ratelimiter.Member{
		{hasty.For("u"), patient.For("u")}, {patient.For("u"), hasty.For("u")},
	} {
		ctx, cancel := context.WithCancel(t.Context()) // no deadline
		timer := time.AfterFunc(soon, cancel)
		require.ErrorIs(t, ratelimiter.All(members...).Wait(ctx), ratelimiter.ErrExceedsWait, "the hasty one's token comes in two minutes")
		timer.Stop()
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := begun(func() error { return ratelimiter.All(hasty.For("u"), patient.For("u"), slow.For("u")).Wait(ctx) })
	willHold(t, slow.For("u"), 9)
	cancel()
	require.ErrorIs(t, outcome(t, ended), context.Canceled, "a request waits for as long as it needs of those that say nothing")
	require.NoError(t, owes.Cancel(t.Context()))
}
