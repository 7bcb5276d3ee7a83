package sortedset

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestEachOperation answers, and leaves in Redis, what it should.
func TestEachOperation(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, eachOperation)
}

func eachOperation(t *testing.T, raw rueidis.Client) {
	e := enginetest.On(t, raw)
	for what, one := range effects {
		k := kitOn(e, fresh(t, raw))
		old(t, raw, k.name)
		answer, err := one.do(t.Context(), k)
		if one.lacks && miniredis(t) {
			require.ErrorContains(t, err, "unsupported operation", what)
			continue
		}
		require.NoError(t, err, what)
		require.Equal(t, one.answer, answer, what)
		require.Equal(t, one.left, state(t, raw, k.name), what)
	}
	k := kitOn(e, fresh(t, raw))
	old(t, raw, k.name)
	for what, one := range reads {
		answer, err := one.do(t.Context(), k)
		require.NoError(t, err, what)
		if one.answer != nil {
			require.Equal(t, one.answer, answer, what)
		}
	}
	require.Equal(t, before, state(t, raw, k.name), "reads write nothing")
	empty := kitOn(e, fresh(t, raw))
	for what, one := range reads {
		_, err := one.do(t.Context(), empty)
		require.ErrorIs(t, err, one.absent, what)
	}
	_, there, err := empty.s.Score(t.Context(), "a")
	require.NoError(t, err)
	require.False(t, there)
	_, there, err = empty.s.Rank(t.Context(), "a")
	require.NoError(t, err)
	require.False(t, there)
	scores, err := k.s.Scores(t.Context(), "b", "x")
	require.NoError(t, err)
	require.Equal(t, 2.0, scores[0])
	require.True(t, math.IsNaN(scores[1]))
	popped, err := empty.s.PopMax(t.Context(), 3)
	require.NoError(t, err)
	require.Empty(t, popped)
}

// TestScoresKeepAllDigits in every form that a float64 has.
func TestScoresKeepAllDigits(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		s := kitOn(enginetest.On(t, raw), fresh(t, raw)).s
		scores := []float64{math.MaxFloat64, -math.MaxFloat64, 0.1, -0.1, 1.0 / 3, 1 << 53, 1<<53 - 1, 1e21, 5e-9, 1e17 + 16, 0}
		if !miniredis(t) { // which has digits for few of these
			scores = append(scores, math.SmallestNonzeroFloat64, 1e-300)
		}
		for i, score := range scores {
			name := strconv.Itoa(i)
			_, err := s.Add(t.Context(), score, name)
			require.NoError(t, err)
			got, there, err := s.Score(t.Context(), name)
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, score, got)
			if miniredis(t) {
				continue
			}
			for e, err := range s.ByScore(t.Context(), Between(score, score)) {
				require.NoError(t, err)
				require.Equal(t, score, e.Score)
			}
			for _, pop := range []func() ([]Entry[string], error){
				func() ([]Entry[string], error) { return s.PopMin(t.Context(), 1) },
				func() ([]Entry[string], error) { return s.PopMax(t.Context(), 2) },
			} {
				popped, err := pop()
				require.NoError(t, err)
				require.Equal(t, []Entry[string]{{name, score}}, popped)
				_, err = s.Add(t.Context(), score, name)
				require.NoError(t, err)
			}
			_, err = s.Delete(t.Context())
			require.NoError(t, err)
		}
	})
	text, err := scoreText(math.Copysign(0, -1))
	require.NoError(t, err)
	require.Equal(t, "0", text)
}

