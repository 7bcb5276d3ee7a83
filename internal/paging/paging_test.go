package paging

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlanAfterALongElementHasOneOfThem, and the time for that one only.
func TestPlanAfterALongElementHasOneOfThem(t *testing.T) {
	t.Parallel()
	const long = 900_000
	p := Takes(Most)
	require.Equal(t, Plan{N: 1, Most: Most}, p)
	p.Saw(1, 5)
	require.Equal(t, Plan{N: Growth, Most: Most, Bytes: 5 * Growth}, p)
	require.Equal(t, Plan{N: 2, Most: Most, Bytes: 10}, p.UpTo(2))
	require.Equal(t, p, p.UpTo(Growth+1))
	p.Saw(Growth, Growth*long)
	require.Equal(t, Plan{N: 1, Most: Most, Bytes: long}, p)
	p.Saw(0, 0)
	require.Equal(t, Plan{N: Growth, Most: Most}, p)
}

// TestPlanOfAWalkNeverExceedsItsBound, however short the elements are.
func TestPlanOfAWalkNeverExceedsItsBound(t *testing.T) {
	t.Parallel()
	require.Equal(t, Plan{N: 3, Most: 3}, Walk(3))
	p := Walk(100)
	for range 10 {
		p.Saw(int(p.N), p.N)
	}
	require.EqualValues(t, 100, p.N)
}
