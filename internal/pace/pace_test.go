package pace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFactorIsBounded(t *testing.T) {
	t.Parallel()
	for given, want := range map[float64]float64{-1: 1, 0: 1, 0.3: 1, 1: 1, 2.5: 2.5, 10: 10, 1e9: 10} {
		require.Equal(t, want, bounded(given), "%v", given)
	}
}

func TestMeasureReturnsAFactor(t *testing.T) {
	t.Parallel()
	got := Measure()
	require.GreaterOrEqual(t, got, 1.0)
	require.LessOrEqual(t, got, float64(slowest))
}

// TestScaleAndParallelismFollowTheFactor sets the factor as a run of make test does. Not parallel: Factor is read once.
func TestScaleAndParallelismFollowTheFactor(t *testing.T) {
	for factor, want := range map[float64]struct {
		second time.Duration
		tests  int
	}{
		1: {time.Second, 8}, 2: {2 * time.Second, 4}, 4: {4 * time.Second, 4}, 10: {10 * time.Second, 4},
	} {
		old := Factor
		Factor = func() float64 { return factor }
		require.Equal(t, want.second, Scale(time.Second))
		require.Equal(t, want.tests, Tests())
		require.GreaterOrEqual(t, Packages(), 1)
		if factor > 2 {
			require.Equal(t, 1, Packages())
		}
		Factor = old
	}
}
