package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/examples/internal/crewtest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	crew.Join(asMember, "delayqueue: a process", serve)
	redistest.Main(m)
}

// ran runs the example, and returns what it said.
func ran(t *testing.T, args string) (code int, out, errors string) {
	t.Helper()
	return crewtest.Run(run).With(t, args)
}

func TestEachOrderIsPaidOrCanceled(t *testing.T) {
	t.Parallel()
	code, out, errors := ran(t, "-orders 30 -within 1s")
	require.Zero(t, code, errors)
	require.Contains(t, out, "30 orders, server: embedded")
	require.Contains(t, out, "after the shop was killed")
	require.Empty(t, errors)
}

func TestOrdersThatNobodyPaysAreCanceledWithoutTheShop(t *testing.T) {
	t.Parallel()
	code, out, errors := ran(t, "-orders 20 -within 1s -pay 0 -addr "+redistest.Shared(t).Addr())
	require.Zero(t, code, errors)
	require.Contains(t, out, "0 were paid, and 20 canceled")
	require.NotContains(t, out, " 0 of them after")
}

// TestWhatMustNotBeIsSaid: the checks above could fail.
func TestWhatMustNotBeIsSaid(t *testing.T) {
	t.Parallel()
	due := time.Now()
	b := &books{killed: due, orders: []bought{
		{due: due, paid: 1}, {due: due, canceled: []time.Time{due}}, {due: due}, {due: due, paid: 1, canceled: []time.Time{due}},
		{due: due, canceled: []time.Time{due.Add(-time.Second)}},
	}}
	require.Len(t, b.problems(), 3)
	require.False(t, b.settled())
}

func TestFlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	crewtest.Run(run).Refuses(t, "-orders 0", "-orders 1001", "-within 0s", "-pay 2", "x", "-y")
}
