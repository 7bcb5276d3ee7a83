package exchange

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// bucketCase is one bucket on a clock that the test moves.
type bucketCase struct {
	t   *testing.T
	l   *lab
	key string
	r   *bucket.Rule
	now int64

	last reply
}

const caseBegin = 1_700_000_000_000_000

func newCase(t *testing.T, rate Rate) *bucketCase {
	t.Helper()
	c := &bucketCase{t: t, l: newLab(t), key: redistest.Name(t), now: caseBegin}
	c.set(rate)
	return c
}

// set is a rule that was set just now.
func (c *bucketCase) set(rate Rate) *bucket.Rule {
	c.t.Helper()
	r, err := resolve(rate)
	require.NoError(c.t, err)
	c.r = r.Identify(c.now, caseBegin)
	return c.r
}

func (c *bucketCase) pass(d time.Duration) { c.now += bucket.Micros(d) }

func (c *bucketCase) run(r request) reply {
	c.t.Helper()
	r.key = c.key
	c.last = c.l.send(c.t, []int64{c.now}, []request{r})[0]
	return c.last
}

// decide asks decide.lua.
func (c *bucketCase) decide(a Ask) Answer {
	c.t.Helper()
	a.Rule = c.r
	b := batch{{Ask: a}}
	x := exchangeOf(c.r, b, 0)
	defer x.free()
	fill(c.t, x, c.run(request{script: decideScript, args: decideArgs(x)}).numbers)
	x.deal(b)
	return b[0].Answer
}

// fill is what core.decide does with a reply.
func fill(t testing.TB, x *exchange, numbers []int64) {
	t.Helper()
	require.Len(t, numbers, 4+len(x.runs))
	x.read(numbers)
}

func (c *bucketCase) take(n int64) Answer {
	return c.decide(Ask{Want: bucket.Want{N: n, Kind: bucket.Take}})
}

func (c *bucketCase) reserve(n int64, within time.Duration) Answer {
	return c.decide(Ask{Want: bucket.Want{N: n, Kind: bucket.Reserve, Until: within, Debt: c.r.Debt}})
}

func (c *bucketCase) charge(n int64) Answer {
	return c.decide(Ask{Want: bucket.Want{N: n, Kind: bucket.Charge, Debt: c.r.Debt}})
}

func (c *bucketCase) block(d time.Duration) {
	c.run(request{script: blockScript, args: []string{c.r.Texts.Generation, bucket.Decimal(bucket.Micros(d))}})
}

// lean asks take.lua.
func (c *bucketCase) lean(n int64) reply {
	return c.run(request{script: takeScript, args: []string{equal(c.r, n, 1)}})
}

// One token of such a rule comes in less time than the rule's clock can show.
func TestATakeByASlowClockIsWritten(t *testing.T) {
	t.Parallel()
	c := newCase(t, PerSecond(7).WithBurst(2_000_000_000_000_000))
	require.EqualValues(t, 1_000_000, c.r.Unit)
	c.pass(870 * time.Millisecond)
	assert.True(t, c.take(1).OK)
}

// The key stays as long as the rule's clock shows that something is missing.
func TestASlowClocksKeyStaysUntilTheBucketIsFull(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		after, full time.Duration
		write       func(*bucketCase)
	}{
		"take":         {0, 2 * time.Second, func(c *bucketCase) { c.lean(10) }},
		"take late":    {900 * time.Millisecond, 2 * time.Second, func(c *bucketCase) { c.lean(10) }},
		"decide":       {0, 2 * time.Second, func(c *bucketCase) { c.take(10) }},
		"decide late":  {900 * time.Millisecond, 2 * time.Second, func(c *bucketCase) { c.take(10) }},
		"cancel early": {0, time.Second, cancelMost},
		"cancel late":  {900 * time.Millisecond, time.Second, cancelMost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCase(t, PerSecond(7).WithBurst(2_000_000_000_000_000))
			c.pass(one.after)
			one.write(c)
			require.NotEmpty(t, c.last.state)
			assert.GreaterOrEqual(t, dueOf(t, c.last)+1, (caseBegin+bucket.Micros(one.full))/1000, "it goes before it is full")
		})
	}
}