// TestNoScoreBecomesInfinite: Java cannot read a set that has one.
func TestNoScoreBecomesInfinite(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := kitOn(enginetest.On(t, raw), fresh(t, raw)).s
	_, err := s.Add(t.Context(), math.MaxFloat64, "most")
	require.NoError(t, err)
	_, err = s.Add(t.Context(), -math.MaxFloat64, "least")
	require.NoError(t, err)
	for _, delta := range []float64{mostHarmless, math.Nextafter(mostHarmless, math.Inf(1)), 1e300, math.MaxFloat64} {
		for member, sign := range map[string]float64{"most": 1, "least": -1} {
			score, err := s.AddScore(t.Context(), sign*delta, member)
			want := sign*math.MaxFloat64 + sign*delta
			if math.IsInf(want, 0) {
				require.ErrorIs(t, err, ErrInvalidArgument)
				score, _, err = s.Score(t.Context(), member)
				want = sign * math.MaxFloat64
			}
			require.NoError(t, err)
			require.Equal(t, want, score, "%v", delta)
		}
	}
	redistest.Do(t, raw, "ZADD", s.Name(), "-inf", "low", "+inf", "high", "+inf", "higher")
	text, err := collect(s.Range(t.Context(), 0, -1, WithDescending()))
	require.NoError(t, err, "another client may have written one")
	require.Equal(t, "higher=+Inf high=+Inf most=1.7976931348623157e+308 least=-1.7976931348623157e+308 low=-Inf", strings.ReplaceAll(text, "high=+Inf higher", "?"))
	_, err = s.AddScore(t.Context(), 1e300, "high")
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// numbered adds members whose scores are their numbers, divided by each.
func numbered(t *testing.T, s *Set[string], n, each int) (want []string) {
	t.Helper()
	entries := make([]Entry[string], n)
	for i := range entries {
		entries[i] = Entry[string]{fmt.Sprintf("%06d", i), float64(i / each)}
		want = append(want, fmt.Sprintf("%06d=%d", i, i/each))
	}
	added, err := s.AddMany(t.Context(), entries...)
	require.NoError(t, err)
	require.EqualValues(t, n, added)
	return want
}

// TestRanges compares pages of several walks with slices.
func TestRanges(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		s := kitOn(enginetest.On(t, raw), fresh(t, raw)).s
		const n = 2500 // more than a page
		up := numbered(t, s, n, 3)
		down := slices.Clone(up)
		slices.Reverse(down)
		is := func(want []string, opts ...RangeOption) func(from, through int64) {
			return func(from, through int64) {
				t.Helper()
				got, err := collect(s.Range(t.Context(), from, through, opts...))
				require.NoError(t, err)
				require.Equal(t, strings.Join(want, " "), got)
			}
		}
		is(up)(0, -1)
		is(up[5:8])(5, 7)
		is(up[n-3:])(-3, -1)
		is(up[:n-2])(0, -3)
		is(nil)(7, 6)
		is(nil)(n, n+5)
		is(up[n-2:])(n-2, n+5)
		is(up)(-n-5, n+5)
		is(nil)(0, -n-5)
		is(down[1:2400], WithDescending())(1, 2399)
		is(down[:7], WithDescending(), WithLimit(7))(0, -1)
		is(up[:2100], WithLimit(2100))(0, -1)
		scores := func(want []string, in Interval, opts ...RangeOption) {
			t.Helper()
			got, err := collect(s.ByScore(t.Context(), in, opts...))
			require.NoError(t, err)
			require.Equal(t, strings.Join(want, " "), got)
			if len(opts) == 0 {
				count, err := s.Count(t.Context(), in)
				require.NoError(t, err)
				require.EqualValues(t, len(want), count)
			}
		}
		scores(up[30:2403], Between(10, 800))
		scores(up[33:2403], Interval{Min: 10, Max: 800, Above: true})
		scores(up[30:2400], Interval{Min: 10, Max: 800, Below: true})
		scores(up[2403:], Interval{Min: 800, Max: math.Inf(1), Above: true})
		scores(up[:3], AtMost(0.5))
		scores(nil, Between(2, 1))
		scores(down[n-2403:n-30], Between(10, 800), WithDescending())
		scores(down[n-2403:n-2403+2200], Between(10, 800), WithDescending(), WithLimit(2200))
		all, err := collect(s.All(t.Context(), WithDescending()))
		require.NoError(t, err)
		require.Equal(t, strings.Join(down, " "), all)
		for e, err := range s.All(t.Context()) { // and is left
			require.NoError(t, err)
			require.Equal(t, "000000", e.Value)
			break
		}
	})
}

