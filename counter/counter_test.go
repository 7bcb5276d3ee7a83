package counter

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestCounterOperations(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, opts := range [][]Option{nil, {WithRequestIDs()}, {WithTTL(time.Hour)}, {WithTTL(time.Hour), WithRequestIDs()}} {
			counterOperations(t, New(engineOn(t, raw), named(t, raw), opts...))
		}
	})
}

func counterOperations(t *testing.T, c *Counter) {
	t.Helper()
	ctx := t.Context()
	is(t, int64(0))(c.Get(ctx))
	is(t, false)(c.Exists(ctx))
	is(t, int64(5))(c.Add(ctx, 5))
	is(t, int64(3))(c.Add(ctx, -2))
	is(t, int64(3))(c.Add(ctx, 0))
	is(t, false)(c.SetIfAbsent(ctx, 9))
	is(t, int64(3))(c.Swap(ctx, 10))
	is(t, false)(c.CompareAndSwap(ctx, 3, 4))
	is(t, true)(c.CompareAndSwap(ctx, 10, 11))
	is(t, false)(c.Raise(ctx, 11))
	is(t, true)(c.Raise(ctx, 12))
	is(t, false)(c.Lower(ctx, 12))
	is(t, true)(c.Lower(ctx, -12))
	is(t, true)(c.Lower(ctx, -120))
	is(t, false)(c.Raise(ctx, -121))
	is(t, true)(c.Raise(ctx, -13))
	is(t, int64(-13))(c.Get(ctx))
	is(t, false)(c.CompareAndDelete(ctx, 13))
	is(t, true)(c.CompareAndDelete(ctx, -13))
	is(t, false)(c.CompareAndDelete(ctx, 0))
	is(t, true)(c.CompareAndSwap(ctx, 0, 1))
	is(t, int64(1))(c.Take(ctx))
	is(t, int64(0))(c.Take(ctx))
	is(t, int64(0))(c.Swap(ctx, 4))
	require.NoError(t, c.Set(ctx, math.MinInt64))
	is(t, int64(math.MinInt64))(c.Get(ctx))
	_, err := c.Add(ctx, -1)
	require.ErrorIs(t, err, ErrInvalidArgument)
	is(t, int64(math.MinInt64))(c.Get(ctx))
	is(t, int64(-1))(c.Add(ctx, math.MaxInt64))
	is(t, true)(c.Delete(ctx))
	is(t, true)(c.SetIfAbsent(ctx, 9))
	is(t, true)(c.Delete(ctx))
}

// TestCounterIsExactAbove2To53: what Lua, and doubles, cannot tell apart.
func TestCounterIsExactAbove2To53(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, opts := range [][]Option{nil, {WithRequestIDs()}, {WithTTL(time.Hour)}} {
			c, ctx := New(engineOn(t, raw), named(t, raw), opts...), t.Context()
			for _, start := range []int64{1<<53 - 2, -(1<<53 + 3), 1e15, math.MaxInt64 - 6, math.MinInt64} {
				require.NoError(t, c.Set(ctx, start))
				for i := range int64(6) {
					is(t, start+i+1)(c.Add(ctx, 1))
				}
			}
			require.NoError(t, c.Set(ctx, 1<<53+1))
			is(t, false)(c.CompareAndSwap(ctx, 1<<53, 7))
			is(t, false)(c.Raise(ctx, 1<<53))
			is(t, true)(c.Lower(ctx, 1<<53))
			is(t, true)(c.Raise(ctx, 1<<53+1))
			is(t, int64(1<<53+1))(c.Swap(ctx, -1<<53-1))
			is(t, true)(c.Raise(ctx, -1<<53))
			is(t, int64(-1<<53))(c.Take(ctx))
			is(t, true)(c.Raise(ctx, math.MaxInt64))
			is(t, true)(c.Lower(ctx, math.MinInt64))
			is(t, true)(c.CompareAndSwap(ctx, math.MinInt64, math.MaxInt64))
			is(t, int64(math.MaxInt64))(c.Get(ctx))
		}
	})
}

