package codec_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rueidisson/rueidisson/codec"
)

var families = []codec.Family{codec.Text, codec.Bytes, codec.JSON, codec.Msgpack, codec.Kryo5, codec.Jackson(""), codec.JacksonMsgpack("")}

// roundTrips checks what every codec promises of a type, in every family that has
// bytes for it: what was written is read as it was, equal values are equal bytes,
// and nothing else is touched.
func roundTrips[T any](gen *rapid.Generator[T]) func(t *rapid.T) {
	return func(t *rapid.T) {
		v := gen.Draw(t, "v")
		for _, f := range families {
			c := codec.For[T](f)
			if codec.Check(c) != nil {
				continue
			}
			b, err := c.Append([]byte("before"), v)
			require.NoError(t, err, f)
			require.Equal(t, "before", string(b[:6]), f)
			s, err := codec.Encode(c, v)
			require.NoError(t, err, f)
			if _, dict := any(v).(map[string]int64); !dict || f != codec.Msgpack { // which has no order of maps
				assert.Equal(t, string(b[6:]), s, f)
			}
			back, err := codec.Decode(c, s)
			require.NoError(t, err, f)
			assert.Equal(t, v, back, f)
			back, err = c.Decode(b[6:])
			clear(b) // which no value may share
			require.NoError(t, err, f)
			assert.Equal(t, v, back, f)
		}
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	for what, property := range map[string]func(*rapid.T){
		"strings": roundTrips(rapid.String()),
		"named":   roundTrips(rapid.Map(rapid.String(), func(s string) name { return name(s) })),
		"int":     roundTrips(rapid.Int()),
		"int8":    roundTrips(rapid.Int8()),
		"int16":   roundTrips(rapid.Int16()),
		"int32":   roundTrips(rapid.Int32()),
		"int64":   roundTrips(rapid.Int64()),
		"uint8":   roundTrips(rapid.Uint8()),
		"uint32":  roundTrips(rapid.Uint32()),
		"uint64":  roundTrips(rapid.Uint64Max(math.MaxInt64)),
		"float32": roundTrips(rapid.Float32()),
		"float64": roundTrips(rapid.Float64()),
		"bool":    roundTrips(rapid.Bool()),
		"bytes":   roundTrips(rapid.SliceOf(rapid.Byte())),
		"array":   roundTrips(rapid.Custom(func(t *rapid.T) (a [5]byte) { copy(a[:], rapid.SliceOfN(rapid.Byte(), 5, 5).Draw(t, "a")); return a })),
		"text":    roundTrips(rapid.Map(rapid.IntRange(0, 9), func(n int) level { return level(n) })),
		"lists":   roundTrips(rapid.SliceOf(rapid.String())),
		"numbers": roundTrips(rapid.SliceOf(rapid.Int64())),
		"maps":    roundTrips(rapid.MapOf(rapid.String(), rapid.Int64())),
		"structs": roundTrips(rapid.Map(rapid.String(), func(s string) friend { return friend{s} })),
		"nested": roundTrips(rapid.Custom(func(t *rapid.T) []friend {
			return rapid.SliceOf(rapid.Map(rapid.String(), func(s string) friend { return friend{s} })).Draw(t, "all")
		})),
	} {
		t.Run(what, func(t *testing.T) { t.Parallel(); rapid.Check(t, property) })
	}
}

// TestKeysThatDifferHaveOtherBytes: two keys are one key exactly when their bytes
// are.
func TestKeysThatDifferHaveOtherBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		n, m := rapid.Int64().Draw(t, "n"), rapid.Int64().Draw(t, "m")
		for _, f := range families {
			distinct(t, codec.KeyOf[string](f), a, b)
			if k := codec.KeyOf[int64](f); codec.Check(k) == nil {
				distinct(t, k, n, m)
			}
		}
	})
}

func distinct[K comparable](t *rapid.T, c codec.Codec[K], a, b K) {
	first, err := codec.Encode(c, a)
	require.NoError(t, err)
	second, err := codec.Encode(c, b)
	require.NoError(t, err)
	require.Equal(t, a == b, first == second)
}
