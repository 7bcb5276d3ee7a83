package codec_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
)

// TestMsgpackIntegersOfAnyAreInt64, whatever their width on the wire, and maps are read
// whatever their keys are.
func TestMsgpackIntegersOfAnyAreInt64(t *testing.T) {
	t.Parallel()
	type box struct {
		V    any
		List []any
		Map  map[string]any
		Deep *box
	}
	through := func(v any) any {
		t.Helper()
		c := codec.For[any](codec.Msgpack)
		text, err := codec.Encode(c, v)
		require.NoError(t, err)
		got, err := codec.Decode(c, text)
		require.NoError(t, err, "%T", v)
		return got
	}
	for _, n := range []int64{5, -5, 200, -200, 40000, -40000, 1 << 20, -(1 << 20), 1 << 40, math.MinInt64, math.MaxInt64} {
		require.Equal(t, n, through(n))
		require.Equal(t, []any{n, "x"}, through([]any{n, "x"}))
		require.Equal(t, map[string]any{"a": n}, through(map[string]int64{"a": n}))
		require.Equal(t, map[any]any{n: n}, through(map[int64]int64{n: n}))
	}
	require.Equal(t, uint64(math.MaxUint64), through(uint64(math.MaxUint64)))
	require.Equal(t, []byte("b"), through([]byte("b")))
	require.Equal(t, 1.5, through(1.5))
	require.Equal(t, map[any]any{int64(1): "a", "b": map[any]any{true: int64(2)}}, through(map[any]any{1: "a", "b": map[bool]int{true: 2}}))
	require.Equal(t, map[string]any{}, through(map[int]int{}))

	c := codec.For[box](codec.Msgpack)
	want := box{V: int64(5), List: []any{int64(200)}, Map: map[string]any{"a": map[any]any{int64(1): int64(2)}}, Deep: &box{V: int64(7)}}
	text, err := codec.Encode(c, want)
	require.NoError(t, err)
	got, err := codec.Decode(c, text)
	require.NoError(t, err)
	require.Equal(t, want, got)

	list := codec.For[any](codec.Msgpack)
	_, err = codec.Decode(list, "\x81\x91\x01\x01") // a list is no key
	require.Error(t, err)
}

// TestJSONNegativeZero is a float for Java, alone and in a struct, and not in a text.
func TestJSONNegativeZero(t *testing.T) {
	t.Parallel()
	type point struct {
		X float64 `json:"x"`
		S string  `json:"s"`
	}
	zero := math.Copysign(0, -1)
	for _, one := range []struct {
		text string
		got  func() (string, error)
	}{
		{"-0.0", func() (string, error) { return codec.Encode(codec.For[float64](codec.JSON), zero) }},
		{"-0.0", func() (string, error) { return codec.Encode(codec.For[float32](codec.JSON), float32(zero)) }},
		{"0", func() (string, error) { return codec.Encode(codec.For[float64](codec.JSON), 0) }},
		{`{"x":-0.0,"s":"-0 \"-0"}`, func() (string, error) {
			return codec.Encode(codec.For[point](codec.JSON), point{zero, `-0 "-0`})
		}},
		{`[-0.0,-0.5,-1]`, func() (string, error) {
			return codec.Encode(codec.For[[]float64](codec.JSON), []float64{zero, -0.5, -1})
		}},
	} {
		text, err := one.got()
		require.NoError(t, err)
		require.Equal(t, one.text, text)
	}
	v, err := codec.Decode(codec.For[float64](codec.JSON), "-0.0")
	require.NoError(t, err)
	require.True(t, math.Signbit(v))
}