// cancelMost leaves two ticks missing.
func cancelMost(c *bucketCase) {
	c.take(2)
	a := c.reserve(c.r.Burst, Forever)
	c.cancel(a, c.r.Burst)
}

func dueOf(t *testing.T, got reply) (due int64) {
	t.Helper()
	for _, r := range got.due {
		due = 10*due + int64(r-'0')
	}
	require.NotZero(t, due)
	return due
}

func (c *bucketCase) cancel(a Answer, n int64) reply {
	s := c.r.Texts
	return c.run(request{script: cancelScript, args: []string{
		s.Generation, s.Gain, s.PerToken, s.Full, s.Unit,
		bucket.Decimal(c.r.Ticks(n)), bucket.Decimal(max(0, a.Missing-c.r.Full)), bucket.Decimal(a.AsOf), "0",
	}})
}

// After a clock was set back by up to a second, tokens are counted from where
// it was: a deadline is kept all the same, and tokens that are there are there.
func TestAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	c := newCase(t, PerSecond(10).WithBurst(1))
	require.True(t, c.take(1).OK)
	c.pass(-900 * time.Millisecond)
	a := c.reserve(1, 500*time.Millisecond) // it comes in 900 ms + 100 ms
	assert.False(t, a.OK, "a wait that outlasts its deadline: %v", a.Delay())
	assert.Equal(t, time.Second, a.decision(1).RetryAfter)

	c = newCase(t, PerSecond(10).WithBurst(5))
	require.True(t, c.take(1).OK)
	c.pass(-900 * time.Millisecond)
	a = c.reserve(1, 0)
	assert.True(t, a.OK)
	assert.Zero(t, a.Delay(), "the token is there")
	assert.EqualValues(t, 3, a.decision(1).Remaining)
}

// A rule's clock that is slower than a µs ticks at its own times, not a whole
// unit after the question.
func TestAWaitByASlowClockIsAsLongAsItHasToBe(t *testing.T) {
	t.Parallel()
	c := newCase(t, PerSecond(7).WithBurst(2_000_000_000_000_000))
	require.True(t, c.take(c.r.Burst).OK)
	c.pass(900 * time.Millisecond)
	a := c.reserve(7, 100*time.Millisecond)
	require.True(t, a.OK, "they come with the second that begins in 100 ms")
	assert.Equal(t, 100*time.Millisecond, a.Delay())

	got := c.lean(1)
	require.Len(t, got.numbers, 4)
	assert.Equal(t, c.now, got.numbers[2], "the server's time, not that of the rule's clock")
}

// What was reserved in a block comes when that ends. A shorter block behind it
// does not make those tokens twice.
func TestASecondBlockMakesNoTokens(t *testing.T) {
	t.Parallel()
	c := newCase(t, PerSecond(1).WithBurst(10))
	require.True(t, c.take(10).OK)
	c.block(100 * time.Second)
	require.True(t, c.charge(1).OK) // the bucket as of the block's end: 1 is missing
	c.block(2 * time.Second)
	c.pass(3 * time.Second)
	assert.LessOrEqual(t, c.take(1).decision(1).Remaining, int64(2), "3 s have brought 3 tokens, of which one was charged")
	assert.False(t, c.take(4).OK)
}

// A block of a full bucket leaves no fraction of a unit in its state.
func TestABlockByASlowClockLeavesWholeNumbers(t *testing.T) {
	t.Parallel()
	c := newCase(t, PerSecond(7).WithBurst(2_000_000_000_000_000))
	c.pass(500 * time.Millisecond)
	c.block(200 * time.Millisecond)
	c.pass(200*time.Millisecond + 500*time.Microsecond) // over, but the key is still there
	a := c.take(1)
	require.True(t, a.OK)
	assert.Zero(t, a.AsOf%c.r.Unit, "as of %d", a.AsOf)
}

