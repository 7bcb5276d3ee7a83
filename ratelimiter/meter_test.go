package ratelimiter

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// meterCase is one bucket of a process on a clock that the test moves.
type meterCase struct {
	t   *testing.T
	m   meters
	r   *rule
	now time.Duration
}

func newMeterCase(t *testing.T, rate Rate) *meterCase {
	t.Helper()
	c := &meterCase{t: t, now: time.Hour}
	c.r = c.rule(rate, 1, 1)
	return c
}

func (c *meterCase) rule(rate Rate, generation, reset int64) *rule {
	c.t.Helper()
	r, err := resolve(rate)
	require.NoError(c.t, err)
	return r.identify(generation, reset)
}

func (c *meterCase) ask(a ask) answer {
	a.r = c.r
	return c.m.answer(meterState, a, c.now)
}

func (c *meterCase) take(n int64) bool { return c.ask(ask{n: n, kind: take}).ok }

func TestAMeterTakesWhatIsThere(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, PerSecond(2).WithBurst(3))
	assert.True(t, c.take(3))
	assert.False(t, c.take(1))
	c.now += 500*time.Millisecond - time.Microsecond
	assert.False(t, c.take(1))
	c.now += time.Microsecond
	assert.True(t, c.take(1))
	assert.Equal(t, Decision{Limit: 3, Rate: c.r.Rate, RetryAfter: time.Second, ResetAfter: 1500 * time.Millisecond}, c.ask(ask{n: 2, kind: take}).decision(2))
}

// A full bucket is forgotten, a blocked one is not.
func TestAMeterThatIsFullIsAbsent(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, PerSecond(1))
	c.ask(ask{n: 1, kind: peek})
	assert.Empty(t, c.m.by)
	require.True(t, c.take(1))
	assert.Len(t, c.m.by, 1)
	c.ask(ask{n: 1, kind: refund})
	assert.Empty(t, c.m.by)
	c.m.setBlock(meterState, c.r, c.now, time.Second)
	assert.False(t, c.take(1))
	assert.Len(t, c.m.by, 1)
	c.now += time.Second
	assert.True(t, c.take(1))
}

// Full buckets are dropped when there are many, whether anybody asks for them
// or not; others stay, and blocked ones keep what they have.
func TestMetersAreSwept(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, PerSecond(1).WithBurst(10))
	for i := range minSweep - 1 {
		c.m.answer(fmt.Sprint("idle", i), ask{r: c.r, n: 1, kind: take}, c.now)
	}
	c.m.answer("owing", ask{r: c.r, n: 10, kind: take}, c.now)
	c.m.setBlock("owing", c.r, c.now, time.Minute)
	require.Len(t, c.m.by, minSweep)
	c.now += 2 * time.Second
	c.m.answer("new", ask{r: c.r, n: 1, kind: take}, c.now)
	assert.Len(t, c.m.by, 2)
	c.m.setBlock("owing", c.r, c.now, time.Microsecond) // in place of the first
	c.now += time.Microsecond
	assert.False(t, c.m.answer("owing", ask{r: c.r, n: 3, kind: take}, c.now).ok, "the first block's time has not passed")
	assert.True(t, c.m.answer("owing", ask{r: c.r, n: 2, kind: take}, c.now).ok)
}

// Somebody who still has the rule from before it changed is answered by the new
// one, and does not make the bucket full a second time.
func TestAMeterDoesNotGoBackToAnOlderRule(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, PerHour(10))
	require.True(t, c.take(10))
	older, newer := c.r, c.rule(PerHour(5), 2, 2)
	c.r = newer // with a reset
	require.True(t, c.take(5))
	c.r = older
	assert.False(t, c.take(1))
	assert.Equal(t, newer.Rate, c.ask(ask{n: 1, kind: peek}).r.Rate)
	c.r = newer
	assert.False(t, c.take(1), "the bucket was made full twice")
}

