package redistest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASlotMovesWithItsKeys(t *testing.T) {
	t.Parallel()
	c := StartCluster(t)
	client := c.Client(t)
	keys := []string{"{foo}a", "{foo}b", "{foo}c"}
	for _, key := range keys[:2] {
		require.NoError(t, client.Do(t.Context(), client.B().Set().Key(key).Value("v").Build()).Error())
	}

	m := c.StartMigration(t, "foo")
	from, to := m.From(), m.To()
	require.Same(t, c.Master("foo"), from)
	require.Contains(t, c.Nodes()[:2], to)
	m.Move(t, keys[0], "{foo}nobody")
	for _, key := range []string{keys[0], keys[2]} {
		_, err := from.ask("GET", key)
		require.ErrorContains(t, err, "ASK", key)
	}
	_, err := from.ask("GET", keys[1])
	require.NoError(t, err)
	from.ResetStats()
	_, err = from.ask("MGET", keys[0], keys[1])
	require.ErrorContains(t, err, "TRYAGAIN")
	require.EqualValues(t, 1, from.Refusals(t, "TRYAGAIN"))
	require.Zero(t, from.Refusals(t, "ASK"))
	require.NoError(t, client.Do(t.Context(), client.B().Set().Key(keys[2]).Value("v").Build()).Error())

	m.Finish(t)
	require.Same(t, to, c.Master("foo"))
	value, err := to.ask("MGET", keys[0], keys[1], keys[2])
	require.NoError(t, err)
	require.Equal(t, []any{"v", "v", "v"}, value)
	_, err = from.ask("GET", keys[0])
	require.ErrorContains(t, err, "MOVED")
	c.AwaitComplete(t)
}
