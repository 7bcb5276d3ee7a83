package stream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestStreamTellsWhatTheServerKnowsOfIt and of its groups.
func TestStreamTellsWhatTheServerKnowsOfIt(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		s := texted(t, raw)
		info, err := s.Info(t.Context())
		require.NoError(t, err)
		require.Zero(t, info)
		groups, err := s.Groups(t.Context())
		require.NoError(t, err)
		require.Empty(t, groups)
		lag, err := s.Group("g").Lag(t.Context())
		require.NoError(t, err)
		require.Zero(t, lag)

		g := made(t, s)
		info, err = s.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, Info{LastID: "0-0", Groups: 1}, info)
		first, second, third := add(t, s, "a"), add(t, s, "b"), add(t, s, "c")
		for m, err := range g.Messages(within(t), "c", WithBatch(1)) {
			require.NoError(t, err)
			if m.ID == first {
				require.NoError(t, m.Ack(t.Context()))
				continue
			}
			require.NoError(t, m.Nack(t.Context(), nil)) // the second is pending, the third was not given
			break
		}
		info, err = s.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, Info{Length: 3, Added: 3, LastID: third, First: first, Last: third, Groups: 1}, info)
		groups, err = s.Groups(t.Context())
		require.NoError(t, err)
		require.Equal(t, []GroupInfo{{Name: "g", Consumers: 1, Pending: 1, LastDelivered: second, Lag: 1}}, groups)
		lag, err = g.Lag(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, lag)
		_, err = s.Remove(t.Context(), third) // behind which the server does not know the lag
		require.NoError(t, err)
		for range 250 {
			add(t, s, "more")
		}
		lag, err = g.Lag(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 251, lag)
	})
}

// TestStreamIsNumberedBehindAnID.
func TestStreamIsNumberedBehindAnID(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		s := texted(t, raw)
		require.Error(t, s.SetID(t.Context(), "5-0"), "there is no stream")
		first := add(t, s, "a")
		require.Error(t, s.SetID(t.Context(), "5-0"), "that is below the first")
		require.ErrorIs(t, s.SetID(t.Context(), "x"), ErrInvalidArgument)
		far := decimal(time.Now().Add(time.Hour).UnixMilli())
		require.NoError(t, s.SetID(t.Context(), far+"-7"))
		require.NoError(t, s.SetID(t.Context(), far+"-7"))
		require.Equal(t, far+"-8", add(t, s, "b"))
		require.Less(t, first, far)
	})
}
