package queue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
)

// TestPageBehindALongElementHasOneOfThem, and the time for that one only.
func TestPageBehindALongElementHasOneOfThem(t *testing.T) {
	t.Parallel()
	const long = 900_000
	var seen lengths
	seen.saw(poller.Item{Text: "short"})
	p := seen.takes(paging.Most)
	require.EqualValues(t, paging.Most, p.N)
	require.EqualValues(t, 5*paging.Most, p.Bytes)
	items := make([]poller.Item, paging.Most)
	items[7].Text = string(make([]byte, long))
	p.Saw(len(items), seen.saw(items...))
	require.EqualValues(t, 1, p.N)
	require.EqualValues(t, long, p.Bytes)
	p.Saw(0, 0)
	require.EqualValues(t, paging.Growth, p.N)
	require.Zero(t, p.Bytes)
	require.Equal(t, paging.Plan{N: 1, Most: page, Bytes: long}, seen.walks(page))
	require.Equal(t, paging.Walk(page), new(lengths).walks(page))
}
