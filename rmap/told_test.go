package rmap

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzNumberOfShards(f *testing.F) {
	for _, text := range []string{"", "rueidisson:sharded 1 4", "rueidisson:sharded 2 4", "rueidisson:sharded 1 0", "rueidisson:sharded 1 99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := saidShards(text)
		if err != nil {
			require.ErrorIs(t, err, ErrDecode)
			require.Zero(t, n)
			return
		}
		require.Positive(t, n)
		again, err := saidShards(sayShards(n))
		require.NoError(t, err)
		require.Equal(t, n, again)
	})
}

// FuzzWhatIsToldOfLoads: nobody who publishes anything keeps a load from being
// tried for long.
func FuzzWhatIsToldOfLoads(f *testing.F) {
	for _, text := range []string{"", "loaded", "absent token", "failed", "left", "absent", "loaded loaded"} {
		f.Add(text, uint8(1))
	}
	f.Add("failed", uint8(255))
	e := engineOn(f, miniredisClient(f))
	m := New[string, int](e, "m")
	l := NewLoading(m, quick)
	f.Fuzz(func(t *testing.T, text string, times uint8) {
		r := l.newRun("k", "k")
		for range times {
			require.True(t, r.heard(text))
		}
		require.LessOrEqual(t, r.pausing(), longestOut)
		r.heard(toldLoaded)
		require.LessOrEqual(t, r.pausing(), longestOut)
	})
}
