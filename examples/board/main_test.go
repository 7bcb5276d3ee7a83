package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/examples/internal/crewtest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	crew.Join(asFeeder, "board: a feeder", serve)
	redistest.Main(m, redistest.Children{"board": boardChild})
}

// boardChild shows the board whose flags it hears, in a process of its own.
func boardChild(p *redistest.Parent) {
	args, _ := p.Hear()
	os.Exit(run(strings.Fields(args), os.Stderr, os.Stderr))
}

// ran runs the example, and returns what it said.
func ran(t *testing.T, args string) (code int, out, errors string) {
	t.Helper()
	return crewtest.Run(run).With(t, args)
}

func TestTheFilterAgreesWithTheSet(t *testing.T) {
	t.Parallel()
	code, out, errors := ran(t, "-for 3s -kill 1s")
	require.Zero(t, code, errors)
	require.Empty(t, errors)
	require.Contains(t, out, "server: embedded")
	require.Contains(t, out, "feeders were killed")
	require.Contains(t, out, "The filter missed 0 of them. Of ")
	require.Regexp(t, `(?m)^  1s  [0-9]+ visits by about`, out, "no terminal: a line each second")
	require.NotContains(t, out, "\x1b")
}

// TestNothingIsLeft on a server of others.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	code, _, errors := ran(t, "-for 1s -kill 300ms -p 0.001 -addr "+server.Addr())
	require.Zero(t, code, errors)
	raw := server.Client(t)
	keys, err := raw.Do(t.Context(), raw.B().Keys().Pattern("*").Build()).AsStrSlice()
	require.NoError(t, err)
	require.Empty(t, keys)
}

// TestNothingIsLeftOfOneThatEndsBefore: neither by Ctrl-C, nor by SIGKILL, which leaves keys, but no process.
func TestNothingIsLeftOfOneThatEndsBefore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t, func(o *rueidis.ClientOption) { o.PipelineMultiplex = -1 })
	alone := server.Connections(t)
	keys := func() int {
		all, err := raw.Do(t.Context(), raw.B().Keys().Pattern("*board-*").Build()).AsStrSlice()
		require.NoError(t, err)
		return len(all)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		p := redistest.StartChild(t, "board")
		p.Send("-for 1m -kill 200ms -addr %s", server.Addr())
		redistest.Eventually(t, func() bool { return keys() == 6 }, redistest.Soon, time.Millisecond) // a filter has two
		require.Greater(t, server.Connections(t), alone)
		require.NoError(t, syscall.Kill(p.PID(), sig))
		redistest.Eventually(t, func() bool { return server.Connections(t) == alone }, redistest.Soon, 5*time.Millisecond)
		if sig == syscall.SIGINT {
			require.Zero(t, keys())
		}
	}
}

// TestWhatMustNotBeIsSaid: the checks above could fail.
func TestWhatMustNotBeIsSaid(t *testing.T) {
	t.Parallel()
	fine := game{settings: settings{p: 0.01}, count: 500, told: 490, approx: 101, verdict: verdict{members: 100, others: 10_000, found: 120}}
	require.Empty(t, fine.problems())
	for _, change := range []func(*game){
		func(g *game) { g.missed = 1 },
		func(g *game) { g.found = 200 },
		func(g *game) { g.approx = 120 },
		func(g *game) { g.told = 501 },
		func(g *game) { g.members, g.approx = 0, 0 },
		func(g *game) { g.kill, g.last = 1, 3 },
	} {
		g := fine
		change(&g)
		require.Len(t, g.problems(), 1)
	}
}

func TestFlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	crewtest.Run(run).Refuses(t, "-for 0s", "-for 2h", "-kill -1s", "-p 0", "-p 1", "x", "-y")
}
