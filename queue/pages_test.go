package queue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/poller"
)

// TestPageBehindALongElementHasOneOfThem, and the time for that one only.
func TestPageBehindALongElementHasOneOfThem(t *testing.T) {
	t.Parallel()
	const long = 900_000
	var seen lengths
	seen.saw(poller.Item{Text: "short"})
	p := seen.takes(mostInOne)
	require.EqualValues(t, mostInOne, p.n)
	require.EqualValues(t, 5*mostInOne, p.bytes)
	items := make([]poller.Item, mostInOne)
	items[7].Text = string(make([]byte, long))
	p.saw(len(items), seen.saw(items...))
	require.EqualValues(t, 1, p.n)
	require.EqualValues(t, long, p.bytes)
	p.saw(0, 0)
	require.EqualValues(t, pageGrowth, p.n)
	require.Zero(t, p.bytes)
	require.Equal(t, pages{n: 1, most: page, bytes: long}, seen.walks(page))
	require.Equal(t, newPages(page), new(lengths).walks(page))
}
