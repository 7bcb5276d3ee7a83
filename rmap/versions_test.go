package rmap

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// nameOn is a name whose slot that master has.
func nameOn(t *testing.T, cluster *redistest.Cluster, master *redistest.Server) string {
	t.Helper()
	for {
		if name := redistest.Name(t); cluster.Master(name) == master {
			return name
		}
	}
}

// TestAClusterOfTwoVersions is in the middle of an upgrade: one of its masters is
// the old one still.
func TestAClusterOfTwoVersions(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.NodeVersions("7.0", "8.0", "8.0"))
	older, newer := cluster.Nodes()[0], cluster.Nodes()[1]
	t.Run("the suite", func(t *testing.T) {
		raw := cluster.Client(t)
		e := maptest.EngineOn(t, raw)
		for name, test := range suite {
			t.Run(name, func(t *testing.T) {
				test(t, e, nameOn(t, cluster, older), nil)
				test(t, e, nameOn(t, cluster, newer), []MapOption{WithRequestIDs()})
			})
		}
	})
	t.Run("a native map is refused where the server is the old one", func(t *testing.T) {
		raw := cluster.Client(t)
		e := maptest.EngineOn(t, raw)
		there := NewTTLMap[string, int](e, nameOn(t, cluster, newer), WithTTL(time.Minute))
		refused := NewTTLMap[string, int](e, nameOn(t, cluster, older), WithTTL(time.Minute))
		for name, op := range natives {
			require.NoError(t, op(t.Context(), there), name)
			err := op(t.Context(), refused)
			require.ErrorIs(t, err, errors.ErrUnsupported, name)
			require.ErrorContains(t, err, "the server is Redis 7.0.", name)
		}
		nothingIn(t, raw, refused)
	})
	t.Run("a slot moves to the new server", func(t *testing.T) {
		aSlotMoves(t, cluster, nameOn(t, cluster, older))
		aCacheMoves(t, cluster, nameOn(t, cluster, older))
	})
	t.Run("a native map moves to the new server", func(t *testing.T) { aNativeMapMoves(t, cluster, nameOn(t, cluster, older)) })
}

// aNativeMapMoves has a map whose server is the old one be a native one behind the
// move, while the lock of an entry is held.
func aNativeMapMoves(t *testing.T, cluster *redistest.Cluster, name string) {
	raw := cluster.Client(t)
	e := maptest.EngineOn(t, raw)
	m, plain := NewTTLMap[string, int](e, name, WithTTL(time.Hour)), New[string, int](e, name)
	require.NoError(t, plain.Put(t.Context(), "k", 1))
	hold, err := plain.Lock("k").Lock(t.Context())
	require.NoError(t, err)
	err = m.Put(t.Context(), "k", 2)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	migration := cluster.StartMigration(t, name)
	err = m.Put(t.Context(), "k", 2) // the map is there still
	require.ErrorIs(t, err, errors.ErrUnsupported)
	migration.Move(t, name)
	v, _, err := plain.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 1, v)
	require.NoError(t, m.Put(t.Context(), "k", 2)) // it is asked for there
	migration.Finish(t)
	left, err := m.TTL(t.Context(), "k")
	require.NoError(t, err)
	require.Greater(t, left, 59*time.Minute)
	require.NoError(t, hold.Err())
	require.NoError(t, hold.Unlock(t.Context()))
}

func nothingIn(t *testing.T, raw rueidis.Client, m *TTLMap[string, int]) {
	t.Helper()
	n, err := raw.Do(t.Context(), raw.B().Exists().Key(m.m.Key).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, n, "nothing was written")
}

// TestAFailoverToANewerServer has replicas that were upgraded first.
func TestAFailoverToANewerServer(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.NodeVersions("7.0", "7.0", "7.0", "8.0", "8.0", "8.0"))
	name := redistest.Name(t)
	raw := cluster.Client(t)
	m := NewTTLMap[string, int](maptest.EngineOn(t, raw, maptest.ShortSends), name, WithTTL(time.Minute))
	require.ErrorIs(t, m.Put(t.Context(), "k", 1), errors.ErrUnsupported)
	nothingIn(t, raw, m)
	goesOnBehindAFailover(t, cluster.Client(t), name, cluster.Master(name), func(addr string) { cluster.AwaitMaster(t, name, addr) })
	redistest.Eventually(t, func() bool {
		return m.Put(context.Background(), "k", 1) == nil
	}, maptest.Soon, 10*time.Millisecond)
}