func TestCounterTimesToLive(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx, name := engineOn(t, raw), t.Context(), named(t, raw)
		c := New(e, name)
		lasts := func(from, to time.Duration) {
			t.Helper()
			left := time.Duration(ttlOf(t, raw, name)) * time.Millisecond
			require.True(t, left > from && left <= to, "%v", left)
		}
		for what, timed := range map[string]*Counter{"plain": New(e, name, WithTTL(time.Hour)), "slot": New(e, name, WithTTL(time.Hour), WithRequestIDs())} {
			is(t, int64(1))(timed.Add(ctx, 1))
			lasts(59*time.Minute, time.Hour)
			is(t, true)(c.Expire(ctx, time.Minute))
			is(t, int64(2))(timed.Add(ctx, 1))
			is(t, int64(3))(c.Add(ctx, 1))
			is(t, true)(timed.Raise(ctx, 4))
			is(t, true)(timed.CompareAndSwap(ctx, 4, 5))
			is(t, true)(c.Lower(ctx, 1))
			lasts(30*time.Second, time.Minute)
			require.NoError(t, timed.Set(ctx, 1))
			lasts(59*time.Minute, time.Hour)
			require.NoError(t, c.Set(ctx, 1))
			require.EqualValues(t, -1, ttlOf(t, raw, name), what)
			is(t, true)(timed.Raise(ctx, 2))
			lasts(59*time.Minute, time.Hour)
			is(t, int64(2))(c.Swap(ctx, 2))
			require.EqualValues(t, -1, ttlOf(t, raw, name), what)
			is(t, int64(2))(timed.Swap(ctx, 2))
			lasts(59*time.Minute, time.Hour)
			is(t, true)(c.Persist(ctx))
			is(t, int64(3))(timed.Add(ctx, 1))
			lasts(59*time.Minute, time.Hour)
			is(t, int64(3))(c.Take(ctx))
			is(t, true)(timed.SetIfAbsent(ctx, 3))
			lasts(59*time.Minute, time.Hour)
			left, err := c.Remaining(ctx)
			require.NoError(t, err)
			require.Greater(t, left, 59*time.Minute)
			is(t, true)(c.ExpireAt(ctx, time.Now().Add(-time.Hour)))
			is(t, false)(c.Exists(ctx))
		}
	})
}

// TestForeignTextIsAnError that names the object and what helps, and shows no text. The text stays.
func TestForeignTextIsAnError(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx, name := engineOn(t, raw), t.Context(), named(t, raw)
		for _, text := range []string{"5.0", "+5", "", "05", "-0", " 5", "5 ", "secret", "9223372036854775808", "-9223372036854775809", "0x10", strings.Repeat("9", 500)} {
			setText(t, raw, name, text)
			for what, op := range operations {
				kind, _, _ := strings.Cut(what, " ")
				if op.blind || kind != "counter" && kind != "ids" && kind != "adder" {
					continue
				}
				err := op.do(ctx, e, name)
				require.ErrorIs(t, err, ErrDecode, "%s: %q", what, text)
				require.ErrorContains(t, err, `"`+name+`": the key holds no integer (`+decimal(int64(len(text)))+` bytes): Set replaces it`)
				require.NotContains(t, err.Error(), "secret")
				require.Equal(t, text, textOf(t, raw, name), what)
			}
			_, err := NewAdder(e, name).Delete(ctx)
			require.NoError(t, err)
		}
		for _, text := range []string{"", "abc", "0x1p4", "nan", "inf", "1,5", "1e999"} {
			for _, what := range []string{"float get", "float add", "float swap", "float compare, swap"} {
				setText(t, raw, name, text)
				err := operations[what].do(ctx, e, name)
				if what == "float add" && strings.Contains("0x1p4 1e999 inf", text) && text != "" {
					continue // which INCRBYFLOAT reads
				}
				require.ErrorIs(t, err, ErrDecode, "%s: %q", what, text)
				require.Equal(t, text, textOf(t, raw, name), what)
			}
		}
		setText(t, raw, name, "5.0")
		_, err := New(e, name).Get(ctx)
		require.EqualError(t, err, `read counter "`+name+`": the key holds no integer (3 bytes): Set replaces it, Delete removes it`)
		require.NoError(t, New(e, name).Set(ctx, 5))
		is(t, int64(6))(New(e, name).Add(ctx, 1))
	})
}

