package lease

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// A renewal whose last attempt was not answered asks for a connection of its
// own, also while the slot moves. rueidis' cluster client panics where it
// follows ASK for a pipeline of such calls.
func TestCallsOnConnectionsOfTheirOwnFollowASlotThatMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := cluster.Client(t)
	names := []string{"{tag}1", "{tag}2", "{tag}3"}
	var calls []scripts.Call
	for _, name := range names {
		require.NoError(t, c.Do(t.Context(), c.B().Hset().Key(name).FieldValue().FieldValue("owner", "1").Build()).Error())
		calls = append(calls, scripts.Call{Keys: []string{name}, Args: []string{"owner", "30000"}})
	}
	cluster.StartMigration(t, names[0]).Move(t, names...)
	for _, of := range [][]scripts.Call{calls, calls[:1]} {
		results := LockRenewal.Script.ExecMulti(t.Context(), c, true, of)
		require.Len(t, results, len(of))
		for _, res := range results {
			stands, err := res.AsIntSlice()
			require.NoError(t, err)
			require.Equal(t, []int64{1}, stands)
		}
	}
}
