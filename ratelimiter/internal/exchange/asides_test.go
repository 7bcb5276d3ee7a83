package exchange

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatNobodyWaitsForIsBounded(t *testing.T) {
	t.Parallel()
	var a asides
	for range mostAside {
		require.True(t, a.enter())
	}
	require.False(t, a.enter())
	require.False(t, a.enter())
	a.leave()
	require.True(t, a.enter())
	require.False(t, a.enter())
}

func TestOfWhatNobodyWaitsForNothingIsLeft(t *testing.T) {
	t.Parallel()
	var a asides
	one, other := a.taking("x"), a.taking("x")
	require.Len(t, a.before("x"), 2)
	require.Empty(t, a.before("y"))
	one()
	left := a.before("x")
	require.Len(t, left, 1)
	a.taking("y")()
	other()
	<-left[0]
	require.Empty(t, a.takes)
}
