package bloom

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestFilterOperations(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) { filterOperations(t, raw, named(t, raw)) })
}

func filterOperations(t *testing.T, raw rueidis.Client, name string) {
	e, ctx := engineOn(t, raw), t.Context()
	f, other := New[string](e, name), New[string](e, name)
	require.Equal(t, name, f.Name())
	for what, op := range operations {
		if what != "init" {
			require.ErrorIs(t, op.do(ctx, f), ErrNotSet, what)
		}
	}
	is(t, false)(f.Exists(ctx))
	require.NoError(t, f.Add(ctx))
	is(t, []bool(nil))(f.AddNew(ctx))
	is(t, []bool(nil))(f.HasEach(ctx))

	is(t, true)(f.Init(ctx, 1000, 0.03))
	is(t, false)(other.Init(ctx, 1000, 0.03))
	is(t, true)(f.Exists(ctx))
	is(t, Shape{1000, 0.03, 7298, 5})(f.Shape(ctx))
	require.EqualValues(t, 913, number(t, raw, "STRLEN", name), "the whole bitmap is there")
	err := last(other.Init(ctx, 2000, 0.03))
	require.ErrorIs(t, err, ErrOtherShape)
	require.ErrorContains(t, err, `bloom filter "`+name+`"`)
	require.ErrorContains(t, err, "n=1000 p=0.03 (m=7298 k=5)")
	require.ErrorContains(t, err, "n=2000 p=0.03 (m=14596 k=5)")
	require.ErrorIs(t, last(other.Init(ctx, 1000, 0.01)), ErrOtherShape)

	is(t, false)(f.Has(ctx, "a"))
	is(t, int64(0))(f.Count(ctx))
	require.NoError(t, f.Add(ctx, "a", "b"))
	is(t, true)(other.Has(ctx, "a"))
	is(t, []bool{true, false, true, false})(f.HasEach(ctx, "a", "x", "b", "y"))
	is(t, []bool{false, true, false, true, false})(f.AddNew(ctx, "a", "c", "c", "d", "b"))
	is(t, int64(4))(f.Count(ctx))

	is(t, true)(f.Expire(ctx, time.Hour))
	left, err := f.Remaining(ctx)
	require.NoError(t, err)
	require.Greater(t, left, 59*time.Minute)
	require.Greater(t, number(t, raw, "PTTL", name), int64(59*60_000))
	is(t, true)(f.Persist(ctx))
	is(t, time.Duration(-1))(f.Remaining(ctx))
	is(t, true)(f.ExpireAt(ctx, time.Now().Add(time.Hour)))

	is(t, true)(f.Delete(ctx))
	require.ErrorIs(t, f.Add(ctx, "a"), ErrNotSet)
	require.Zero(t, number(t, raw, "EXISTS", name, keys.BloomConfig(name)), "nothing was written into a deleted filter")
	is(t, false)(f.Delete(ctx))

	is(t, true)(other.Init(ctx, 50, 0.01))
	is(t, []bool{true})(f.AddNew(ctx, "a")) // with the shape that it finds
	is(t, true)(f.Has(ctx, "a"))
}

// TestManyValuesTakeManyExchanges, and all of them are found.
func TestManyValuesTakeManyExchanges(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := engineOn(t, raw), t.Context()
		f, third := New[string](e, named(t, raw)), 1000
		if strings.Contains(t.Name(), "miniredis") {
			third = 100
		}
		is(t, true)(f.Init(ctx, int64(3*third), 0.001))
		in := values("in", 3*third)
		require.NoError(t, f.Add(ctx, in[:2*third]...))
		fresh, err := f.AddNew(ctx, in[third:]...)
		require.NoError(t, err)
		require.NotContains(t, fresh[:third], true)
		has, err := f.HasEach(ctx, in...)
		require.NoError(t, err)
		require.NotContains(t, has, false)
		has, err = f.HasEach(ctx, values("out", 3*third)...)
		require.NoError(t, err)
		wrong := 0
		for _, is := range has {
			if is {
				wrong++
			}
		}
		require.Less(t, wrong, 20, "of 3,000, about 3 are expected")
		n, err := f.Count(ctx)
		require.NoError(t, err)
		require.InEpsilon(t, 3*third, n, 0.05)
	})
}

