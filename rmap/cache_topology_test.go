package rmap

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// asMap is what a cache has in common with a map.
func asMap(m *Cache[string, int]) *Map[string, int] { return &Map[string, int]{wholeOf(m.m)} }

// perishable has all entries of a handle end, but not in a test.
var perishable = []CacheOption{WithTTL(time.Hour), WithMaxIdle(time.Hour)}

func TestACacheOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("names that break slots are refused", func(t *testing.T) {
		m := NewCache[string, int](maptest.EngineOn(t, cluster.Client(t)), "{}stock")
		for name, op := range operations {
			require.ErrorIs(t, op(t.Context(), asMap(m), "k", 1), ErrInvalidArgument, name)
		}
	})
	t.Run("all its keys are in one slot", func(t *testing.T) {
		m := NewCache[string, string](maptest.EngineOn(t, cluster.Client(t)), redistest.Name(t), WithCodec(codec.Text))
		require.NoError(t, m.SetMaxSize(t.Context(), 2, LRU))
		told := m.Events(t.Context())
		require.NoError(t, m.PutMany(t.Context(), map[string]string{"a": "1", "b": "2"}, WithTTL(time.Hour), WithMaxIdle(time.Hour)))
		require.NoError(t, m.Put(t.Context(), "c", "3", WithTTL(time.Millisecond)))
		kinds := map[EventKind]int{}
		for ev, err := range told {
			require.NoError(t, err)
			if kinds[ev.Kind]++; ev.Kind == Expired {
				break
			}
		}
		assert.Equal(t, map[EventKind]int{Created: 3, Removed: 1, Expired: 1}, kinds)
	})
	t.Run("a slot moves", func(t *testing.T) { aCacheMoves(t, cluster, redistest.Name(t)) })
	t.Run("a slot moves for long", func(t *testing.T) { aCacheIsOnTheMove(t, cluster) })
	t.Run("a failover", func(t *testing.T) {
		name := redistest.Name(t)
		aCacheFailsOver(t, cluster.Client(t), name, cluster.Master(name), func(addr string) { cluster.AwaitMaster(t, name, addr) })
	})
}

// aCacheMoves moves a cache under load. Its scripts have several keys, of which some do not exist, so the servers put
// them off until the slot has moved. None fails by that, and what expires behind the move is swept there.
func aCacheMoves(t *testing.T, cluster *redistest.Cluster, name string) {
	m := NewCache[string, int](maptest.EngineOn(t, cluster.Client(t)), name, perishable...)
	l := underLoad(t, asMap(m))
	l.more(t)
	migration := cluster.StartMigration(t, m.Name())
	redistest.Eventually(t, func() bool { return migration.From().Refusals(t, "TRYAGAIN") > 0 }, maptest.Soon, time.Millisecond)
	migration.Move(t, mapstore.ObjectOf(m.Name())...)
	migration.Finish(t)
	l.more(t)
	l.end()
	require.Empty(t, l.failed)
	n, _, err := m.Get(t.Context(), "all")
	require.NoError(t, err)
	require.Equal(t, l.done, n)
	expires(t, m)
}

// aCacheIsOnTheMove moves a cache for longer than a call is sent again: each says so, and has done nothing.
func aCacheIsOnTheMove(t *testing.T, cluster *redistest.Cluster) {
	m := NewCache[string, int](maptest.EngineOn(t, cluster.Client(t)), redistest.Name(t))
	require.NoError(t, m.Put(t.Context(), "k", 1)) // without an end, so that every call finds one of its keys and not the others
	migration := cluster.StartMigration(t, m.Name())
	var all sync.WaitGroup
	for _, name := range []string{
		"get", "get many", "has", "put", "put many", "swap", "remove", "clear", "put if absent", "replace", "take", "compare and swap",
		"compare and remove", "compute", "delete", "expire", "persist",
	} {
		all.Go(func() {
			err := operations[name](t.Context(), asMap(m), "k", 2)
			assert.ErrorIs(t, err, ErrSlotMoving, name)
			assert.ErrorContains(t, err, m.Name(), name)
			assert.NotErrorIs(t, err, ErrOutcomeUnknown, name)
		})
	}
	all.Wait()
	migration.Move(t, mapstore.ObjectOf(m.Name())...)
	migration.Finish(t)
	v, there, err := m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, 1, v)
}

// aCacheFailsOver has the master die under load; see goesOnBehindAFailover.
func aCacheFailsOver(t *testing.T, raw rueidis.Client, name string, master *redistest.Server, await func(addr string)) {
	t.Helper()
	m := NewCache[string, int](maptest.EngineOn(t, raw, maptest.ShortSends), name, perishable...)
	l := underLoad(t, asMap(m))
	l.more(t)
	master.Kill()
	await(master.Addr())
	l.more(t)
	l.end()
	n, _, err := m.Get(context.Background(), "all")
	require.NoError(t, err)
	assert.LessOrEqual(t, n, l.done+l.unknown)
	expires(t, m)
}

// expires looks that the sweeper goes on.
func expires(t *testing.T, m *Cache[string, int]) {
	t.Helper()
	before, err := m.Len(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.Put(t.Context(), "short", 1, WithTTL(time.Millisecond)))
	require.Eventually(t, func() bool { n, err := m.Len(t.Context()); return err == nil && n == before }, maptest.Soon, 5*time.Millisecond)
}

// TestHistoriesOfACacheAreLinearizable loses replies, while others sweep.
func TestHistoriesOfACacheAreLinearizable(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, opts := range map[string][]CacheOption{"without ids": nil, "with ids": {WithRequestIDs()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range redistest.Count(t, 3, 300) {
				h := runCacheHistory(t, server, i%2 == 1, append(opts, perishable...))
				require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(cells, h.all, 20*time.Second))
				if opts == nil {
					require.Positive(t, h.lost, "no reply was lost")
				} else {
					require.Zero(t, h.lost, "each write is seen through")
				}
			}
		})
	}
}

func runCacheHistory(t *testing.T, server *redistest.Server, bounded bool, opts []CacheOption) *history {
	t.Helper()
	raw := server.Client(t)
	key := maptest.CacheNamed(t, raw)
	if bounded { // which has all the writes go by the long way
		require.NoError(t, NewCache[string, int](maptest.EngineOn(t, raw), key).SetMaxSize(t.Context(), 1000, LRU))
	}
	h := &history{began: time.Now()}
	var all sync.WaitGroup
	for i := range 2 {
		client, proxy := maptest.Through(t, server)
		m := NewCache[string, int](maptest.EngineOn(t, client), key, opts...)
		proxy.DropReply(sometimes(key), 1<<30)
		for j := range 4 {
			all.Go(func() {
				for n := range 40 {
					if n%10 == 0 { // somebody sweeps among them
						if err := m.Put(t.Context(), fmt.Sprint("short", n), 1, WithTTL(time.Millisecond)); !errors.Is(err, ErrOutcomeUnknown) {
							assert.NoError(t, err)
						}
					}
					assert.NoError(t, h.record(t.Context(), 4*i+j, asMap(m), randomInput()))
				}
			})
		}
	}
	all.Wait()
	return h
}
