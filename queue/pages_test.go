package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPageBehindALongElementHasOneOfThem, and the time for that one only.
func TestPageBehindALongElementHasOneOfThem(t *testing.T) {
	t.Parallel()
	const long = 900_000
	var seen lengths
	seen.saw("short")
	p := seen.takes(mostInOne)
	require.EqualValues(t, mostInOne, p.n)
	require.EqualValues(t, 5*mostInOne, p.bytes)
	texts := make([]string, mostInOne)
	texts[7] = string(make([]byte, long))
	p.saw(len(texts), seen.saw(texts...))
	require.EqualValues(t, 1, p.n)
	require.EqualValues(t, long, p.bytes)
	p.saw(0, 0)
	require.EqualValues(t, pageGrowth, p.n)
	require.Zero(t, p.bytes)
	require.Equal(t, pages{n: 1, most: page, bytes: long}, seen.walks(page))
	require.Equal(t, newPages(page), new(lengths).walks(page))
}
