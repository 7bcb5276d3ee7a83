package set

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
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
	t.Run("sets of several slots", func(t *testing.T) { setAlgebra(t, raw) })
	t.Run("one slot", func(t *testing.T) {
		k := kitOn(enginetest.On(t, raw), fresh(t, raw))
		for what, err := range map[string]error{
			"move":   last(k.s.Move(t.Context(), "other:"+k.name, "a")),
			"into":   last(k.s.UnionInto(t.Context(), "other:"+k.name)),
			"rename": last(k.c.Rename(t.Context(), "other:"+k.name)),
		} {
			require.ErrorIs(t, err, ErrInvalidArgument, what)
			require.ErrorContains(t, err, "hash tag", what)
		}
	})
	t.Run("any name", func(t *testing.T) {
		e := enginetest.On(t, raw)
		for _, end := range []string{"{", "}", "{}x", "a{b", "x}y{"} {
			s := New[string](e, redistest.Name(t)+end)
			t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(s.Name()).Build()) })
			require.NoError(t, last(s.Add(t.Context(), "a")), end)
			got, err := collected(s.All(t.Context()))
			require.NoError(t, err, end)
			require.Equal(t, []string{"a"}, got, end)
			require.NoError(t, s.Check(t.Context()), end)
		}
	})
	t.Run("expired members are told", func(t *testing.T) {
		r := rigOn(t, raw)
		told := r.c.Expired(t.Context())
		r.write(0, "a")
		r.clock.Forward(time.Millisecond)
		for v, err := range told {
			require.NoError(t, err)
			require.Equal(t, "a", v)
			break
		}
	})
	t.Run("a slot moves under sets", func(t *testing.T) { setsMove(t, cluster) })
	t.Run("a slot moves under two sets", func(t *testing.T) { halfMoved(t, cluster) })
	t.Run("a failover", func(t *testing.T) {
		name := redistest.Name(t)
		goesOnAfter(t, cluster.Client(t), name, func() { cluster.FailOver(t, name) })
	})
}

// setsMove moves sets while they are used: nothing fails, and nothing is lost.
func setsMove(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	name := fresh(t, raw)
	k := kitOn(enginetest.On(t, raw), name)
	k.c = NewCache[string](k.s.b.Engine, k.to)
	done := enginetest.WhileASlotMoves(t, cluster, []string{k.name, k.to}, func(ctx context.Context, g, i int) bool {
		v := fmt.Sprint(g, ":", i)
		n, err := k.s.Add(ctx, v)
		assert.NoError(t, err)
		assert.EqualValues(t, 1, n)
		added, err := k.c.Add(ctx, v, WithTTL(hour))
		assert.NoError(t, err)
		assert.True(t, added)
		has, err := k.c.Has(ctx, v)
		return assert.NoError(t, err) && assert.True(t, has)
	})
	n, err := k.s.Len(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, done, n)
	n, err = k.c.Len(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, done, n)
}

// halfMoved has one set of a slot on one server, and another one on another: what is about both is refused, and has done nothing.
func halfMoved(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	k := kitOn(enginetest.On(t, raw, enginetest.ShortSends), fresh(t, raw))
	oldSet(t, raw, k.name)
	oldSet(t, raw, k.to)
	migration := cluster.StartMigration(t, k.name)
	migration.Move(t, k.name)
	var all sync.WaitGroup
	for what, op := range map[string]func() error{
		"move": func() error { return last(k.s.Move(t.Context(), k.to, "a")) },
		"into": func() error { return last(k.s.DiffInto(t.Context(), k.to, k.name)) },
	} {
		all.Go(func() {
			err := op()
			assert.ErrorIs(t, err, ErrSlotMoving, what)
			assert.NotErrorIs(t, err, ErrOutcomeUnknown, what)
		})
	}
	all.Wait()
	got, err := collected(k.s.Inter(t.Context(), k.to)) // which asks each by itself
	require.NoError(t, err)
	require.Len(t, got, 2)
	migration.Finish(t)
	did, err := k.s.Move(t.Context(), k.to, "a")
	require.NoError(t, err)
	require.True(t, did)
}

// goesOnAfter has sets be used through a failover.
func goesOnAfter(t *testing.T, raw rueidis.Client, name string, failover func()) {
	t.Helper()
	e := enginetest.On(t, raw)
	s, c := New[string](e, name), NewCache[string](e, "cache:{"+name+"}")
	require.NoError(t, last(s.Add(t.Context(), "a")))
	failover()
	redistest.Eventually(t, func() bool {
		return last(s.Add(t.Context(), "b")) == nil && last(c.Add(t.Context(), "b", WithTTL(hour))) == nil
	}, redistest.Soon, 10*time.Millisecond)
	has, err := s.Has(t.Context(), "b")
	require.NoError(t, err)
	require.True(t, has)
}

func TestAfterSentinels(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	goesOnAfter(t, sentinel.Client(t), redistest.Name(t), func() { sentinel.FailOver(t) })
}