// TestAWalkGoesOnWhereItsLastMemberWas: it was removed, or has another score, among members of one score.
func TestAWalkGoesOnWhereItsLastMemberWas(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, back := range []bool{false, true} {
			s := kitOn(enginetest.On(t, raw), fresh(t, raw)).s
			const n = 3000
			want := numbered(t, s, n, n/3) // many of one score
			var opts []RangeOption
			if back {
				opts = append(opts, WithDescending())
				slices.Reverse(want)
			}
			var got []string
			for e, err := range s.All(t.Context(), opts...) {
				require.NoError(t, err)
				got = append(got, fmt.Sprintf("%v=%v", e.Value, e.Score))
				if len(got)%2 == 0 {
					_, err = s.Remove(t.Context(), e.Value)
				} else {
					_, err = s.Add(t.Context(), map[bool]float64{false: -1, true: 100}[back], e.Value) // which the walk has passed
				}
				require.NoError(t, err)
			}
			require.Equal(t, want, got)
		}
	})
}

// TestMembersThatStayComeOnce, whatever others do meanwhile.
func TestMembersThatStayComeOnce(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := kitOn(enginetest.On(t, raw), fresh(t, raw)).s
	want := numbered(t, s, 5000, 100)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() { // ends with ctx
			for j := 0; ctx.Err() == nil; j++ {
				v := "other" + strconv.Itoa(i) + "-" + strconv.Itoa(j%50)
				_, err := s.Add(context.WithoutCancel(ctx), float64(j%51), v)
				assert.NoError(t, err)
				_, err = s.Remove(context.WithoutCancel(ctx), v)
				assert.NoError(t, err)
			}
		})
	}
	for range 10 {
		var got []string
		for e, err := range s.All(t.Context()) {
			require.NoError(t, err)
			if !strings.HasPrefix(e.Value, "other") {
				got = append(got, fmt.Sprintf("%v=%v", e.Value, e.Score))
			}
		}
		require.Equal(t, want, got)
	}
	stop()
	all.Wait()
}

// TestBytes: no answer has more than a megabyte and one member, and no call takes the server long.
func TestBytes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e, bounded := enginetest.BoundedOn(t, server)
	s := New[string](e, "s", WithCodec(codec.Text))
	plain := New[string](enginetest.On(t, server.Client(t)), "s", WithCodec(codec.Text))
	const n = 300
	large := func() {
		for i := range n {
			_, err := plain.Add(t.Context(), float64(i%3), fmt.Sprintf("%05d", i)+strings.Repeat("x", 50_000))
			require.NoError(t, err)
		}
	}
	later := func() {
		for i := range 21 + 64 { // after 21 small ones as many are read at once as ever
			text := fmt.Sprintf("%05d", i)
			if i >= 21 {
				text += strings.Repeat("x", 200_000)
			}
			_, err := plain.Add(t.Context(), 1, text)
			require.NoError(t, err)
		}
	}
	small := func() { numbered(t, plain, 50_000, 10) }
	walk := func(opts ...RangeOption) func() (int, error) {
		return func() (got int, err error) {
			for _, err := range s.Range(t.Context(), 0, -1, opts...) {
				if err != nil {
					return got, err
				}
				got++
			}
			return got, nil
		}
	}
	for _, one := range []struct {
		what string
		fill func()
		want int
		do   func() (int, error)
	}{
		{"all", large, n, walk()},
		{"all, back", large, n, walk(WithDescending())},
		{"pop", large, 200, func() (int, error) { all, err := s.PopMin(t.Context(), 200); return len(all), err }},
		{"pop, back", large, n, func() (int, error) { all, err := s.PopMax(t.Context(), 10_000); return len(all), err }},
		{"all, large ones after small ones", later, 85, walk()},
		{"pop large ones after small ones", later, 60, func() (int, error) { all, err := s.PopMin(t.Context(), 60); return len(all), err }},
		{"remove by score", large, 200, func() (int, error) { n, err := s.RemoveByScore(t.Context(), Between(0, 1)); return int(n), err }},
		{"all that are small", small, 50_000, walk()},
		{"pop small ones", small, 10_000, func() (int, error) { all, err := s.PopMin(t.Context(), 10_000); return len(all), err }},
		{"remove by rank", small, 49_980, func() (int, error) { n, err := s.RemoveByRank(t.Context(), 10, -11); return int(n), err }},
		{"add", func() {}, 50_000, func() (int, error) { return len(numbered(t, s, 50_000, 10)), nil }},
	} {
		bounded.Judge(one.what, func() {
			_, err := plain.Delete(t.Context())
			require.NoError(t, err)
			one.fill()
		}, func() error {
			got, err := one.do()
			require.Equal(t, one.want, got, one.what)
			return err
		})
	}
}