// A request that was checked against an older rule may be for more than the
// bucket holds now. No wait grants that.
func TestNoReservationOfMoreThanTheBurst(t *testing.T) {
	t.Parallel()
	c := newCase(t, PerSecond(1).WithBurst(5))
	assert.False(t, c.reserve(6, Forever).OK)
	assert.True(t, c.charge(6).OK, "a charge is for what was used already")
}

// A debt that is as large as it can be is still counted exactly.
func TestTheLargestDebt(t *testing.T) {
	t.Parallel()
	c := newCase(t, Every(7, 1_000_000_007).WithBurst(4_000_000))
	require.True(t, c.charge(c.r.Burst+c.r.Debt).OK)
	require.False(t, c.charge(1).OK)
	a := c.take(1)
	assert.Equal(t, (c.r.Burst+c.r.Debt)*c.r.PerToken, a.Missing)
	c.pass(time.Microsecond)
	assert.Equal(t, (c.r.Burst+c.r.Debt)*c.r.PerToken-c.r.Gain, c.take(1).Missing)
}

// Two rules that travel convert each other's states in whole tokens; the stored
// one does so, too, and never asks for a rule to be read again.
func TestTravellingRulesShareABucket(t *testing.T) {
	t.Parallel()
	c := newCase(t, PerSecond(2).WithBurst(10))
	stored := c.r
	require.True(t, c.take(4).OK)
	c.pass(200 * time.Millisecond) // 3.6 are missing
	own, err := travelling(PerMinute(7))
	require.NoError(t, err)
	c.r = own
	c.pass(-200 * time.Millisecond)
	assert.EqualValues(t, 4*own.PerToken, c.decide(Ask{Want: bucket.Want{N: 1, Kind: bucket.Peek}}).Missing)
	assert.True(t, c.take(3).OK)
	assert.False(t, c.take(1).OK)
	c.r = stored
	a := c.take(1)
	assert.True(t, a.OK)
	assert.EqualValues(t, 8*stored.PerToken, a.Missing)
}

// takes asks as a client does: the lean script, and where that says nothing the
// general one.
func (c *bucketCase) takes(n int64) bool {
	c.t.Helper()
	got := c.lean(n)
	switch {
	case got.text == "nil":
		return c.take(n).OK
	case got.numbers == nil: // the state
		return true
	}
	return got.numbers[3] == 1
}

// A clock that was set back costs what it goes back by once, in refill, and does
// not stop a bucket until it has caught up.
func TestABucketFillsOnAfterAClockThatWentBack(t *testing.T) {
	t.Parallel()
	for _, back := range []time.Duration{1100 * time.Millisecond, 12 * time.Second, time.Hour, 10_000 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			t.Parallel()
			c := newCase(t, PerSecond(100).WithBurst(10))
			require.True(t, c.takes(10))
			c.pass(-back)
			granted := 0
			for range 300 {
				for c.takes(1) {
					granted++
				}
				c.pass(10 * time.Millisecond)
			}
			assert.InDelta(t, 300, granted, 1, "in three seconds of 100/s")
		})
	}
}

// Who waits was told when, by a bucket of the future. If the clock goes back once
// more, the time until then does not refill the bucket as well.
func TestAClockThatGoesBackTwiceGrantsNothingTwice(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		taken, reserved int64
		block           time.Duration
	}{
		"in debt": {10, 10, 0},
		"blocked": {1, 9, 800 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCase(t, PerSecond(10))
			require.True(t, c.takes(one.taken))
			c.pass(-900 * time.Millisecond)
			if one.block > 0 {
				c.block(one.block)
			}
			a := c.reserve(one.reserved, Forever)
			require.True(t, a.OK)
			c.pass(-200 * time.Millisecond)
			require.False(t, c.takes(10), "moves the bucket to the clock")
			c.pass(a.Delay() + 200*time.Millisecond)
			assert.False(t, c.takes(10+2-one.reserved+1), "more than the burst and 200 ms within 200 ms")
		})
	}
}
