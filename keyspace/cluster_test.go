package keyspace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	t.Run("each operation", func(t *testing.T) { eachOperation(t, raw) })
	t.Run("the model", func(t *testing.T) { againstTheModel(t, raw) })
	t.Run("a slot moves", func(t *testing.T) { aSlotMoves(t, cluster) })
	t.Run("a slot that is half moved", func(t *testing.T) { halfMoved(t, cluster) })
	t.Run("the look after the last page", func(t *testing.T) { lastLookIsLost(t, cluster) })
	t.Run("a failover", func(t *testing.T) {
		begin, names := fill(t, raw, 6000)
		k := New(enginetest.On(t, cluster.Client(t)))
		seen, killed := map[string]bool{}, false
		for name, err := range k.All(t.Context(), WithMatch(begin+"*")) {
			require.NoError(t, err)
			if seen[name] = true; len(seen) == 1000 && !killed {
				killed = true
				cluster.FailOver(t, name)
			}
		}
		require.True(t, killed)
		require.Len(t, seen, len(names))
		number(t, len(names))(k.DeleteMatch(t.Context(), begin+"*"))
	})
}

// aSlotMoves moves a slot, at each of several moments of a walk, with keys that were not come to: the walk finds them.
func aSlotMoves(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	begin, _ := fill(t, raw, 3000)
	tag := begin + "{moves}"
	var tagged []string
	for _, end := range []string{"a", "b", "c", "d"} {
		tagged = append(tagged, tag+end)
		redistest.Do(t, raw, "SET", tag+end, "v")
	}
	for _, at := range []int{1, 500, 1000, 1500, 2000, 2500, 3000} {
		k := New(enginetest.On(t, raw))
		seen, moved := map[string]bool{}, false
		for name, err := range k.All(t.Context(), WithMatch(begin+"*")) {
			require.NoError(t, err)
			if seen[name] = true; len(seen) == at && !moved {
				moved = true
				migration := cluster.StartMigration(t, tagged[0])
				migration.Move(t, tagged...)
				migration.Finish(t)
			}
		}
		require.True(t, moved)
		require.Len(t, seen, 3004, at)
		number(t, 3004)(k.CountMatch(t.Context(), begin+"*"))
	}
	number(t, 4)(New(enginetest.On(t, raw)).DeleteMatch(t.Context(), tag+"*"))
}

// lastLookIsLost loses the reply in which a server says which slots it has, after its last page: no key counts twice.
func lastLookIsLost(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	begin, names := fill(t, cluster.Client(t), 300)
	client, before := cluster.Proxied(t)
	for _, node := range cluster.Nodes() {
		asked := 0
		lost := before(node).DropReply(func(cmd []string) bool {
			if redistest.Command("CLUSTER")(cmd) && redistest.Arg("NODES")(cmd) {
				asked++
				return asked == 2
			}
			return false
		}, 1)
		k := New(enginetest.On(t, client))
		if cluster.Master(names[0]) == node {
			number(t, len(names))(k.CountMatch(t.Context(), begin+"*"))
			lost.Await(t)
		}
	}
}

// halfMoved has keys of one slot on two servers for as long as the walk lasts.
func halfMoved(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	tag := "{" + redistest.Name(t) + "}"
	names := []string{tag + "a", tag + "b", tag + "c", tag + "d"}
	k := New(enginetest.On(t, raw))
	for _, name := range names {
		redistest.Do(t, raw, "SET", name, "v")
	}
	migration := cluster.StartMigration(t, tag)
	migration.Move(t, names[0], names[1])
	require.Equal(t, names, listed(t, k, WithMatch(tag+"*")))
	number(t, 4)(k.DeleteMatch(t.Context(), tag+"*"))
	migration.Finish(t)
	number(t, 0)(k.Exists(t.Context(), names...))
}