// TestAKeyOfAnotherTypeStays, and so does its time to live.
func TestAKeyOfAnotherTypeStays(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := engineOn(t, raw), t.Context()
		for what, op := range operations {
			name := named(t, raw)
			redistest.Do(t, raw, "RPUSH", name, "a", "b")
			for _, ttl := range []bool{false, true} {
				if ttl {
					redistest.Do(t, raw, "PEXPIRE", name, "1000000")
				}
				err := op.do(ctx, e, name)
				if op.blind && what != "ids init" {
					require.NoError(t, err)
					break
				}
				if what != "ids init" { // which looks at nothing
					require.ErrorContains(t, err, "WRONGTYPE", what)
					require.ErrorContains(t, err, name)
				}
				all, err := raw.Do(ctx, raw.B().Lrange().Key(name).Start(0).Stop(-1).Build()).AsStrSlice()
				require.NoError(t, err)
				require.Equal(t, []string{"a", "b"}, all, what)
				require.Equal(t, ttl, ttlOf(t, raw, name) > 0, what)
			}
			raw.Do(ctx, raw.B().Del().Key(name, "{"+name+"}:allocation").Build())
		}
	})
}

// TestCountersAddTogether: concurrent adds take few exchanges, and each gets a sum of its own.
func TestCountersAddTogether(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]Option{"plain": nil, "ttl": {WithTTL(time.Hour)}, "slot": {WithRequestIDs()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			raw := server.Client(t)
			c := New(engineOn(t, raw), redistest.Name(t), opts...)
			const goroutines, each = 64, 200
			sums := make([][]int64, goroutines)
			server.ResetStats()
			var all sync.WaitGroup
			for g := range goroutines {
				all.Go(func() {
					for range each {
						n, err := c.Add(context.Background(), 1)
						assert.NoError(t, err)
						sums[g] = append(sums[g], n)
					}
				})
			}
			all.Wait()
			seen := map[int64]bool{}
			for _, of := range sums {
				for i, n := range of {
					require.False(t, seen[n], "twice")
					seen[n] = true
					require.True(t, i == 0 || n > of[i-1], "a caller's sums rise")
				}
			}
			require.Len(t, seen, goroutines*each)
			is(t, int64(goroutines*each))(c.Get(t.Context()))
			require.Less(t, server.CommandCalls(t, "incrby"), int64(goroutines*each/4))
		})
	}
}

// TestTenThousandGoroutinesAddAtOnce, under contexts that may end.
func TestTenThousandGoroutinesAddAtOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, opts := range [][]Option{nil, {WithRequestIDs()}} {
			c := New(engineOn(t, raw), named(t, raw), opts...)
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			var all sync.WaitGroup
			for range 10_000 {
				all.Go(func() { assert.NoError(t, last(c.Add(ctx, 1))) })
			}
			all.Wait()
			is(t, int64(10_000))(c.Get(t.Context()))
		}
	})
}

// TestAnswersAreThoseOfAnOrder: whatever is added, from whatever number, the sums are those of the calls in some order, and
// none leaves int64.
func TestAnswersAreThoseOfAnOrder(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	number := func() int64 {
		switch rnd.IntN(4) {
		case 0:
			return rnd.Int64N(7) - 3
		case 1:
			return math.MaxInt64 - rnd.Int64N(3)
		case 2:
			return math.MinInt64 + rnd.Int64N(3)
		}
		return int64(rnd.Uint64())
	}
	reordered := 0
	for range 200_000 {
		var b additions
		for range 1 + rnd.IntN(6) {
			b = append(b, &combine.Call[addition, sum]{Ask: addition{n: number()}})
		}
		b = b[:cutAdditions(b)]
		require.NotEmpty(t, b)
		total := int64(0)
		for _, c := range b {
			var fits bool
			total, fits = plus(total, c.Ask.n)
			require.True(t, fits)
		}
		before := number()
		if _, fits := plus(before, total); !fits {
			continue // the server refuses
		}
		answer(b, before)
		// Each sum, less what was added, is the sum of another call, or the number before: a path that uses each call once.
		now, left, moved := before, append(additions(nil), b...), false
		require.True(t, path(now, left, &moved), "%v from %d", b, before)
		if moved {
			reordered++
		}
	}
	require.NotZero(t, reordered)
}

