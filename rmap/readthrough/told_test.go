package readthrough

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

func FuzzNumberOfShards(f *testing.F) {
	for _, text := range []string{"", "rueidisson:sharded 1 4", "rueidisson:sharded 2 4", "rueidisson:sharded 1 0", "rueidisson:sharded 1 99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := mapstore.SaidShards(text)
		if err != nil {
			require.ErrorIs(t, err, ErrDecode)
			require.Zero(t, n)
			return
		}
		require.Positive(t, n)
		again, err := mapstore.SaidShards(mapstore.SayShards(n))
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
	e := maptest.EngineOn(f, maptest.MiniredisClient(f))
	m := rmap.New[string, int](e, "m")
	l := New(m, maptest.Quick)
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
