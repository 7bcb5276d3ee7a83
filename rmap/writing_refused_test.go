package rmap

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
)

// storeNever refuses to hear of a change that its caller was told is refused.
func storeNever(t *testing.T, s *behindMap, w *Writing[string, int], raw rueidis.Client) {
	t.Helper()
	require.NoError(t, w.Close(t.Context()))
	require.Empty(t, s.now(), "the store")
	left, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapWrites(w.h.key), keys.MapPending(w.h.key), keys.MapDead(w.h.key)).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, left, "what is queued")
	require.Empty(t, contents(t, w.m), "the map")
}

// TestAChangeThatIsRefusedForGoodIsNotQueued: where any key is of another type.
func TestAChangeThatIsRefusedForGoodIsNotQueued(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for kind, of := range map[string]func(name string) []string{
			"map": func(name string) []string { return []string{name} }, "cache": objectOf,
		} {
			name := cacheNamed(t, raw)
			for _, key := range append(of(name), keys.MapWrites(name), keys.MapPending(name)) {
				for op, do := range map[string]func(ctx context.Context, m Mapping[string, int]) error{
					"put": changesOf["put"], "put many": changesOf["put many"], "remove": changesOf["remove"],
					"with a time": func(ctx context.Context, m Mapping[string, int]) error {
						if kind == "map" {
							return m.PutMany(ctx, map[string]int{"a": 1, "b": 2})
						}
						return m.Put(ctx, "k", 1, WithTTL(time.Hour), WithMaxIdle(time.Minute))
					},
				} {
					s, e := newBehindMap(), engineOn(t, raw)
					w := NewWriting(loadKinds[kind](e, name), s.write, ways["behind"]...)
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
		for op, do := range map[string]func(ctx context.Context, w *Writing[string, int]) error{
			"put": func(ctx context.Context, w *Writing[string, int]) error {
				return w.Put(ctx, "k", 1, WithTTL(time.Hour))
			},
			"put many": func(ctx context.Context, w *Writing[string, int]) error {
				return w.PutMany(ctx, map[string]int{"k": 1, "l": 2}, WithTTL(time.Hour))
			},
			"keep": func(ctx context.Context, w *Writing[string, int]) error { return w.Put(ctx, "k", 1, WithKeepTTL()) },
		} {
			m, s := NewTTLMap[string, int](engineOn(t, raw), cacheNamed(t, raw)), newBehindMap()
			w := NewWriting(m, s.write, ways["behind"]...)
			fieldttl.Of(m.m.h.e).Note(m.m.key, true)
			require.ErrorIs(t, do(t.Context(), w), errors.ErrUnsupported, "%s, %s", says, op)
			plain := NewWriting(New[string, int](engineOn(t, raw), m.Name()), s.write, ways["behind"]...)
			storeNever(t, s, plain, raw)
		}
	}
}

// TestWhatCannotBeDroppedIsPutAsideOnce, when it can.
func TestWhatCannotBeDroppedIsPutAsideOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := newBehindMap()
		s.fail(errors.New("down"))
		w := NewWriting(New[string, int](engineOn(t, raw), cacheNamed(t, raw)), s.write, ways["behind"]...)
		require.NoError(t, w.Put(t.Context(), "k", 1))
		sent := w.h.sender()
		b, err := sent.backlog(t.Context(), 10)
		require.NoError(t, err)
		some := b.changes
		require.Len(t, some, 1)
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(keys.MapPending(w.h.key)).Value("x").Build()).Error())
		for range 3 {
			_, err = sent.settled(t.Context(), grave{10, "why"}, some)
			require.ErrorContains(t, err, "WRONGTYPE")
		}
		require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(keys.MapPending(w.h.key)).Build()).Error())
		left, err := sent.settled(t.Context(), grave{10, "why"}, some)
		require.NoError(t, err)
		require.Zero(t, left)
		dead, err := raw.Do(t.Context(), raw.B().Xlen().Key(keys.MapDead(w.h.key)).Build()).AsInt64()
		require.NoError(t, err)
		require.EqualValues(t, 1, dead)
		raw.Do(t.Context(), raw.B().Del().Key(keys.MapDead(w.h.key), keys.MapDeadLast(w.h.key)).Build())
		require.NoError(t, w.Close(t.Context()))
	})
}

// behindOnAMovingSlot has a map with a and b, both queued, on a slot that is on the
// move, while all of its keys are where they were.
func behindOnAMovingSlot(t *testing.T, cluster *redistest.Cluster, e *locking.Engine) (*Writing[string, int], *behindMap, *redistest.Migration) {
	t.Helper()
	s := newBehindMap()
	s.fail(errors.New("down"))
	w := NewWriting(New[string, int](e, redistest.Name(t)), s.write, ways["behind"]...)
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
	e := engineOn(t, cluster.Client(t))
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
		require.Empty(t, contents(t, w.m))
	})
	t.Run("all changes are dropped", func(t *testing.T) {
		w, s, migration := behindOnAMovingSlot(t, cluster, e)
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		sent := w.h.sender()
		b, err := sent.backlog(ctx, 10)
		require.NoError(t, err)
		some := b.changes
		require.Len(t, some, 2)
		left, err := sent.settled(ctx, grave{}, some)
		require.NoError(t, err)
		require.Zero(t, left)
		migration.Move(t, w.Name())
		migration.Finish(t)
		s.fail(nil)
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, map[string]int{"a": 1, "b": 2}, contents(t, w.m))
	})
}
