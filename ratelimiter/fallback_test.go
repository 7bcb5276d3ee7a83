package ratelimiter_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

const (
	shortly = 40 * time.Millisecond // after which a fallback decides
	roomily = time.Second           // in which a busy machine answers, too
	never   = 30 * time.Second      // longer than any of these tests lasts
)

// opens takes tokens until the fallback decides at once, in a black hole.
func opens(t testing.TB, b *ratelimiter.Bucket) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		began := time.Now()
		d, err := b.Take(t.Context(), 1)
		return err == nil && d.Fallback && time.Since(began) < shortly
	}, soon, time.Millisecond)
}

// fallingBack are two handles on one limiter behind a proxy: one that falls
// back soon, one that hardly does.
func fallingBack(t testing.TB, r ratelimiter.Rate, f ratelimiter.Fallback, opts ...rueidisson.Option) (soonest, latest *ratelimiter.Limiter, p *redistest.Proxy) {
	t.Helper()
	c, p := proxied(t, opts...)
	soonest = limited(t, c, r, ratelimiter.WithFallback(shortly, f))
	return soonest, c.RateLimiter(soonest.Name(), ratelimiter.WithFallback(never, f)), p
}

// impatient makes a client give a silent server up after a second.
func impatient() rueidisson.Option { return rueidisson.WithWatchdogTimeout(6 * time.Second) }

// breaks takes tokens until the fallback decides.
func breaks(t testing.TB, b *ratelimiter.Bucket) {
	t.Helper()
	require.Eventually(t, func() bool {
		d, err := b.Take(t.Context(), 1)
		return err == nil && d.Fallback
	}, soon, time.Millisecond)
}

func TestAServerThatAnswersIsNotFallenBackFrom(t *testing.T) {
	t.Parallel()
	_, l, _ := fallingBack(t, ratelimiter.PerHour(2), ratelimiter.Open)
	assert.False(t, gets(t, &l.Bucket, 2).Fallback)
	assert.False(t, isRefused(t, &l.Bucket, 1).Fallback)
}

func TestWhatTheFallbacksDecide(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(p *redistest.Proxy){
		"in a black hole":     func(p *redistest.Proxy) { p.BlackHole() },
		"when it is refused":  func(p *redistest.Proxy) { p.Refuse(); p.CutAll() },
		"when it is too slow": func(p *redistest.Proxy) { p.Delay(time.Second, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("open", func(t *testing.T) {
				t.Parallel()
				l, _, p := fallingBack(t, ratelimiter.PerHour(1000), ratelimiter.Open, impatient())
				lose(p)
				breaks(t, &l.Bucket)
				d := gets(t, &l.Bucket, 1000)
				assert.True(t, d.Fallback)
				ok, err := l.For("a").Allow(t.Context())
				require.NoError(t, err)
				assert.True(t, ok)
			})
			t.Run("closed", func(t *testing.T) {
				t.Parallel()
				l, _, p := fallingBack(t, ratelimiter.PerHour(1000), ratelimiter.Closed, impatient())
				lose(p)
				breaks(t, &l.Bucket)
				assert.True(t, isRefused(t, &l.Bucket, 1).Fallback)
				ok, err := l.For("a").Allow(t.Context())
				require.NoError(t, err)
				assert.False(t, ok)
			})
			t.Run("local", func(t *testing.T) {
				t.Parallel()
				l, _, p := fallingBack(t, ratelimiter.PerHour(1000), ratelimiter.Local(ratelimiter.PerHour(5)), impatient())
				lose(p)
				breaks(t, l.For("another"))
				d := gets(t, &l.Bucket, 5)
				assert.Equal(t, ratelimiter.PerHour(5), d.Rate)
				assert.Zero(t, d.Remaining)
				assert.True(t, isRefused(t, &l.Bucket, 1).Fallback)
				assert.EqualValues(t, 0, gets(t, l.For("a"), 5).Remaining)
				_, err := l.Take(t.Context(), 6)
				require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)
				_, err = l.Take(t.Context(), 0)
				require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
			})
		})
	}
}

func TestAWaitHasNoFallback(t *testing.T) {
	t.Parallel()
	l, _, p := fallingBack(t, ratelimiter.PerHour(2), ratelimiter.Open, impatient())
	p.BlackHole()
	breaks(t, &l.Bucket)
	require.ErrorIs(t, l.Wait(withTimeout(t, shortly)), context.DeadlineExceeded)
	_, err := l.Reserve(withTimeout(t, shortly))
	require.Error(t, err)
	_, err = l.Charge(withTimeout(t, shortly), 1)
	require.Error(t, err)
}

