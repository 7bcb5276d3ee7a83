package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/examples/internal/crewtest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	crew.Join(asPage, "catalog: a page", serve)
	redistest.Main(m)
}

// ran runs the example, and returns what it said.
func ran(t *testing.T, args string) (code int, out, errors string) {
	t.Helper()
	return crewtest.Run(run).With(t, args)
}

func TestEveryProductIsLoadedOnceAndEveryPriceIsSeen(t *testing.T) {
	t.Parallel()
	code, out, errors := ran(t, "-for 500ms -every 10ms -slow 20ms")
	require.Zero(t, code, errors)
	require.Contains(t, out, "3 processes, 12 products")
	require.Contains(t, out, "The store was asked 12 times, for 12 products.")
	require.NotContains(t, out, "no near copies")
	require.Empty(t, errors)
}

// TestWhereThereIsNoTracking every read is one of the map, and none is old.
func TestWhereThereIsNoTracking(t *testing.T) {
	t.Parallel()
	code, out, errors := ran(t, "-tracked -pages 2 -for 500ms -every 10ms -slow 20ms")
	require.Zero(t, code, errors)
	require.Contains(t, out, "There are no near copies, every read went to the map: ")
}

func TestOnARealServer(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"", "-tracked "} {
		code, out, errors := ran(t, how+"-pages 2 -for 300ms -every 10ms -slow 20ms -addr "+redistest.Shared(t).Addr())
		require.Zero(t, code, errors)
		require.Contains(t, out, "2 processes, 12 products")
		require.NotContains(t, out, "no near copies")
	}
}

// TestAProductThatIsLoadedTwiceIsAProblem: the checks above could fail.
func TestWhatMustNotBeIsSaid(t *testing.T) {
	t.Parallel()
	c := &catalog{store: &store{by: make([]int, 1)}, pages: []*shop{{}}}
	for product := range products {
		c.store.load(product, 0)
	}
	require.Empty(t, c.problems())
	c.store.load(3, 0)
	c.prices[5] = append(c.prices[5], c.prices[5]...)
	require.Equal(t, []string{"product 3 was loaded 2 times"}, c.problems())
	c.pages[0].seen[7] = -1
	require.Contains(t, c.problems(), "1 of the last prices were not seen")
}

func TestFlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	crewtest.Run(run).Refuses(t, "-pages 0", "-pages 33", "-for -1s", "-every 0", "-slow -1s", "x", "-y")
}
