package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/watchdog"
	"github.com/rueidisson/rueidisson/lock"
)

// lost expects that a term ends which the server does not know.
func lost(t testing.TB, term *election.Term) {
	t.Helper()
	work := term.Context(t.Context())
	select {
	case <-work.Done():
	case <-time.After(soon):
		require.FailNow(t, "the loss was not told")
	}
	require.ErrorIs(t, context.Cause(work), lock.ErrLost)
	require.ErrorIs(t, context.Cause(work), watchdog.ErrGone, "the server said so; the lease did not run out")
}

// replaced expects that the first term ends, and that its leader takes nothing from
// the second, whose token is higher.
func replaced(t testing.TB, first, second *election.Term) {
	t.Helper()
	require.Greater(t, second.Fence().Number(), first.Fence().Number())
	lost(t, first)
	require.ErrorIs(t, first.SetValue(t.Context(), "late"), lock.ErrLost)
	require.ErrorIs(t, first.Resign(t.Context()), lock.ErrLost)
	require.NoError(t, second.Err())
	require.NoError(t, second.SetValue(t.Context(), "second still"))
	resign(t, second)
}

func TestARestartThatForgetsIsALossAtTheNextRenewal(t *testing.T) {
	t.Parallel()
	server, name := redistest.Start(t), redistest.Name(t)
	first := campaign(t, locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(20*time.Second)).Election(name), "first")
	server.Restart()
	replaced(t, first, campaign(t, locktest.Open(t, server.Addr()).Election(name), "second"))
}

func TestAKeyOverwrittenUnderATermIsALoss(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	raw, c := server.Client(t), locktest.Open(t, server.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second))
	term := campaign(t, c.Election(name), "a")
	do(t, raw, "SET", name, "data")
	lost(t, term)
	require.ErrorIs(t, term.Resign(t.Context()), lock.ErrLost)
	_, err := c.Election(name).Campaign(t.Context(), "b")
	require.ErrorContains(t, err, "WRONGTYPE")
	require.ErrorContains(t, err, name)
	value, err := do(t, raw, "GET", name).ToString()
	require.NoError(t, err)
	require.Equal(t, "data", value, "somebody's data is left alone")
}
