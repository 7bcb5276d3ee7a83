package bucket

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
	m   Meters
	r   *Rule
	now time.Duration
}

func newMeterCase(t *testing.T, rate Rate) *meterCase {
	t.Helper()
	c := &meterCase{t: t, now: time.Hour}
	c.r = c.rule(rate, 1, 1)
	return c
}

func (c *meterCase) rule(rate Rate, generation, reset int64) *Rule {
	c.t.Helper()
	r, err := Resolve(rate)
	require.NoError(c.t, err)
	return r.Identify(generation, reset)
}

func (c *meterCase) ask(a Want) heard {
	a.Rule = c.r
	return answerOf(&c.m, meterState, a, c.now)
}

const meterState = "state"

// heard is what a meter has said.
type heard struct {
	State
	ok    bool
	taken int64
}

// answerOf is what a meter says.
func answerOf(m *Meters, state string, a Want, now time.Duration) heard {
	got, taken := m.Answer(state, a, now)
	return heard{State: got, ok: taken > 0, taken: taken}
}

func (c *meterCase) take(n int64) bool { return c.ask(Want{N: n, Kind: Take}).ok }

func TestAMeterTakesWhatIsThere(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, perSecond(2, 3))
	assert.True(t, c.take(3))
	assert.False(t, c.take(1))
	c.now += 500*time.Millisecond - time.Microsecond
	assert.False(t, c.take(1))
	c.now += time.Microsecond
	assert.True(t, c.take(1))
	a := c.ask(Want{N: 2, Kind: Take})
	assert.False(t, a.ok)
	assert.Zero(t, a.Remaining())
	assert.Equal(t, time.Second, a.Enough(2))
	assert.Equal(t, 1500*time.Millisecond, a.State.Full())
}

// A full bucket is forgotten, a blocked one is not.
func TestAMeterThatIsFullIsAbsent(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, perSecond(1))
	c.ask(Want{N: 1, Kind: Peek})
	assert.Empty(t, c.m.by)
	require.True(t, c.take(1))
	assert.Len(t, c.m.by, 1)
	c.ask(Want{N: 1, Kind: Refund})
	assert.Empty(t, c.m.by)
	c.m.SetBlock(meterState, c.r, c.now, time.Second)
	assert.False(t, c.take(1))
	assert.Len(t, c.m.by, 1)
	c.now += time.Second
	assert.True(t, c.take(1))
}

// Full buckets are dropped when there are many, whether anybody asks for them
// or not; others stay, and blocked ones keep what they have.
func TestMetersAreSwept(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, perSecond(1, 10))
	for i := range MinSweep - 1 {
		c.m.Answer(fmt.Sprint("idle", i), Want{Rule: c.r, N: 1, Kind: Take}, c.now)
	}
	answerOf(&c.m, "owing", Want{Rule: c.r, N: 10, Kind: Take}, c.now)
	c.m.SetBlock("owing", c.r, c.now, time.Minute)
	require.Len(t, c.m.by, MinSweep)
	c.now += 2 * time.Second
	c.m.Answer("new", Want{Rule: c.r, N: 1, Kind: Take}, c.now)
	assert.Len(t, c.m.by, 2)
	c.m.SetBlock("owing", c.r, c.now, time.Microsecond) // in place of the first
	c.now += time.Microsecond
	assert.False(t, answerOf(&c.m, "owing", Want{Rule: c.r, N: 3, Kind: Take}, c.now).ok, "the first block's time has not passed")
	assert.True(t, answerOf(&c.m, "owing", Want{Rule: c.r, N: 2, Kind: Take}, c.now).ok)
}

// Somebody who still has the rule from before it changed is answered by the new
// one, and does not make the bucket full a second time.
func TestAMeterDoesNotGoBackToAnOlderRule(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, perHour(10))
	require.True(t, c.take(10))
	older, newer := c.r, c.rule(perHour(5), 2, 2)
	c.r = newer // with a reset
	require.True(t, c.take(5))
	c.r = older
	assert.False(t, c.take(1))
	assert.Equal(t, newer.Rate, c.ask(Want{N: 1, Kind: Peek}).Rule.Rate)
	c.r = newer
	assert.False(t, c.take(1), "the bucket was made full twice")
}

