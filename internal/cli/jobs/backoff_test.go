package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAPauseDoubles up to ten minutes.
func TestAPauseDoubles(t *testing.T) {
	t.Parallel()
	var pauses []string
	for _, attempt := range []int{1, 2, 3, 6, 10, 11, 1000000} {
		pauses = append(pauses, doubling(time.Second)(attempt).String())
	}
	require.Equal(t, []string{"1s", "2s", "4s", "32s", "8m32s", "10m0s", "10m0s"}, pauses)
	require.Zero(t, doubling(0)(1000000))
}