// What was idle time by an old and slow rule is not filled by a new and fast
// one.
func TestAMetersNewRuleBeginsWhenItIsKnown(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, Every(1, 24*time.Hour).WithBurst(100))
	require.True(t, c.take(100))
	c.now += time.Hour
	c.r = c.rule(PerSecond(10).WithBurst(100), 2, 1)
	assert.False(t, c.take(1))
	c.now += time.Second
	assert.True(t, c.take(10))
	assert.False(t, c.take(1))
}

// Looking at a blocked bucket does not bind what comes until the end of the
// block, so that a shorter block may replace it; what was reserved in it does.
func TestAMetersSecondBlock(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, PerSecond(1).WithBurst(10))
	require.True(t, c.take(10))
	c.m.setBlock(meterState, c.r, c.now, 100*time.Second)
	require.False(t, c.take(1))
	c.m.setBlock(meterState, c.r, c.now, 2*time.Second)
	c.now += 3 * time.Second
	assert.False(t, c.take(4), "3 s have brought 3 tokens")
	assert.True(t, c.take(3))

	c = newMeterCase(t, PerSecond(1).WithBurst(10))
	require.True(t, c.take(10))
	c.m.setBlock(meterState, c.r, c.now, 100*time.Second)
	require.True(t, c.ask(ask{n: 1, kind: charge, debt: 5}).ok)
	c.m.setBlock(meterState, c.r, c.now, 2*time.Second)
	c.now += 3 * time.Second
	assert.False(t, c.take(4), "3 s have brought 3 tokens, of which one was charged")
}

// By a clock that is slower than a µs, a wait is until that ticks.
func TestAMetersWaitByASlowClock(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, PerSecond(7).WithBurst(2_000_000_000_000_000))
	require.True(t, c.take(c.r.Burst))
	c.now += 900 * time.Millisecond
	a := c.ask(ask{n: 7, kind: reserve, until: c.now + 100*time.Millisecond, debt: c.r.debt})
	require.True(t, a.ok, "they come with the second that begins in 100 ms")
	assert.Equal(t, 100*time.Millisecond, a.delay())
}

// Years between a reservation and its end do not overflow.
func TestAMeterForgetsAnOldReservation(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, PerSecond(999_983).WithBurst(10))
	require.True(t, c.take(10))
	a := c.ask(ask{n: 5, kind: reserve, until: forever, debt: 5})
	require.True(t, a.ok)
	c.now += 200 * 24 * time.Hour
	require.True(t, c.take(10))
	c.m.cancel(cancellation{state: meterState, ticks: a.r.ticks(5), a: a.bucket}, c.now)
	assert.False(t, c.take(1), "what could be used long ago came back")
	c.now = math.MaxInt64
	assert.True(t, c.take(10))
}

// A rule that travels takes part with whole tokens, as on the server.
func TestAMeterConvertsTravellingRules(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, PerMinute(10))
	stored := c.r
	require.True(t, c.take(4))
	own, err := travelling(PerMinute(7))
	require.NoError(t, err)
	c.r = own
	assert.EqualValues(t, 4*own.perToken, c.ask(ask{n: 1, kind: peek}).q)
	assert.True(t, c.take(3))
	assert.False(t, c.take(1))
	c.r = stored
	assert.True(t, c.take(3))
	assert.False(t, c.take(1))
}

// Who uses a key once and never again leaves it behind: there is a bound, and what
// is dropped for it is what is nearest to full.
func TestMetersAreBounded(t *testing.T) {
	t.Parallel()
	var m meters
	r := ruleOf(t, PerHour(1000), 1)
	for i := range maxMeters + 20_000 {
		want := ask{r: r, n: 1, kind: take}
		if i%100 == 0 {
			want.n = 1000
		}
		require.True(t, m.answer(decimal(int64(i)), want, time.Duration(i)*time.Microsecond).ok)
		require.LessOrEqual(t, len(m.by), maxMeters)
	}
	require.Greater(t, len(m.by), maxMeters*3/4)
	for i := 0; i < maxMeters+20_000; i += 100 {
		_, kept := m.by[decimal(int64(i))]
		require.True(t, kept, "an empty one is kept")
	}
	_, kept := m.by["1"]
	assert.False(t, kept, "the oldest of those that miss as much goes first")
}
