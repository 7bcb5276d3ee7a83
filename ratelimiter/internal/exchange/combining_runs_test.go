package exchange

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

func ruleOf(t testing.TB, r Rate, generation int64) *bucket.Rule {
	t.Helper()
	out, err := resolve(r)
	require.NoError(t, err)
	return out.Identify(generation, generation)
}

func batchOf(asks ...Ask) (b batch) {
	for _, a := range asks {
		b = append(b, &call{Ask: a})
	}
	return b
}

// exchangeOf is what is sent for a batch by a rule.
func exchangeOf(r *bucket.Rule, b batch, now time.Duration) *exchange {
	first := b[0].Ask
	first.Rule = r
	x := newExchange(&first)
	x.load(b, now)
	return x
}

func TestWhatGoesOutTogether(t *testing.T) {
	t.Parallel()
	r, other := ruleOf(t, PerHour(10), 1), ruleOf(t, PerHour(20), 2)
	one := func(n int64) Ask { return Ask{Want: bucket.Want{Rule: r, N: n}} }
	distinct := func(n int) (asks []Ask) {
		for i := range n {
			asks = append(asks, one(int64(i+1)))
		}
		return asks
	}
	same := func(n int, a Ask) (asks []Ask) {
		for range n {
			asks = append(asks, a)
		}
		return asks
	}
	for name, of := range map[string]struct {
		asks []Ask
		want int
	}{
		"one":                          {[]Ask{one(1)}, 1},
		"a thousand equal ones":        {same(1000, one(1)), 1000},
		"128 different ones":           {distinct(128), 128},
		"129 different ones":           {distinct(129), 128},
		"the 129th is like the 128th":  {append(distinct(128), same(5, one(128))...), 133},
		"the 129th is like the first":  {append(distinct(128), one(1)), 128},
		"another rule":                 {[]Ask{one(1), one(1), {Want: bucket.Want{Rule: other, N: 1}}, one(1)}, 2},
		"another rule, to look":        {[]Ask{one(1), {Want: bucket.Want{Rule: other, N: 1, Kind: bucket.Peek}}}, 1},
		"refunds and looks are no run": {append(append(distinct(128), same(9, Ask{Want: bucket.Want{Rule: r, N: 7, Kind: bucket.Refund}})...), same(9, Ask{Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Peek}})...), 146},
		"refunds alone":                {same(100, Ask{Want: bucket.Want{Rule: r, N: 7, Kind: bucket.Refund}}), 100},
		"a look between equal ones":    {append(distinct(127), one(128), Ask{Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Peek}}, one(128)), 130},
		"one bound of debt":            {[]Ask{one(1), {Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Charge, Debt: 5}}, one(2), {Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Reserve, Debt: 5}}}, 4},
		"two bounds of debt":           {[]Ask{one(1), {Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Charge, Debt: 5}}, one(2), {Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Charge, Debt: 6}}}, 3},
		"different kinds":              {[]Ask{one(1), {Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Charge, Debt: 5}}, {Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Reserve, Debt: 5, Until: 3}}, {Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Reserve, Debt: 5, Until: 4}}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := batchOf(of.asks...)
			got := cut(b)
			require.Equal(t, of.want, got)
			require.LessOrEqual(t, len(exchangeOf(r, b[:got], 0).runs), bucket.MaxRuns)
		})
	}
}

func TestRunsAreNeighboursThatWantTheSame(t *testing.T) {
	t.Parallel()
	r := ruleOf(t, PerHour(10), 1)
	x := exchangeOf(r, batchOf(
		Ask{Want: bucket.Want{Rule: r, N: 5}}, Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 3, Kind: bucket.Refund}}, Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Peek}},
		Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 5}}, Ask{Want: bucket.Want{Rule: r, N: 5, Kind: bucket.Charge, Debt: 9}}, Ask{Want: bucket.Want{Rule: r, N: 2, Kind: bucket.Refund}},
		Ask{Want: bucket.Want{Rule: r, N: 5, Kind: bucket.Reserve, Debt: 9, Until: Forever}}, Ask{Want: bucket.Want{Rule: r, N: 5, Kind: bucket.Reserve, Debt: 9, Until: 7 * time.Microsecond}},
	), 3*time.Microsecond)
	type seen struct {
		n, calls, wait int64
		kind           bucket.Kind
	}
	var got []seen
	for _, one := range x.runs {
		got = append(got, seen{one.N, one.calls, one.wait, one.Kind})
	}
	assert.Equal(t, []seen{
		{5, 1, 0, bucket.Take}, {1, 3, 0, bucket.Take}, {5, 1, 0, bucket.Take}, {5, 1, -1, bucket.Charge}, {5, 1, bucket.Exact - 1, bucket.Reserve}, {5, 1, 4, bucket.Reserve},
	}, got)
	assert.Equal(t, 5*r.PerToken, x.members[0].credit)
	assert.EqualValues(t, 9, x.members[0].owed)
	assert.False(t, x.lean())
	assert.True(t, exchangeOf(r, batchOf(Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 1}}), 0).lean())
	assert.False(t, exchangeOf(r, batchOf(Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Refund}}), 0).lean())
	assert.False(t, exchangeOf(r, batchOf(Ask{Want: bucket.Want{Rule: r, N: 1, Kind: bucket.Peek}}), 0).lean())
	assert.False(t, exchangeOf(r, batchOf(Ask{Want: bucket.Want{Rule: r, N: 1}, Extra: 2}), 0).lean())
}