// TestSeveralSets combines sets, plain ones, too.
func TestSeveralSets(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := enginetest.On(t, raw)
		k := kitOn(e, fresh(t, raw))
		other, plain := "other:{"+k.name+"}", "plain:{"+k.name+"}"
		t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(other, plain).Build()) })
		old(t, raw, k.name)
		redistest.Do(t, raw, "ZADD", other, "10", "b", "20", "d")
		redistest.Do(t, raw, "SADD", plain, "a")
		is := func(want string, n int64, err error) {
			t.Helper()
			require.NoError(t, err)
			require.EqualValues(t, len(strings.Fields(want))-1, n)
			require.Equal(t, want, state(t, raw, k.to()))
		}
		n, err := k.s.UnionInto(t.Context(), k.to(), []string{other})
		is("a=1 c=3 b=12 d=20 forever", n, err)
		n, err = k.s.UnionInto(t.Context(), k.to(), []string{other}, WithAggregate(Max), WithWeights(1, -0.5))
		is("d=-10 a=1 b=2 c=3 forever", n, err)
		n, err = k.s.InterInto(t.Context(), k.to(), []string{other}, WithAggregate(Min))
		is("b=2 forever", n, err)
		if !miniredis(t) { // which wants sorted sets
			n, err = k.s.UnionInto(t.Context(), k.to(), []string{plain})
			is("a=2 b=2 c=3 forever", n, err)
			n, err = k.s.DiffInto(t.Context(), k.to(), []string{other, plain})
			is("c=3 forever", n, err)
			n, err = k.s.RangeInto(t.Context(), k.to(), -2, -1)
			is("b=2 c=3 forever", n, err)
		}
		_, err = k.s.UnionInto(t.Context(), k.name, []string{other})
		require.NoError(t, err, "a set may be among those that it is made of")
		if !miniredis(t) { // which keeps the time
			require.Equal(t, "a=1 c=3 b=12 d=20 forever", state(t, raw, k.name))
		}
	})
}

// TestMembersThatDoNotDecode has walks pass them, and a pop remove them.
func TestMembersThatDoNotDecode(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := New[int](enginetest.On(t, raw), fresh(t, raw))
	redistest.Do(t, raw, "ZADD", s.Name(), "1", "1", "2", "secret", "3", "3")
	var got []int
	bad := 0
	for e, err := range s.All(t.Context()) {
		if err != nil {
			require.ErrorIs(t, err, ErrDecode)
			require.ErrorIs(t, err, core.ErrNotice)
			require.NotContains(t, err.Error(), "secret")
			bad++
			continue
		}
		got = append(got, e.Value)
	}
	require.Equal(t, []int{1, 3}, got)
	require.Equal(t, 1, bad)
	popped, err := s.PopMin(t.Context(), 5)
	require.ErrorIs(t, err, ErrDecode)
	require.Equal(t, []Entry[int]{{1, 1}, {3, 3}}, popped)
	n, err := s.Len(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
}