// path reports whether the answers of calls are those of an order that begins at now.
func path(now int64, left additions, moved *bool) bool {
	if len(left) == 0 {
		return true
	}
	for i, c := range left {
		if next, fits := plus(now, c.Ask.n); fits && next == c.Answer.n {
			rest := append(append(additions(nil), left[:i]...), left[i+1:]...)
			if path(next, rest, moved) {
				*moved = *moved || i > 0
				return true
			}
		}
	}
	return false
}

// TestOverflowingCallerGetsTheError, and the others their sums.
func TestOverflowingCallerGetsTheError(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, opts := range [][]Option{nil, {WithRequestIDs()}, {WithTTL(time.Hour)}} {
			c := New(engineOn(t, raw), named(t, raw), opts...)
			require.NoError(t, c.Set(t.Context(), math.MaxInt64-10))
			b := additions{}
			for _, n := range []int64{3, 1 << 40, 4, 5, 3} {
				b = append(b, &combine.Call[addition, sum]{Ask: addition{n: n, ttl: c.ttl}})
			}
			require.NoError(t, c.adds.send(c.o.Key, 0, b))
			for i, want := range []int64{math.MaxInt64 - 7, 0, math.MaxInt64 - 3, 0, math.MaxInt64} {
				if want == 0 {
					require.ErrorIs(t, b[i].Answer.err, ErrInvalidArgument)
				} else {
					require.NoError(t, b[i].Answer.err)
					require.Equal(t, want, b[i].Answer.n)
				}
			}
			is(t, int64(math.MaxInt64))(c.Get(t.Context()))
		}
	})
}

// gated is a client whose INCRBYs wait.
type gated struct {
	rueidis.Client
	arrived chan struct{}
	open    chan struct{}
}

func (g gated) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if cmd.Commands()[0] == "INCRBY" {
		g.arrived <- struct{}{}
		<-g.open
	}
	return g.Client.Do(ctx, cmd)
}

// TestCallerThatLeftIsSkippedOrCounted: one that was not sent adds nothing and says so; one that was adds, and says that
// nobody knows.
func TestCallerThatLeftIsSkippedOrCounted(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	gate := gated{raw, make(chan struct{}), make(chan struct{})}
	c := New(enginetest.Plain(t, gate), named(t, raw))
	under, leave := context.WithCancel(t.Context())
	sent := make(chan error, flights)
	for range flights {
		go func() { sent <- last(c.Add(under, 1)) }() // ends with its context
		redistest.Done(t, gate.arrived)
	}
	waits, give := context.WithCancel(t.Context())
	skipped := make(chan error, 1)
	go func() { skipped <- last(c.Add(waits, 10)) }() // ends with its context
	redistest.Eventually(t, func() bool { n, _ := c.adds.table.Look(c.o.Key); return n == 1 }, soon, time.Millisecond)
	give()
	err := redistest.Done(t, skipped)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	leave()
	for range flights {
		err = redistest.Done(t, sent)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.ErrorIs(t, err, context.Canceled)
	}
	close(gate.open)
	redistest.Eventually(t, func() bool { return textOf(t, raw, c.Name()) == decimal(flights) }, soon, time.Millisecond)
	redistest.Eventually(t, func() bool { _, f := c.adds.table.Look(c.o.Key); return f == 0 }, soon, time.Millisecond)
	require.Equal(t, decimal(flights), textOf(t, raw, c.Name()))
}

