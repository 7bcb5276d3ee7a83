package sortedset

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// manyPlaces returns numbers that are near each other, more than an answer has.
func manyPlaces(n int) []Place[int] {
	all := make([]Place[int], n)
	for i := range all {
		all[i] = Place[int]{i, aside(Position{179.9, 10}, 20_000)}
	}
	return all
}

func TestOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	t.Run("each operation", func(t *testing.T) { eachOperation(t, raw) })
	t.Run("the model", func(t *testing.T) { againstTheModel(t, raw) })
	t.Run("any name", func(t *testing.T) {
		e := enginetest.On(t, raw)
		for _, end := range []string{"{", "}", "{}x", "a{b", "x}y{"} {
			k := kitOn(e, redistest.Name(t)+end)
			old(t, raw, k.name)
			got, err := collect(k.s.All(t.Context()))
			require.NoError(t, err, end)
			require.Equal(t, "a=1 b=2 c=3", got)
			require.NoError(t, k.s.Check(t.Context()), end)
			_, err = k.s.Delete(t.Context())
			require.NoError(t, err)
		}
	})
	t.Run("names of several slots", func(t *testing.T) {
		k := kitOn(enginetest.On(t, raw), redistest.Name(t))
		for _, err := range []error{
			second(k.s.UnionInto(t.Context(), "a", nil)), second(k.s.InterInto(t.Context(), k.to(), []string{"a"})),
			second(k.g.WithinInto(t.Context(), "a", at(1), Radius(1))), second(k.s.DiffInto(t.Context(), "a", nil)), second(k.s.RangeInto(t.Context(), "a", 0, 1)),
		} {
			require.ErrorIs(t, err, ErrInvalidArgument)
			require.ErrorContains(t, err, "one hash tag")
		}
	})
	t.Run("a slot moves", func(t *testing.T) {
		name := fresh(t, raw)
		k := kitOn(enginetest.On(t, raw), name)
		s := k.s
		_, err := NewGeo[int](enginetest.On(t, raw), k.to()).AddMany(t.Context(), manyPlaces(2*mostPage)...)
		require.NoError(t, err)
		g := NewGeo[int](enginetest.On(t, raw), k.to())
		want := len(numbered(t, s, 3000, 100))
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		done := 0
		for i := range 4 {
			all.Go(func() { // ends with ctx
				for ctx.Err() == nil {
					_, err := s.AddScore(context.WithoutCancel(ctx), 1, "count"+strconv.Itoa(i))
					assert.NoError(t, err)
					got := 0
					for e, err := range s.All(context.WithoutCancel(ctx)) {
						assert.NoError(t, err)
						if len(e.Value) == len("000000") && e.Value[0] == '0' {
							got++
						}
					}
					assert.Equal(t, want, got, "a walk goes on at the other server")
					seen := 0
					for n, err := range g.WithinOf(context.WithoutCancel(ctx), i, Radius(100*Kilometre)) {
						assert.NoError(t, err)
						assert.Equal(t, seen == 0, n.Value == i)
						seen++
					}
					assert.Equal(t, 2*mostPage, seen, "a search goes on at the other server")
					mu.Lock()
					done++
					mu.Unlock()
				}
			})
		}
		more := func() {
			t.Helper()
			mu.Lock()
			want := done + 5
			mu.Unlock()
			redistest.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return done >= want }, redistest.Soon, time.Millisecond)
		}
		more()
		migration := cluster.StartMigration(t, name)
		more()
		migration.Move(t, name)
		more()
		migration.Move(t, k.to())
		more()
		migration.Finish(t)
		more()
		stop()
		all.Wait()
		sum := 0.0
		for i := range 4 {
			score, _, err := s.Score(t.Context(), "count"+strconv.Itoa(i))
			require.NoError(t, err)
			sum += score
		}
		require.EqualValues(t, done, sum)
	})
	t.Run("sets on both sides of a slot that moves", func(t *testing.T) {
		name := fresh(t, raw)
		k := kitOn(enginetest.On(t, raw, enginetest.ShortSends), name)
		old(t, raw, k.name)
		old(t, raw, k.to())
		migration := cluster.StartMigration(t, name)
		migration.Move(t, k.to())
		var all sync.WaitGroup
		for _, what := range []string{"unite", "intersect", "copy a range", "copy what is near", "copy what is near a member"} {
			all.Go(func() {
				_, err := effects[what].do(t.Context(), k)
				assert.ErrorIs(t, err, ErrSlotMoving, what)
				assert.NotErrorIs(t, err, ErrOutcomeUnknown, what)
			})
		}
		all.Wait()
		migration.Finish(t)
		require.Equal(t, before, state(t, raw, k.to()))
	})
}
