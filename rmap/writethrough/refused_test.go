package writethrough

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// storeNever refuses to hear of a change that its caller was told is refused.
func storeNever(t *testing.T, s *behindMap, w *Map[string, int], raw rueidis.Client) {
	t.Helper()
	require.NoError(t, w.Close(t.Context()))
	require.Empty(t, s.now(), "the store")
	left, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapWrites(w.h.Key), keys.MapPending(w.h.Key), keys.MapDead(w.h.Key)).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, left, "what is queued")
	require.Empty(t, mapkinds.Contents(t, w.m), "the map")
}

// TestAChangeThatIsRefusedForGoodIsNotQueued: where any key is of another type.
func TestAChangeThatIsRefusedForGoodIsNotQueued(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for kind, of := range map[string]func(name string) []string{
			"map": func(name string) []string { return []string{name} }, "cache": mapstore.ObjectOf,
		} {
			name := maptest.CacheNamed(t, raw)
			for _, key := range append(of(name), keys.MapWrites(name), keys.MapPending(name)) {
				for op, do := range map[string]func(ctx context.Context, m rmap.Mapping[string, int]) error{
					"put": changesOf["put"], "put many": changesOf["put many"], "remove": changesOf["remove"],
					"with a time": func(ctx context.Context, m rmap.Mapping[string, int]) error {
						if kind == "map" {
							return m.PutMany(ctx, map[string]int{"a": 1, "b": 2})
						}
						return m.Put(ctx, "k", 1, rmap.WithTTL(time.Hour), rmap.WithMaxIdle(time.Minute))
					},
				} {
					s, e := newBehindMap(), maptest.EngineOn(t, raw)
					w := New(mapkinds.LoadKinds[kind](e, name), s.write, ways["behind"]...)
					require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(key).Value("x").Build()).Error())
					err := do(t.Context(), w)
					require.ErrorContains(t, err, "WRONGTYPE", "%s, %s, %s", kind, key, op)
					require.NotErrorIs(t, err, ErrOutcomeUnknown, "%s, %s, %s", kind, key, op)
					require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(key).Build()).Error())
					storeNever(t, s, w, raw)
				}
			}
		}
	})
}

// TestATimeToLiveThatIsRefusedIsNotQueued, by a server that the client takes for a
// newer one.
func TestATimeToLiveThatIsRefusedIsNotQueued(t *testing.T) {
	t.Parallel()
	for says, raw := range map[string]rueidis.Client{
		"Redis":  redistest.Shared(t).Client(t),
		"Valkey": redistest.Shared(t, redistest.Version("valkey-8.1")).Client(t),
	} {
		for op, do := range map[string]func(ctx context.Context, w *Map[string, int]) error{
			"put": func(ctx context.Context, w *Map[string, int]) error {
				return w.Put(ctx, "k", 1, rmap.WithTTL(time.Hour))
			},
			"put many": func(ctx context.Context, w *Map[string, int]) error {
				return w.PutMany(ctx, map[string]int{"k": 1, "l": 2}, rmap.WithTTL(time.Hour))
			},
			"keep": func(ctx context.Context, w *Map[string, int]) error {
				return w.Put(ctx, "k", 1, rmap.WithKeepTTL())
			},
		} {
			m, s := rmap.NewTTLMap[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), newBehindMap()
			w := New(m, s.write, ways["behind"]...)
			fieldttl.Of(m.Inside().Handle.Hub.Engine).Note(m.Inside().Handle.Key, true)
			require.ErrorIs(t, do(t.Context(), w), errors.ErrUnsupported, "%s, %s", says, op)
			plain := New(rmap.New[string, int](maptest.EngineOn(t, raw), m.Name()), s.write, ways["behind"]...)
			storeNever(t, s, plain, raw)
		}
	}
}