func TestCounterBadInput(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := engineOn(t, raw), t.Context()
	for what, c := range map[string]*Counter{
		"empty name": New(e, ""), "nil option": New(e, "a", nil), "short": New(e, "a", WithTTL(time.Millisecond-1)),
		"negative": New(e, "a", WithTTL(-time.Hour)), "long": New(e, "a", WithTTL(math.MaxInt64)),
	} {
		require.ErrorIs(t, last(c.Add(ctx, 1)), ErrInvalidArgument, what)
		require.ErrorIs(t, c.Set(ctx, 1), ErrInvalidArgument, what)
		require.ErrorIs(t, last(c.Get(ctx)), ErrInvalidArgument, what)
		require.ErrorIs(t, last(c.Swap(ctx, 1)), ErrInvalidArgument, what)
		require.ErrorIs(t, c.Check(ctx), ErrInvalidArgument, what)
	}
	name := named(t, raw)
	over, cancel := context.WithCancelCause(ctx)
	why := errors.New("why")
	cancel(why)
	for what, op := range operations {
		require.ErrorIs(t, op.do(nil, e, name), ErrInvalidArgument, what) //nolint:staticcheck // the test is about that
		require.ErrorIs(t, op.do(ctx, e, ""), ErrInvalidArgument, what)
		err := op.do(over, e, name)
		require.ErrorIs(t, err, context.Canceled, what)
		require.ErrorIs(t, err, why, what)
	}
	is(t, false)(New(e, name).Exists(ctx))

	type withMap struct{ M map[string]int }
	type withAny struct{ A []*struct{ V any } }
	type plain struct{ A, B int }
	type hidden struct {
		A int
		m map[string]int
	}
	require.ErrorIs(t, NewDistinct[withMap](e, name).Add(ctx, withMap{}), ErrInvalidArgument)
	require.ErrorIs(t, NewDistinct[withAny](e, name, WithCodec(codec.JSON)).Add(ctx, withAny{}), ErrInvalidArgument)
	require.ErrorIs(t, NewDistinct[any](e, name).Add(ctx, 1), ErrInvalidArgument)
	require.ErrorIs(t, NewDistinct[string](e, name, nil).Add(ctx, "a"), ErrInvalidArgument)
	require.ErrorIs(t, NewDistinct[string](e, name, WithValueCodec(codec.For[int](codec.Text))).Add(ctx, "a"), ErrInvalidArgument)
	require.ErrorIs(t, NewDistinct[string](e, name).Merge(ctx, ""), ErrInvalidArgument)
	require.NoError(t, NewDistinct[plain](e, name).Add(ctx, plain{1, 2}, plain{1, 2}, plain{2, 1}))
	require.NoError(t, NewDistinct[hidden](e, name).Add(ctx, hidden{A: 5, m: nil}))
	require.NoError(t, NewDistinct[[]byte](e, name).Add(ctx, []byte{1}))
	is(t, int64(4))(NewDistinct[plain](e, name).Count(ctx))

	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		f := NewFloat(e, name+"f")
		require.ErrorIs(t, last(f.Add(ctx, v)), ErrInvalidArgument)
		require.ErrorIs(t, f.Set(ctx, v), ErrInvalidArgument)
		require.ErrorIs(t, last(f.Swap(ctx, v)), ErrInvalidArgument)
		require.ErrorIs(t, last(f.CompareAndSwap(ctx, v, 1)), ErrInvalidArgument)
		require.ErrorIs(t, last(f.CompareAndSwap(ctx, 1, v)), ErrInvalidArgument)
	}
	for _, bad := range [][2]int64{{1, 0}, {1, -3}, {math.MaxInt64, 1}, {math.MaxInt64 - 5, 6}} {
		require.ErrorIs(t, last(NewIDs(e, name).Init(ctx, bad[0], bad[1])), ErrInvalidArgument)
	}
	_, _, err := NewIDs(e, name).Range(ctx, 0)
	require.ErrorIs(t, err, ErrInvalidArgument)
}