// serve is the server: what decide.lua does to a bucket that nothing refills.
func serve(x *exchange, q int64, now int64) (after int64) {
	m := &x.members[0]
	q = max(0, q-m.credit)
	refused := false
	for i := range x.runs {
		one := &x.runs[i]
		ahead := int64(0)
		if one.Kind == bucket.Charge {
			ahead = min(m.owed, m.Debt) * m.PerToken
		} else {
			units := max(0, one.wait) / m.Unit
			ahead = min(m.owed, m.Debt) * m.PerToken
			if units < ahead/m.Gain {
				ahead = units * m.Gain
			}
		}
		one.k = min(one.calls, max(0, (m.Full+ahead-q)/m.Ticks(one.N)))
		if one.wait == ifNoneRefused && refused {
			one.k = 0
		}
		refused = refused || one.k < one.calls
		q += one.k * m.Ticks(one.N)
	}
	m.q, m.t, x.now = q, now, now
	return q
}

// 5, 1, 1 with 3 left grants the two ones: not the sum, and not what came
// first only.
func TestABatchIsDecidedAsOneByOne(t *testing.T) {
	t.Parallel()
	r := ruleOf(t, PerHour(10), 1)
	b := batchOf(Ask{Want: bucket.Want{Rule: r, N: 5}}, Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 1}})
	x := exchangeOf(r, b, 0)
	serve(x, r.Ticks(7), 0)
	x.deal(b)
	var allowed []bool
	var remaining []int64
	for _, c := range b {
		d := c.Answer.decision(c.Ask.N)
		allowed, remaining = append(allowed, d.Allowed), append(remaining, d.Remaining)
	}
	assert.Equal(t, []bool{false, true, true}, allowed)
	assert.Equal(t, []int64{3, 2, 1}, remaining)
	assert.Equal(t, 2*r.After(r.PerToken), b[0].Answer.decision(5).RetryAfter)
}

// Whatever is in a batch, each call has the answer that it would have had
// alone, in the order of arrival, when what is refunded came first.
func TestRandomBatchesAreDecidedAsOneByOne(t *testing.T) {
	t.Parallel()
	r := ruleOf(t, PerHour(20), 1)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		q := r.Ticks(rnd.Int64N(30))
		b := randomBatch(rnd, r)
		b = b[:cut(b)]
		x := exchangeOf(r, b, 0)
		after := serve(x, q, 0)
		x.deal(b)
		check := max(0, q-x.members[0].credit)
		for i, c := range b {
			want := answerOne(r, c.Ask, &check)
			if c.Ask.Counts() {
				require.Equal(t, want, c.Answer.Taken, "call %d of %d: %+v", i, len(b), c.Ask)
			}
			require.Equal(t, want > 0, c.Answer.OK, "call %d of %d: %+v", i, len(b), c.Ask)
			require.Equal(t, check, c.Answer.Missing, "call %d of %d: %+v", i, len(b), c.Ask)
		}
		require.Equal(t, after, check, "the last call knows the bucket as it was left")
	}
}

func randomBatch(rnd *rand.Rand, r *bucket.Rule) batch {
	var asks []Ask
	for range 1 + rnd.IntN(50) {
		a := Ask{Want: bucket.Want{Rule: r, N: 1 + rnd.Int64N(4), Kind: bucket.Kind(rnd.IntN(5))}}
		if a.Kind == bucket.Reserve {
			a.Until = time.Duration(rnd.IntN(3)) * 3 * time.Minute
		}
		if a.Kind == bucket.Take && rnd.IntN(2) == 0 {
			a.N, a.UpTo = 1, 1+rnd.Int64N(9)
		}
		if a.Kind == bucket.Reserve || a.Kind == bucket.Charge {
			a.Debt = 8
		}
		for range 1 + rnd.IntN(3) {
			asks = append(asks, a)
		}
	}
	return batchOf(asks...)
}

// answerOne is one call alone, of which q is the bucket.
func answerOne(r *bucket.Rule, a Ask, q *int64) int64 {
	alone := exchangeOf(r, batchOf(a), 0)
	switch a.Kind {
	case bucket.Refund:
		return 1
	case bucket.Peek:
		if *q+r.Ticks(a.N) > r.Full {
			return 0
		}
		return 1
	case bucket.Reserve, bucket.Charge:
		alone.members[0].owed = a.Debt
	}
	*q = serve(alone, *q, 0)
	return alone.runs[0].k
}

