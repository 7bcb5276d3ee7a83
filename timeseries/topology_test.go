package timeseries

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
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	t.Run("each operation", func(t *testing.T) { eachOperation(t, raw) })
	t.Run("the model", func(t *testing.T) { againstTheModel(t, raw) })
	t.Run("names", func(t *testing.T) {
		e := enginetest.On(t, raw)
		for _, end := range []string{"{", "}", "{}x", "a{b", "x}y{"} {
			err := kitOn(e, redistest.Name(t)+end).s.Add(t.Context(), at(1), "a")
			require.ErrorIs(t, err, ErrInvalidArgument, end)
			require.ErrorContains(t, err, "slot", end)
		}
		err := last(kitOn(e, "a").s.Rename(t.Context(), "other:b"))
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.ErrorContains(t, err, "hash tag")
	})
	t.Run("a slot moves under a series", func(t *testing.T) { seriesMoves(t, cluster) })
	t.Run("a half moved series", func(t *testing.T) { halfMoved(t, cluster) })
	t.Run("a failover", func(t *testing.T) {
		name := redistest.Name(t)
		goesOnAfter(t, cluster.Client(t), name, func() { cluster.FailOver(t, name) })
	})
}

// seriesMoves moves a series while it is used: nothing fails, and nothing is lost.
func seriesMoves(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	k := kitOn(enginetest.On(t, raw), fresh(t, raw))
	done := enginetest.WhileASlotMoves(t, cluster, []string{k.name, keys.SeriesEnds(k.name)}, func(ctx context.Context, g, i int) bool {
		when := at(int64(4*i + g))
		if !assert.NoError(t, k.s.Add(ctx, when, fmt.Sprint(i), WithTTL(hour))) {
			return false
		}
		got, there, err := k.s.Get(ctx, when)
		return assert.NoError(t, err) && assert.True(t, there) && assert.Equal(t, fmt.Sprint(i), got.Value)
	})
	n, err := k.s.Len(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, done, n)
}

// halfMoved has the entries of a series on one server, and their ends on another: what is about both is refused, and has done nothing.
func halfMoved(t *testing.T, cluster *redistest.Cluster) {
	t.Helper()
	raw := cluster.Client(t)
	k := kitOn(enginetest.On(t, raw, enginetest.ShortSends), fresh(t, raw))
	old(t, raw, k.name)
	migration := cluster.StartMigration(t, k.name)
	migration.Move(t, k.name)
	var all sync.WaitGroup
	for what, op := range map[string]func() error{
		"add":    func() error { return k.s.Add(t.Context(), at(1), "a") },
		"pop":    func() error { return last(k.s.PopFirst(t.Context(), 1)) },
		"remove": func() error { return last(k.s.Remove(t.Context(), at(2000))) },
		"get":    func() error { return last2(k.s.Get(t.Context(), at(2000))) },
		"count":  func() error { return last(k.s.Len(t.Context())) },
	} {
		all.Go(func() {
			err := op()
			assert.ErrorIs(t, err, ErrSlotMoving, what)
			assert.NotErrorIs(t, err, ErrOutcomeUnknown, what)
		})
	}
	all.Wait()
	migration.Finish(t)
	require.Equal(t, first, state(t, raw, k.name))
	got, err := texts(k.s.PopFirst(t.Context(), 1))
	require.NoError(t, err)
	require.Equal(t, "2000=a", got)
}

// goesOnAfter has a series be used through a failover.
func goesOnAfter(t *testing.T, raw rueidis.Client, name string, failover func()) {
	t.Helper()
	k := kitOn(enginetest.On(t, raw), name)
	require.NoError(t, k.s.Add(t.Context(), at(1), "a"))
	failover()
	redistest.Eventually(t, func() bool { return k.s.Add(t.Context(), at(2), "b", WithTTL(hour)) == nil }, redistest.Soon, 10*time.Millisecond)
	got, err := texts(k.s.Last(t.Context(), 1))
	require.NoError(t, err)
	require.Equal(t, "2=b", got)
}