// What was idle time by an old and slow rule is not filled by a new and fast
// one.
func TestAMetersNewRuleBeginsWhenItIsKnown(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, every(1, 24*time.Hour, []int64{100}))
	require.True(t, c.take(100))
	c.now += time.Hour
	c.r = c.rule(perSecond(10, 100), 2, 1)
	assert.False(t, c.take(1))
	c.now += time.Second
	assert.True(t, c.take(10))
	assert.False(t, c.take(1))
}

// Looking at a blocked bucket does not bind what comes until the end of the
// block, so that a shorter block may replace it; what was reserved in it does.
func TestAMetersSecondBlock(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, perSecond(1, 10))
	require.True(t, c.take(10))
	c.m.SetBlock(meterState, c.r, c.now, 100*time.Second)
	require.False(t, c.take(1))
	c.m.SetBlock(meterState, c.r, c.now, 2*time.Second)
	c.now += 3 * time.Second
	assert.False(t, c.take(4), "3 s have brought 3 tokens")
	assert.True(t, c.take(3))

	c = newMeterCase(t, perSecond(1, 10))
	require.True(t, c.take(10))
	c.m.SetBlock(meterState, c.r, c.now, 100*time.Second)
	require.True(t, c.ask(Want{N: 1, Kind: Charge, Debt: 5}).ok)
	c.m.SetBlock(meterState, c.r, c.now, 2*time.Second)
	c.now += 3 * time.Second
	assert.False(t, c.take(4), "3 s have brought 3 tokens, of which one was charged")
}

// By a clock that is slower than a µs, a wait is until that ticks.
func TestAMetersWaitByASlowClock(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, perSecond(7, 2_000_000_000_000_000))
	require.True(t, c.take(c.r.Burst))
	c.now += 900 * time.Millisecond
	a := c.ask(Want{N: 7, Kind: Reserve, Until: c.now + 100*time.Millisecond, Debt: c.r.Debt})
	require.True(t, a.ok, "they come with the second that begins in 100 ms")
	assert.Equal(t, 100*time.Millisecond, a.Delay())
}

// Years between a reservation and its end do not overflow.
func TestAMeterForgetsAnOldReservation(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, perSecond(999_983, 10))
	require.True(t, c.take(10))
	a := c.ask(Want{N: 5, Kind: Reserve, Until: Forever, Debt: 5})
	require.True(t, a.ok)
	c.now += 200 * 24 * time.Hour
	require.True(t, c.take(10))
	c.m.Cancel(Cancellation{State: meterState, Ticks: a.Rule.Ticks(5), Left: a.State}, c.now)
	assert.False(t, c.take(1), "what could be used long ago came back")
	c.now = math.MaxInt64
	assert.True(t, c.take(10))
}

// A rule that travels takes part with whole tokens, as on the server.
func TestAMeterConvertsTravellingRules(t *testing.T) {
	t.Parallel()
	c := newMeterCase(t, perMinute(10))
	stored := c.r
	require.True(t, c.take(4))
	own, err := Travelling(perMinute(7))
	require.NoError(t, err)
	c.r = own
	assert.EqualValues(t, 4*own.PerToken, c.ask(Want{N: 1, Kind: Peek}).Missing)
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
	var m Meters
	r := newMeterCase(t, perHour(1000)).r
	for i := range maxMeters + 20_000 {
		want := Want{Rule: r, N: 1, Kind: Take}
		if i%100 == 0 {
			want.N = 1000
		}
		require.True(t, answerOf(&m, Decimal(int64(i)), want, time.Duration(i)*time.Microsecond).ok)
		require.LessOrEqual(t, len(m.by), maxMeters)
	}
	require.Greater(t, len(m.by), maxMeters*3/4)
	for i := 0; i < maxMeters+20_000; i += 100 {
		_, kept := m.by[Decimal(int64(i))]
		require.True(t, kept, "an empty one is kept")
	}
	_, kept := m.by["1"]
	assert.False(t, kept, "the oldest of those that miss as much goes first")
}