// TestWhatCannotBeDroppedIsPutAsideOnce, when it can.
func TestWhatCannotBeDroppedIsPutAsideOnce(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		s := newBehindMap()
		s.fail(errors.New("down"))
		w := New(rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.write, ways["behind"]...)
		require.NoError(t, w.Put(t.Context(), "k", 1))
		sent := w.h.Sender()
		b, err := sent.Backlog(t.Context(), 10)
		require.NoError(t, err)
		some := b.Changes
		require.Len(t, some, 1)
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(keys.MapPending(w.h.Key)).Value("x").Build()).Error())
		for range 3 {
			_, err = sent.Settled(t.Context(), mapstore.Grave{Most: 10, Why: "why"}, some)
			require.ErrorContains(t, err, "WRONGTYPE")
		}
		require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(keys.MapPending(w.h.Key)).Build()).Error())
		left, err := sent.Settled(t.Context(), mapstore.Grave{Most: 10, Why: "why"}, some)
		require.NoError(t, err)
		require.Zero(t, left)
		dead, err := raw.Do(t.Context(), raw.B().Xlen().Key(keys.MapDead(w.h.Key)).Build()).AsInt64()
		require.NoError(t, err)
		require.EqualValues(t, 1, dead)
		raw.Do(t.Context(), raw.B().Del().Key(keys.MapDead(w.h.Key), keys.MapDeadLast(w.h.Key)).Build())
		require.NoError(t, w.Close(t.Context()))
	})
}

// behindOnAMovingSlot has a map with a and b, both queued, on a slot that is on the
// move, while all of its keys are where they were.
func behindOnAMovingSlot(t *testing.T, cluster *redistest.Cluster, e *locking.Engine) (*Map[string, int], *behindMap, *redistest.Migration) {
	t.Helper()
	s := newBehindMap()
	s.fail(errors.New("down"))
	w := New(rmap.New[string, int](e, redistest.Name(t)), s.write, ways["behind"]...)
	require.NoError(t, w.PutMany(t.Context(), map[string]int{"a": 1, "b": 2}))
	dead := cluster.Client(t)
	require.NoError(t, dead.Do(t.Context(), dead.B().Arbitrary("XADD", keys.MapDead(w.Name()), "*", "k", "earlier").Build()).Error())
	require.NoError(t, dead.Do(t.Context(), dead.B().Hset().Key(keys.MapDeadLast(w.Name())).FieldValue().FieldValue("earlier", "1-1").Build()).Error())
	for _, key := range []string{"a", "b", "none"} { // which are loaded at the moment
		require.NoError(t, dead.Do(t.Context(), dead.B().Set().Key(keys.MapLoad(w.Name(), key)).Value("somebody").Build()).Error())
	}
	return w, s, cluster.StartMigration(t, w.Name())
}

// TestNothingIsHalfDoneOnASlotThatMoves: a key that a step has emptied is not
// touched again by it, since that one is elsewhere now.
func TestNothingIsHalfDoneOnASlotThatMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	e := maptest.EngineOn(t, cluster.Client(t))
	t.Run("all entries are removed", func(t *testing.T) {
		w, s, migration := behindOnAMovingSlot(t, cluster, e)
		n, err := w.Remove(t.Context(), "a", "b", "none")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		migration.Move(t, w.Name())
		migration.Finish(t)
		s.fail(nil)
		require.NoError(t, w.Close(t.Context()))
		require.Empty(t, s.now())
		require.Empty(t, mapkinds.Contents(t, w.m))
	})
	t.Run("all changes are dropped", func(t *testing.T) {
		w, s, migration := behindOnAMovingSlot(t, cluster, e)
		ctx, cancel := context.WithTimeout(t.Context(), maptest.Soon)
		defer cancel()
		sent := w.h.Sender()
		b, err := sent.Backlog(ctx, 10)
		require.NoError(t, err)
		some := b.Changes
		require.Len(t, some, 2)
		left, err := sent.Settled(ctx, mapstore.Grave{}, some)
		require.NoError(t, err)
		require.Zero(t, left)
		migration.Move(t, w.Name())
		migration.Finish(t)
		s.fail(nil)
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, map[string]int{"a": 1, "b": 2}, mapkinds.Contents(t, w.m))
	})
}
