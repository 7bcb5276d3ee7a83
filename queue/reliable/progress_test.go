package reliable

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProgressIsOfWhoHasTheMessage, and goes with the message.
func TestProgressIsOfWhoHasTheMessage(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		id := r.adds("a")
		r.adds("b")
		m := r.gets("a")
		require.Nil(t, r.holds(id, Running).Progress)
		require.NoError(t, m.SetProgress(ctx, map[string]int{"done": 1, "of": 3}))
		info := r.holds(id, Running)
		require.JSONEq(t, `{"done":1,"of":3}`, string(info.Progress))
		for listed, err := range r.Messages(ctx, Running) {
			require.NoError(t, err)
			require.Equal(t, info, listed)
		}
		require.NoError(t, r.other().SetProgress(ctx, m.Token(), "half"))
		require.NoError(t, m.Nack(ctx, errAgain, WithDelay(0)))
		require.ErrorIs(t, m.SetProgress(ctx, 1), ErrSettled)
		require.ErrorIs(t, r.SetProgress(ctx, m.Token(), 1), ErrLost, "somebody may have the message by now")
		require.Equal(t, json.RawMessage(`"half"`), r.holds(id, Ready).Progress)
		again := r.gets("a")
		require.ErrorIs(t, r.SetProgress(ctx, m.Token(), 1), ErrLost, "it is another delivery's")
		require.ErrorIs(t, again.SetProgress(ctx, func() {}), ErrInvalidArgument)
		require.ErrorIs(t, again.SetProgress(ctx, strings.Repeat("p", longestProgress)), ErrInvalidArgument)
		require.NoError(t, again.SetProgress(ctx, nil))
		require.NoError(t, again.Ack(ctx))
		m = r.gets("b")
		require.NoError(t, m.SetProgress(ctx, 1))
		require.NoError(t, m.Ack(ctx)) // of a queue in which there is nothing else to look at
		r.leaves()
	})
}