func TestAReadOnlyServerIsFallenBackFrom(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][][]string{
		"READONLY":   {{"replica-serve-stale-data", "yes"}},
		"MASTERDOWN": {{"replica-serve-stale-data", "no"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			raw := s.Client(t)
			l := limited(t, open(t, s.Addr()), ratelimiter.PerHour(5), ratelimiter.WithFallback(shortly, ratelimiter.Open))
			for _, setting := range settings {
				require.NoError(t, raw.Do(t.Context(), raw.B().ConfigSet().ParameterValue().ParameterValue(setting[0], setting[1]).Build()).Error())
			}
			nobody := redistest.NewProxy(t, "127.0.0.1:1")
			_, port, _ := splitAddr(nobody.Addr())
			require.NoError(t, raw.Do(t.Context(), raw.B().Replicaof().Host("127.0.0.1").Port(port).Build()).Error())
			breaks(t, &l.Bucket)
			require.NoError(t, raw.Do(t.Context(), raw.B().Replicaof().No().One().Build()).Error())
			returns(t, &l.Bucket)
		})
	}
}

func splitAddr(addr string) (host string, port int64, err error) {
	for i := len(addr) - 1; i >= 0; i-- {
		if addr[i] == ':' {
			port, err = strconv.ParseInt(addr[i+1:], 10, 64)
			return addr[:i], port, err
		}
	}
	return addr, 0, nil
}

// returns awaits that the server decides again.
func returns(t testing.TB, b *ratelimiter.Bucket) {
	t.Helper()
	require.Eventually(t, func() bool {
		d, err := b.Take(t.Context(), 1)
		return err == nil && !d.Fallback
	}, soon, 5*time.Millisecond)
}

func TestALoadingServerIsFallenBackFrom(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, slowToLoad...)
	l := limited(t, open(t, s.Addr()), ratelimiter.PerHour(5), ratelimiter.WithFallback(shortly, ratelimiter.Closed))
	fellBack := false
	for range 20 { // it may be over before the server is asked
		loaded := reloads(t, s)
		d, err := l.Take(t.Context(), 1)
		require.NoError(t, err)
		loaded()
		if fellBack = d.Fallback; fellBack {
			break
		}
	}
	require.True(t, fellBack)
	returns(t, &l.Bucket)
}

func TestWhatTheServerSaysIsNotFallenBackFrom(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	raw, c := s.Client(t), open(t, s.Addr())
	fallback := ratelimiter.WithFallback(never, ratelimiter.Open)

	other := c.RateLimiter(redistest.Name(t), fallback)
	require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(other.Name()).FieldValue().FieldValue("a", "b").Build()).Error())
	_, err := other.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)

	bucket := limited(t, c, ratelimiter.PerHour(1), fallback)
	require.NoError(t, raw.Do(t.Context(), raw.B().Lpush().Key(unkeyed(bucket)).Element("a").Build()).Error())
	_, err = bucket.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrOtherAlgorithm)

	none := c.RateLimiter(redistest.Name(t), fallback)
	_, err = none.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrNoRate)

	large := limited(t, c, ratelimiter.PerHour(1), fallback)
	_, err = large.Take(t.Context(), 2)
	require.ErrorIs(t, err, ratelimiter.ErrExceedsBurst)

	strict := c.RateLimiter(large.Name(), fallback, ratelimiter.WithExpectedRate(ratelimiter.PerHour(2)))
	_, err = strict.Take(t.Context(), 1)
	require.ErrorIs(t, err, ratelimiter.ErrOtherRate)
}