// TestCodecsOfFilters: equal values have equal bytes, and what cannot be written is an error.
func TestCodecsOfFilters(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e, ctx := engineOn(t, raw), t.Context()
	name := named(t, raw)
	is(t, true)(New[string](e, name).Init(ctx, 100, 0.001))
	var noContext context.Context
	type point struct{ X, Y int }
	require.NoError(t, New[int](e, name).Add(ctx, 42))
	is(t, true)(New[string](e, name).Has(ctx, "42"))
	require.NoError(t, New[point](e, name).Add(ctx, point{1, 2}))
	is(t, true)(New[point](e, name).Has(ctx, point{1, 2}))
	is(t, false)(New[point](e, name, WithCodec(codec.JSON)).Has(ctx, point{1, 2}))
	own := New[int](e, name, WithValueCodec(codec.For[int](codec.Kryo5)))
	require.NoError(t, own.Add(ctx, 7))
	is(t, true)(New[int](e, name, WithCodec(codec.Kryo5)).Has(ctx, 7))
	for _, err := range []error{
		New[map[string]int](e, name).Add(ctx, nil),
		New[any](e, name).Add(ctx, 1),
		New[string](e, name).Add(ctx, "\xff"),
		New[string](e, name, nil).Add(ctx, "a"),
		New[string](e, name, WithValueCodec(codec.For[int](codec.Msgpack))).Add(ctx, "a"),
		New[string](e, name, WithValueCodec[string](nil)).Add(ctx, "a"),
		New[string](e, "").Add(ctx, "a"),
		New[string](e, name).Add(noContext, "a"),
	} {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
}

// TestInitRefusesWhatNoFilterCanHave, and changes nothing.
func TestInitRefusesWhatNoFilterCanHave(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	f := New[string](engineOn(t, raw), named(t, raw))
	for _, of := range []struct {
		n int64
		p float64
	}{
		{0, 0.1}, {-1, 0.1}, {math.MinInt64, 0.1}, {10, 0}, {10, 1}, {10, -0.1}, {10, 1.5}, {10, math.NaN()}, {10, math.Inf(1)},
		{1, 0.9}, {math.MaxInt64, 0.5}, {300_000_000, 0.001},
	} {
		require.ErrorIs(t, last(f.Init(t.Context(), of.n, of.p)), ErrInvalidArgument, "%v", of)
	}
	is(t, false)(f.Exists(t.Context()))
	require.Zero(t, number(t, raw, "EXISTS", f.Name()))
	require.ErrorIs(t, last(f.Expire(t.Context(), time.Microsecond)), ErrInvalidArgument)
}

// TestABrokenConfigIsAnError that names the remedy, of every operation.
func TestABrokenConfigIsAnError(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		whole := []string{"size", "958", "hashIterations", "7", "expectedInsertions", "100", "falseProbability", "0.01"}
		for what, fields := range map[string][]string{
			"no size": whole[2:], "no k": append(whole[:2:2], whole[4:]...), "no n": append(whole[:4:4], whole[6:]...), "no p": whole[:6],
			"m is 0": append(whole[:8:8], "size", "0"), "m below": append(whole[:8:8], "size", "-5"),
			"m above": append(whole[:8:8], "size", "4294967295"), "m text": append(whole[:8:8], "size", "0958"),
			"k is 0": append(whole[:8:8], "hashIterations", "0"), "k above": append(whole[:8:8], "hashIterations", "1000000000"),
			"k text": append(whole[:8:8], "hashIterations", "7.0"), "n text": append(whole[:8:8], "expectedInsertions", "many"),
			"p text": append(whole[:8:8], "falseProbability", "NaN"), "p above": append(whole[:8:8], "falseProbability", "2"),
			"empty": append(whole[:8:8], "size", ""), "foreign": {"a", "b"},
		} {
			name := named(t, raw)
			hset(t, raw, name, fields...)
			for op, operation := range operations {
				err := operation.do(t.Context(), New[string](e, name))
				if what == "foreign" && op != "init" {
					require.ErrorIs(t, err, ErrNotSet, "%s %s", what, op)
					continue
				}
				require.ErrorIs(t, err, ErrDecode, "%s %s", what, op)
				require.ErrorContains(t, err, "Delete removes the filter, Init makes it anew", "%s %s", what, op)
			}
			require.Zero(t, number(t, raw, "EXISTS", name), what)
			is(t, true)(New[string](e, name).Delete(t.Context()))
		}
	})
}

