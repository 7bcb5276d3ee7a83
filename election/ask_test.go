package election_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// TestElectionIsAskedAndDeposed asks who leads and who waits, and has the leader deposed:
// the next candidate is elected, with a higher token.
func TestElectionIsAskedAndDeposed(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func() *rueidisson.Client) {
		name, a, b := redistest.Name(t), connect(), connect()
		el := b.Election(name)
		leader, err := el.Leader(t.Context())
		require.NoError(t, err)
		require.True(t, leader.None())
		led, err := el.Depose(t.Context())
		require.NoError(t, err)
		require.False(t, led)

		first := campaign(t, a.Election(name), "a")
		leader, err = el.Leader(t.Context())
		require.NoError(t, err)
		require.Equal(t, election.Leader{Value: "a", Fence: first.Fence()}, leader)
		later := campaignLater(t.Context(), el, "b")
		awaitCandidates(t, a, name, 1)
		waiting, err := a.Election(name).Candidates(t.Context())
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		require.False(t, waiting[0].Mine)
		waiting, err = el.Candidates(t.Context())
		require.NoError(t, err)
		require.True(t, waiting[0].Mine)

		led, err = el.Depose(t.Context())
		require.NoError(t, err)
		require.True(t, led)
		won := <-later
		require.NoError(t, won.err)
		require.Greater(t, won.term.Fence().Number(), first.Fence().Number())
		leader, err = a.Election(name).Leader(t.Context())
		require.NoError(t, err)
		require.Equal(t, "b", leader.Value)
		require.ErrorIs(t, first.Resign(context.Background()), lock.ErrLost)
		resign(t, won.term)

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ask := range []func() error{
			func() error { _, err := el.Leader(ended); return err },
			func() error { _, err := el.Candidates(ended); return err },
			func() error { _, err := el.Depose(ended); return err },
		} {
			require.ErrorIs(t, ask(), context.Canceled)
		}
	})
}
