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
