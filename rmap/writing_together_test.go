package rmap

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
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		s, m := newBehindMap(), on(engineOn(t, raw))
		w := NewWriting(m, s.write, WithWriteMany(10))
		require.NoError(t, w.PutMany(t.Context(), entriesTo(25, 1)))
		require.Equal(t, []int{5, 10, 10}, sizesOf(s))
		require.Equal(t, entriesTo(25, 1), contents(t, m))
		require.Equal(t, entriesTo(25, 1), s.now())
		n, err := w.Remove(t.Context(), append(numbersTo(5), "0", "none")...)
		require.NoError(t, err)
		require.EqualValues(t, 5, n)
		require.Equal(t, []int{6}, sizesOf(s))
		require.Len(t, s.now(), 20)
		require.Equal(t, s.now(), contents(t, m))

		down := errors.New("down")
		s.fail(down)
		require.ErrorIs(t, w.PutMany(t.Context(), entriesTo(25, 2)), down)
		_, err = w.Remove(t.Context(), "7", "8")
		require.ErrorIs(t, err, down)
		require.Len(t, contents(t, m), 20)
		require.NotContains(t, contents(t, m), "0")
		s.fail(nil)
		require.NoError(t, w.Clear(t.Context()))
		require.Equal(t, []int{10, 10}, sizesOf(s))
		require.Empty(t, s.now())
		require.Empty(t, contents(t, m))
		nothingIsLeft(t, raw, m.Name())
	})
}

// TestWritingThroughOfSeveralDoesNotWaitForEachOther: processes that write the same entries,
// one of them under a lock of its own, come to an end, and map and store agree.
func TestWritingThroughOfSeveralDoesNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name, s := cacheNamed(t, raw), newBehindMap()
			var all sync.WaitGroup
			for p := range 3 {
				w := NewWriting(of(engineOn(t, raw), name), s.write, WithWriteMany(20))
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
			require.Equal(t, s.now(), contents(t, of(engineOn(t, raw), name)))
		})
	}
}

// TestWritingThroughOfSeveralGoesOnWithoutALockedEntry, which comes when it is free.
func TestWritingThroughOfSeveralGoesOnWithoutALockedEntry(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s, name := newBehindMap(), cacheNamed(t, raw)
	w := NewWriting(New[string, int](engineOn(t, raw), name), s.write, WithWriteMany(20))
	hold, err := New[string, int](engineOn(t, raw), name).Lock("5").Lock(t.Context())
	require.NoError(t, err)
	did := make(chan error, 1)
	go func() { did <- w.PutMany(context.Background(), entriesTo(10, 1)) }() // ends with the lock
	redistest.Eventually(t, func() bool { return len(s.now()) == 9 }, soon, time.Millisecond)
	require.NotContains(t, s.now(), "5")
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, <-did)
	require.Equal(t, entriesTo(10, 1), s.now())
}