// An ask for up to some is so many of one token each, also beside those.
func TestUpToSomeIsARunOfSingleTokens(t *testing.T) {
	t.Parallel()
	r := ruleOf(t, PerHour(10), 1)
	b := batchOf(Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 1, UpTo: 4}}, Ask{Want: bucket.Want{Rule: r, N: 1, UpTo: 9}}, Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 1, UpTo: 2}})
	require.Equal(t, len(b), cut(b))
	x := exchangeOf(r, b, 0)
	require.Len(t, x.runs, 1)
	require.True(t, x.lean())
	serve(x, r.Ticks(1), 0)
	x.deal(b)
	var taken, left []int64
	for _, c := range b {
		taken, left = append(taken, c.Answer.Taken), append(left, c.Answer.decision(1).Remaining)
		assert.Equal(t, c.Answer.Taken > 0, c.Answer.OK)
	}
	assert.Equal(t, []int64{1, 4, 4, 0, 0}, taken)
	assert.Equal(t, []int64{8, 4, 0, 0, 0}, left)
}

// Whatever they want together, it is a number that Lua can hold.
func TestMoreThanAnyBucketHoldsIsARunOfItsOwn(t *testing.T) {
	t.Parallel()
	r := ruleOf(t, PerHour(10), 1)
	b := batchOf(Ask{Want: bucket.Want{Rule: r, N: 1, UpTo: (bucket.Exact - 1)}}, Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 1, UpTo: (bucket.Exact - 1)}})
	x := exchangeOf(r, b, 0)
	for i := range x.runs {
		assert.Less(t, x.runs[i].calls, int64(bucket.Exact))
	}
	serve(x, 0, 0)
	x.deal(b)
	assert.Equal(t, []int64{10, 0, 0}, []int64{b[0].Answer.Taken, b[1].Answer.Taken, b[2].Answer.Taken})
}

// What is taken along beforehand comes last, and to one call only.
func TestSpareTokensComeAfterEverybody(t *testing.T) {
	t.Parallel()
	r := ruleOf(t, PerHour(10), 1)
	b := batchOf(Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 2}, Extra: 6}, Ask{Want: bucket.Want{Rule: r, N: 3}, Extra: 6})
	x := exchangeOf(r, b, 0)
	require.EqualValues(t, 10, serve(x, 0, 0)/r.PerToken)
	x.deal(b)
	extras, granted := []int64{}, int64(0)
	for _, c := range b {
		require.True(t, c.Answer.OK)
		extras, granted = append(extras, c.Answer.Extra), granted+c.Ask.N+c.Answer.Extra
	}
	assert.Equal(t, []int64{0, 4, 0}, extras)
	assert.EqualValues(t, 10, granted)
	assert.EqualValues(t, 6*r.PerToken, b[2].Answer.Missing, "of the three calls, without what came along")
}

// What goes out together is about the same buckets, whatever they are called.
func TestRequestsOfOtherBucketsDoNotGoOutTogether(t *testing.T) {
	t.Parallel()
	r := ruleOf(t, PerHour(10), 1)
	about := func(states ...string) Ask {
		q := Ask{Want: bucket.Want{Rule: r, N: 1}, State: states[0]}
		for _, state := range states {
			q.All = append(q.All, Part{state: state, Rule: r, N: 1})
		}
		return q
	}
	one := about("a\x00b", "c")
	assert.Equal(t, 2, cut(batchOf(one, about("a\x00b", "c"))))
	assert.Equal(t, 1, cut(batchOf(one, about("a", "b\x00c"))), "they stand in one line")
	assert.Equal(t, 1, cut(batchOf(one, Ask{Want: bucket.Want{Rule: r, N: 1}, State: "a\x00b\x00c"})))
}

// Requests of several sizes about several buckets are runs of one exchange.
func TestRunsOfSeveralBuckets(t *testing.T) {
	t.Parallel()
	r, s := ruleOf(t, PerHour(10), 1), ruleOf(t, PerHour(1000), 2)
	want := func(n, m int64) Ask {
		return Ask{Want: bucket.Want{Rule: r, N: n}, All: []Part{{state: "a", Rule: r, N: n}, {state: "b", Rule: s, N: m}}}
	}
	b := batchOf(want(1, 300), want(1, 300), want(1, 500), want(3, 500), want(1, 100))
	require.Equal(t, 5, cut(b))
	x := newExchange(&b[0].Ask)
	x.load(b, 0)
	require.Len(t, x.runs, 4)
	x.now, x.members[0].q, x.members[1].q = 7, r.Ticks(4), s.Ticks(900)
	for i, k := range []int64{2, 0, 0, 1} {
		x.runs[i].k = k
	}
	x.members[0].q, x.members[1].q = r.Ticks(1+3), s.Ticks(200+700)
	x.deal(b)
	for i, of := range []struct {
		ok   bool
		left [2]int64
	}{
		{true, [2]int64{8, 500}}, {true, [2]int64{7, 200}}, {false, [2]int64{7, 200}}, {false, [2]int64{7, 200}}, {true, [2]int64{6, 100}},
	} {
		a := b[i].Answer
		assert.Equal(t, of.ok, a.OK, "call %d", i)
		assert.Equal(t, of.left, [2]int64{a.Of(0).Remaining(), a.Of(1).Remaining()}, "call %d", i)
	}
}
