package locking

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHighestTokenOfEachLockIsRemembered(t *testing.T) {
	t.Parallel()
	var e Engine
	require.Equal(t, "0", e.HighestToken("a"))
	e.SawToken("a", 7)
	e.SawToken("a", 5)
	e.SawToken("b", 9)
	e.SawToken("b", math.MaxInt64)
	require.Equal(t, "7", e.HighestToken("a"))
	require.Equal(t, "9", e.HighestToken("b"), "no counter of ours gives that")
	for i := range 2 * mostHighest {
		e.SawToken(strconv.Itoa(i), 1)
	}
	require.Len(t, e.highest.of, mostHighest)
	e.SawToken("c", 3)
	require.Equal(t, "3", e.HighestToken("c"))
}
