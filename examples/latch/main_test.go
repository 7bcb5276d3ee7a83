package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/examples/internal/crewtest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	crew.Join(asShard, "latch: a shard", serve)
	redistest.Main(m)
}

// ran runs the example, and returns what it said.
func ran(t *testing.T, args string) (code int, out, errors string) {
	t.Helper()
	return crewtest.Run(run).With(t, args)
}

func TestAllShardsStartTogether(t *testing.T) {
	t.Parallel()
	code, out, errors := ran(t, "-load 200ms")
	require.Zero(t, code, errors)
	require.Contains(t, out, "12 shards, server: embedded")
	require.Contains(t, out, "12 shards were off within")
	require.Empty(t, errors)
}

func TestAShardThatIsStartedAgainCountsOnce(t *testing.T) {
	t.Parallel()
	code, out, errors := ran(t, "-kill -shards 5 -load 8s")
	require.Zero(t, code, errors)
	require.Contains(t, out, "    0       2 ", "it lives for the second time")
	require.Empty(t, errors)
}

// TestACountDownOfNobodyCountsItTwice shows what CountDownOnce is for, and that
// the one above could fail.
func TestACountDownOfNobodyCountsItTwice(t *testing.T) {
	t.Parallel()
	code, _, errors := ran(t, "-kill -plain -shards 4 -load 4s")
	require.Equal(t, crew.ExitWrong, code)
	require.Contains(t, errors, "the start was given without shard 3")
}

func TestOnARealServer(t *testing.T) {
	t.Parallel()
	code, out, errors := ran(t, "-shards 3 -load 20ms -addr "+redistest.Shared(t).Addr())
	require.Zero(t, code, errors)
	require.Contains(t, out, "3 shards were off within")
}

func TestFlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	crewtest.Run(run).Refuses(t, "-shards 1", "-shards 65", "-load -1s", "x", "-y")
}
