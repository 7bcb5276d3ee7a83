package bloom

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPositionsAreRedissons compares with what Redisson's class computes.
func TestPositionsAreRedissons(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]uint64{
		"abc":   {464, 396, 860, 792, 298, 230, 694},
		`"abc"`: {746, 954, 742, 950, 776, 26, 772},
	} {
		var got []uint64
		shape{958, 7}.walk(hashOf(text), func(bit uint64) { got = append(got, bit) })
		require.Equal(t, want, got, text)
	}
	require.Equal(t, []string{"SET", "464", "SET", "396", "SET", "746", "SET", "954"},
		shape{958, 2}.appendBits(nil, []hash{hashOf("abc"), hashOf(`"abc"`)}, "SET"))
}

func TestShapesAreRedissons(t *testing.T) {
	t.Parallel()
	for _, want := range []Shape{
		{100, 0.01, 958, 7}, {1000, 0.03, 7298, 5}, {55_000_000, 0.03, 401_414_246, 5}, {1_000_000, 0.0001, 19_170_116, 13},
		{1_000_000, 0.001, 14_377_587, 10},
	} {
		got, err := shapeFor(want.Insertions, want.FalseProbability)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Contains(t, got.String(), "m=")
	}
	got, err := shapeFor(1, math.SmallestNonzeroFloat64)
	require.NoError(t, err)
	require.Equal(t, mostHashes, got.Hashes)
}

func TestProbabilitiesAreWrittenAsInJava(t *testing.T) {
	t.Parallel()
	for text, p := range map[string]float64{
		"0.03": 0.03, "1.0E-4": 1e-4, "0.001": 0.001, "9.99E-4": 9.99e-4, "0.5": 0.5, "1.5E-5": 1.5e-5, "1.0E-10": 1e-10, "4.9E-324": 4.9e-324,
		"2.2250738585072014E-308": 2.2250738585072014e-308, "0.0": 0, "0.30000000000000004": 0.30000000000000004, "0.9999999999999999": 0.9999999999999999,
		"1.0": 1,
	} {
		require.Equal(t, text, javaDouble(p))
	}
}

func TestEstimateOfAFullFilter(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, math.MaxInt64, estimate(shape{100, 3}, 100))
	require.EqualValues(t, math.MaxInt64, estimate(shape{100, 3}, 104))
	require.Zero(t, estimate(shape{100, 3}, 0))
	require.EqualValues(t, 23, estimate(shape{100, 3}, 50))
}

// TestHashesTakeNoMemory: a hash and its bits, k = 10.
func TestHashesTakeNoMemory(t *testing.T) {
	of, text, sum := shape{14_377_587, 10}, strings.Repeat("x", 40), uint64(0)
	require.Zero(t, testing.AllocsPerRun(100, func() { of.walk(hashOf(text), func(bit uint64) { sum += bit }) }))
}

func BenchmarkHashAndPositions(b *testing.B) {
	of, text, sum := shape{14_377_587, 10}, "value:123456", uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		of.walk(hashOf(text), func(bit uint64) { sum += bit })
	}
}

// FuzzParseConfig: what is read is a filter that can be used, or an error.
func FuzzParseConfig(f *testing.F) {
	for _, seed := range [][4]string{
		{"958", "7", "100", "0.01"}, {"", "", "", ""}, {"0", "7", "100", "0.01"}, {"958", "1000000000", "100", "0.01"},
		{"4294967295", "7", "100", "0.01"}, {"0958", "+7", "1e3", "1.0E-4"}, {"958", "7", "100", ""}, {"958", "7", "-1", "0.0"},
		{"9223372036854775808", "7", "100", "Infinity"}, {"958", "7", "100", "NaN"}, {"958", "7", "100", "0x1p-4"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, m, k, n, p string) {
		s, err := parseConfig([]string{m, k, n, p})
		if err != nil {
			require.Zero(t, s)
			require.ErrorIs(t, err, ErrDecode)
			return
		}
		size, hashes := s.shape().texts()
		require.Equal(t, []string{m, k}, []string{size, hashes}, "as it is compared on the server")
		require.Positive(t, s.Bits)
		require.LessOrEqual(t, s.Bits, int64(mostSize))
		require.LessOrEqual(t, s.Hashes, mostHashes)
		s.shape().walk(hashOf(hex.EncodeToString([]byte(p))), func(bit uint64) { require.Less(t, bit, uint64(s.Bits)) })
	})
}
