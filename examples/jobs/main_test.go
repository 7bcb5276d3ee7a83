package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/examples/internal/crewtest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

func TestMain(m *testing.M) {
	crew.Join(asPlace, "jobs: a place", serve)
	redistest.Main(m)
}

// ran runs the example, and returns what it said.
func ran(t *testing.T, args string) (code int, out, errors string) {
	t.Helper()
	return crewtest.Run(run).With(t, args)
}

func TestEveryOrderIsMailedAsOftenAsItShould(t *testing.T) {
	t.Parallel()
	n := redistest.Count(t, 200, 1000)
	code, out, errors := ran(t, fmt.Sprintf("-orders %d -every 5ms -kill 500ms", n))
	require.Zero(t, code, errors)
	require.Contains(t, out, fmt.Sprintf("%d orders, 3 processes, server: embedded", n))
	never := n / 25
	require.Contains(t, out, fmt.Sprintf("Every order was mailed exactly as often as it should: %d once, and %d without an address never.", n-never, never))
	require.Empty(t, errors)
}

func TestOnARealServer(t *testing.T) {
	t.Parallel()
	code, out, errors := ran(t, "-orders 100 -every 5ms -kill 300ms -addr "+redistest.Shared(t).Addr())
	require.Zero(t, code, errors)
	require.Contains(t, out, "mailed exactly as often as it should: 96 once, and 4 without an address never.")
}

// TestWhatMustNotBeIsSaid: the checks above could fail.
func TestWhatMustNotBeIsSaid(t *testing.T) {
	t.Parallel()
	l := &line{settings: settings{orders: 8}, post: &post{letters: make([]int, 8)}, dead: []order{{Number: 7}}}
	for number := range 7 {
		l.post.send(number)
		l.post.send(number)
	}
	require.Empty(t, l.problems())
	l.post.plain = true
	l.post.send(3)
	require.Equal(t, []string{"order 3 was mailed 2 times, not 1"}, l.problems())
	l.post.send(7)
	require.Contains(t, l.problems(), "order 7 was mailed 1 times, not 0")
	l.dead, l.late = nil, true
	require.Contains(t, l.problems(), "0 orders are dead, not the 1 without an address")
	require.Contains(t, l.problems(), "after 1m0s orders are left over")
}

func TestEachPlaceIsDrawn(t *testing.T) {
	t.Parallel()
	l := &line{settings: settings{orders: 10}, stations: []*station{
		{stats: reliable.Stats{Added: 10, Acked: 5, Retried: 1, RanOut: 2}, kills: 1, killed: true},
		{stats: reliable.Stats{Added: 5, Acked: 1, Dead: 1, Oldest: time.Now()}, kills: 2}, {},
	}}
	lines := l.drawing()
	require.Len(t, lines, 3)
	require.Equal(t, "paid   "+strings.Repeat("█", 15)+strings.Repeat("░", 15)+"  added 10, done 5, retried 3, dead 0, oldest -, killed (1)", lines[0])
	require.Contains(t, lines[1], "dead 1, oldest 0.0 s, lives again (2)")
	require.Contains(t, lines[2], "mailed ░")
}

func TestFlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	crewtest.Run(run).Refuses(t, "-orders 0", "-orders 1000001", "-every -1s", "-kill -1s", "x", "-y")
}
