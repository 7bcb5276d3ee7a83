package exchange

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatNobodyWaitsForIsBounded(t *testing.T) {
	t.Parallel()
	var a asides
	for range mostAside {
		require.True(t, a.Enter())
	}
	require.False(t, a.Enter())
	require.False(t, a.Enter())
	a.Leave()
	require.True(t, a.Enter())
	require.False(t, a.Enter())
}
