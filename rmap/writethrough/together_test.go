package writethrough

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// sizesOf is how many changes each call of the writer had.
func sizesOf(s *behindMap) (sizes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches {
		sizes = append(sizes, len(b))
	}
	s.batches = nil
	slices.Sort(sizes)
	return sizes
}

func entriesTo(n, v int) map[string]int {
	all := map[string]int{}
	for i := range n {
		all[strconv.Itoa(i)] = v
	}
	return all
}

// TestWritingThroughHandsOverSeveralChanges at a time, and the map has what the store has.
func TestWritingThroughHandsOverSeveralChanges(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s, m := newBehindMap(), on(maptest.EngineOn(t, raw))
		w := New(m, s.write, WithWriteMany(10))
		require.NoError(t, w.PutMany(t.Context(), entriesTo(25, 1)))
		require.Equal(t, []int{5, 10, 10}, sizesOf(s))
		require.Equal(t, entriesTo(25, 1), mapkinds.Contents(t, m))
		require.Equal(t, entriesTo(25, 1), s.now())
		n, err := w.Remove(t.Context(), append(maptest.NumbersTo(5), "0", "none")...)
		require.NoError(t, err)
		require.EqualValues(t, 5, n)
		require.Equal(t, []int{6}, sizesOf(s))
		require.Len(t, s.now(), 20)
		require.Equal(t, s.now(), mapkinds.Contents(t, m))

		down := errors.New("down")
		s.fail(down)
		require.ErrorIs(t, w.PutMany(t.Context(), entriesTo(25, 2)), down)
		_, err = w.Remove(t.Context(), "7", "8")
		require.ErrorIs(t, err, down)
		require.Len(t, mapkinds.Contents(t, m), 20)
		require.NotContains(t, mapkinds.Contents(t, m), "0")
		s.fail(nil)
		require.NoError(t, w.Clear(t.Context()))
		require.Equal(t, []int{10, 10}, sizesOf(s))
		require.Empty(t, s.now())
		require.Empty(t, mapkinds.Contents(t, m))
		maptest.NothingIsLeft(t, raw, m.Name())
	})
}

// TestWritingThroughOfSeveralDoesNotWaitForEachOther: processes that write the same entries,
// one of them under a lock of its own, come to an end, and map and store agree.
func TestWritingThroughOfSeveralDoesNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name, s := maptest.CacheNamed(t, raw), newBehindMap()
			var all sync.WaitGroup
			for p := range 3 {
				w := New(of(maptest.EngineOn(t, raw), name), s.write, WithWriteMany(20))
				all.Go(func() {
					for i := range redistest.Count(t, 4, 50) {
						ctx := context.Background()
						if p > 0 {
							assert.NoError(t, w.PutMany(ctx, entriesTo(20, 100*p+i)))
							continue
						}
						hold, err := w.Lock("7").Lock(ctx)
						if !assert.NoError(t, err) {
							return
						}
						assert.NoError(t, w.PutMany(hold.Context(ctx), entriesTo(20, i)))
						assert.NoError(t, hold.Unlock(ctx))
					}
				})
			}
			all.Wait()
			require.Equal(t, s.now(), mapkinds.Contents(t, of(maptest.EngineOn(t, raw), name)))
		})
	}
}

// TestWritingThroughOfSeveralGoesOnWithoutALockedEntry, which comes when it is free.
func TestWritingThroughOfSeveralGoesOnWithoutALockedEntry(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s, name := newBehindMap(), maptest.CacheNamed(t, raw)
	w := New(rmap.New[string, int](maptest.EngineOn(t, raw), name), s.write, WithWriteMany(20))
	hold, err := rmap.New[string, int](maptest.EngineOn(t, raw), name).Lock("5").Lock(t.Context())
	require.NoError(t, err)
	did := make(chan error, 1)
	go func() { did <- w.PutMany(context.Background(), entriesTo(10, 1)) }() // ends with the lock
	redistest.Eventually(t, func() bool { return len(s.now()) == 9 }, maptest.Soon, time.Millisecond)
	require.NotContains(t, s.now(), "5")
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, <-did)
	require.Equal(t, entriesTo(10, 1), s.now())
}
