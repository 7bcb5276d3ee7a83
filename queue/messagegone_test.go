package queue

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestGroupMessageThatTheStreamHasDropped is lost, and nobody is told that it comes again or was put aside.
func TestGroupMessageThatTheStreamHasDropped(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		dropDead(t, raw, s)
		for _, how := range []func(m *Message[string, string]) error{
			func(m *Message[string, string]) error { return m.Nack(t.Context(), nil) },
			func(m *Message[string, string]) error { return m.Bury(t.Context(), nil) },
		} {
			id := add(t, s, "a")
			for m, err := range g.Messages(within(t), "c") {
				require.NoError(t, err)
				_, err = s.Remove(t.Context(), id)
				require.NoError(t, err)
				require.ErrorIs(t, how(m), ErrLost)
				break
			}
			require.Empty(t, all(t, g.Pending(t.Context())))
		}
		require.Empty(t, all(t, g.Dead(t.Context())))
	})
}

// TestGroupRedriveEnds, though what it redrives is put aside again meanwhile.
func TestGroupRedriveEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		dropDead(t, raw, s)
		id := add(t, s, "a")
		bury := func(n int) {
			for range n {
				redistest.Do(t, raw, "XADD", keys.StreamDead(g.s.key, "g"), "*", "g", id, "n", "1", "c", "", "=v", "a")
			}
		}
		bury(mostEntries + 3)
		n, at, till, err := g.redriveSome(t.Context(), "-", "+")
		require.NoError(t, err)
		require.EqualValues(t, mostEntries, n)
		bury(mostEntries)
		n, at, _, err = g.redriveSome(t.Context(), at, till)
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		require.Empty(t, at)
		n, err = g.Redrive(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, mostEntries, n)
		n, err = g.Redrive(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	})
}