// TestTheBitmapComesAndGoesWithItsConfig: Init deletes the bits of an earlier filter, and an Add that makes the bitmap gives
// it the end of the config.
func TestTheBitmapComesAndGoesWithItsConfig(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := engineOn(t, raw), t.Context()
		f := made(t, e, named(t, raw))
		config := keys.BloomConfig(f.Name())
		require.NoError(t, f.Add(ctx, "a"))

		redistest.Do(t, raw, "PEXPIRE", f.Name(), "3600000")
		redistest.Do(t, raw, "DEL", config) // evicted
		require.ErrorIs(t, f.Add(ctx, "b"), ErrNotSet)
		require.ErrorIs(t, last(f.Has(ctx, "a")), ErrNotSet)
		is(t, true)(f.Init(ctx, 100, 0.01))
		is(t, false)(f.Has(ctx, "a"))
		require.EqualValues(t, -1, number(t, raw, "PTTL", f.Name()))
		require.Zero(t, number(t, raw, "BITCOUNT", f.Name()))

		redistest.Do(t, raw, "DEL", f.Name()) // evicted
		is(t, false)(f.Has(ctx, "a"))
		is(t, int64(0))(f.Count(ctx))
		is(t, true)(f.Exists(ctx))
		redistest.Do(t, raw, "PEXPIRE", config, "3600000")
		require.NoError(t, f.Add(ctx, "b"))
		is(t, true)(f.Has(ctx, "b"))
		require.InDelta(t, number(t, raw, "PEXPIRETIME", config), number(t, raw, "PEXPIRETIME", f.Name()), 1) // miniredis' clock
		require.EqualValues(t, 120, number(t, raw, "STRLEN", f.Name()))

		to := f.Name() + "-to"
		if _, is := raw.(interface {
			Nodes() map[string]rueidis.Client
		}); is && raw.Mode() != rueidis.ClientModeCluster {
			moved := New[string](e, to)
			t.Cleanup(func() { moved.Delete(context.Background()) })
			redistest.Do(t, raw, "SET", to, "x")
			ok, err := f.Rename(ctx, to)
			require.NoError(t, err)
			require.True(t, ok)
			has, err := moved.Has(ctx, "b")
			require.NoError(t, err)
			require.True(t, has)
			require.ErrorIs(t, last(f.Has(ctx, "b")), ErrNotSet)
		}
	})
}

// TestAForeignKeyStaysAsItIs, with its end.
func TestAForeignKeyStaysAsItIs(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		for _, config := range []bool{false, true} {
			for what, op := range operations {
				name := named(t, raw)
				at := name
				if config {
					at = keys.BloomConfig(name)
				} else if what != "init" {
					hset(t, raw, name, "size", "958", "hashIterations", "7", "expectedInsertions", "100", "falseProbability", "0.01")
				}
				redistest.Do(t, raw, "RPUSH", at, "x")
				redistest.Do(t, raw, "PEXPIREAT", at, strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli()/1000*1000, 10))
				ends := number(t, raw, "PEXPIRETIME", at)
				err := op.do(t.Context(), New[string](e, name))
				if what == "shape" && !config {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, "of another type", "%s %v", what, config)
					require.NotErrorIs(t, err, ErrOutcomeUnknown)
				}
				require.EqualValues(t, 1, number(t, raw, "LLEN", at))
				require.InDelta(t, ends, number(t, raw, "PEXPIRETIME", at), 1) // miniredis' clock
			}
		}
	})
}