func TestTheCallersContextIsNotFallenBackFrom(t *testing.T) {
	t.Parallel()
	_, l, p := fallingBack(t, ratelimiter.PerHour(5), ratelimiter.Open)
	gets(t, &l.Bucket, 1)
	held := p.HoldRequest(redistest.AnyScript())
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	end := begun(func() error { _, err := l.Take(ctx, 1); return err })
	held.Await(t)
	cancel(errEnough)
	err := outcome(t, end)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, errEnough)
	held.Release()
	assert.False(t, gets(t, &l.Bucket, 1).Fallback)
	_, err = l.Take(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// While the server is known to be silent, nobody waits for it.
func TestNobodyWaitsForAServerThatIsSilent(t *testing.T) {
	t.Parallel()
	soonest, latest, p := fallingBack(t, ratelimiter.PerHour(1000), ratelimiter.Open, impatient())
	returns(t, &soonest.Bucket)
	p.BlackHole()
	opens(t, &soonest.Bucket)
	const callers, exchange = 100, time.Second // impatient
	waited := 0
	for range callers {
		began := time.Now()
		require.True(t, gets(t, latest.For("a"), 1).Fallback)
		if time.Since(began) >= exchange/2 {
			waited++
		}
	}
	require.Less(t, waited, callers/2, "one asks after each rest of 50 ms to 1 s, and waits for a second")
}

// Who gives more time than an exchange takes at the most is helped, too.
func TestAServerThatIsSilentForAWholeExchangeIsFallenBackFrom(t *testing.T) {
	t.Parallel()
	_, l, p := fallingBack(t, ratelimiter.PerHour(5), ratelimiter.Open, impatient())
	gets(t, &l.Bucket, 1)
	p.BlackHole()
	d, err := l.Take(t.Context(), 1)
	require.NoError(t, err)
	require.True(t, d.Fallback)
}

// rested is a limiter whose server was lost, and may be asked again.
func rested(t *testing.T) (l *ratelimiter.Limiter, p *redistest.Proxy) {
	soonest, l, p := fallingBack(t, ratelimiter.PerHour(1000), ratelimiter.Open)
	p.BlackHole()
	opens(t, &soonest.Bucket)
	p.Restore()
	pause(t, time.Second+10*time.Millisecond) // the longest rest
	return l, p
}

func TestOneRequestAtATimeAsksWhetherTheServerIsBack(t *testing.T) {
	t.Parallel()
	l, p := rested(t)
	held := p.HoldRequest(redistest.AnyScript())
	probe := begun(func() error { _, err := l.Take(t.Context(), 1); return err })
	held.Await(t)
	for range 20 {
		assert.True(t, gets(t, &l.Bucket, 1).Fallback)
	}
	held.Release()
	require.NoError(t, outcome(t, probe))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			d, err := l.Take(t.Context(), 1)
			assert.NoError(t, err)
			assert.False(t, d.Fallback)
		})
	}
	wg.Wait()
}

// A probe whose caller leaves has found out nothing: of two requests behind it
// one asks at the most. One that asks is silent for an exchange, which is 3 s.
func TestAProbeThatIsLeftDoesNotMeanThatAllIsWell(t *testing.T) {
	t.Parallel()
	l, p := rested(t)
	held := p.HoldRequest(redistest.AnyScript())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	probe := begun(func() error { _, err := l.Take(ctx, 1); return err })
	held.Await(t)
	p.BlackHole()
	cancel()
	require.ErrorIs(t, outcome(t, probe), context.Canceled)

	ends := make(chan bool, 2)
	for _, key := range []string{"a", "b"} {
		go func() { // ends with the exchange
			d, err := l.For(key).Take(t.Context(), 1)
			ends <- err == nil && d.Fallback
		}()
	}
	select {
	case fellBack := <-ends:
		assert.True(t, fellBack)
	case <-time.After(2 * time.Second):
		assert.Fail(t, "both wait for a server that has not answered yet")
	}
	<-ends
}

func TestTheServerDecidesAgainOnceItIsBack(t *testing.T) {
	t.Parallel()
	c, p := proxied(t)
	l := limited(t, c, ratelimiter.PerHour(1_000_000), ratelimiter.WithFallback(roomily, ratelimiter.Open))
	p.Refuse()
	p.CutAll()
	breaks(t, &l.Bucket)
	p.Accept()
	returns(t, &l.Bucket)
}

// A rule that changes all the time is no server that cannot be reached.
func TestAStateOfANewerRuleIsNotFallenBackFrom(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	raw := s.Client(t)
	l := limited(t, open(t, s.Addr()), ratelimiter.PerHour(5), ratelimiter.WithFallback(never, ratelimiter.Open))
	const newer = "9000000000000000 1700000000000000 1 0"
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(unkeyed(l)).Value(newer).Build()).Error())
	d, err := l.Take(t.Context(), 1)
	assert.False(t, d.Fallback, "%v", err)
}
