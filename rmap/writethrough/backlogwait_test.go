package writethrough

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// fullBehind is a Map with as many changes queued as may be, and its store, which is
// down.
func fullBehind(t *testing.T, kind string, opts ...Option) (*Map[string, int], *behindMap) {
	t.Helper()
	raw := redistest.Shared(t).Client(t)
	s := newBehindMap()
	s.fail(errors.New("down"))
	opts = append(opts, WithBehind(10), WithWriteDelay(time.Millisecond), WithMaxBacklog(3))
	w := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.write, opts...)
	require.NoError(t, w.PutMany(t.Context(), map[string]int{"a": 1, "b": 2, "c": 3}))
	return w, s
}

// TestWritingBacklogWaitTakesAChangeWhenThereIsRoom: many wait, and each of them is
// queued once.
func TestWritingBacklogWaitTakesAChangeWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"map", "cache"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w, s := fullBehind(t, kind, WithBacklogWait(time.Hour))
			want := map[string]int{"a": 1, "b": 2, "c": 3}
			var all sync.WaitGroup
			for i := range 20 {
				k := strconv.Itoa(i)
				want[k] = i
				all.Go(func() { assert.NoError(t, w.Put(context.Background(), k, i)) }) // ends with the store
			}
			redistest.Eventually(t, func() bool { return len(w.drain.line) == 1 }, maptest.Soon, time.Millisecond)
			n, err := w.Backlog(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 3, n)
			s.fail(nil)
			all.Wait()
			require.NoError(t, w.Close(t.Context()))
			require.Equal(t, want, s.now())
			require.Equal(t, want, mapkinds.Contents(t, w.m))
		})
	}
}

// TestWritingBacklogWaitEnds with its time, with the caller's context, and with the
// handle; nothing was changed then.
func TestWritingBacklogWaitEnds(t *testing.T) {
	t.Parallel()
	w, s := fullBehind(t, "map", WithBacklogWait(50*time.Millisecond))
	err := w.Put(t.Context(), "late", 1)
	require.ErrorIs(t, err, ErrBacklog)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	s.fail(nil)
	require.NoError(t, w.Close(t.Context()))
	require.NotContains(t, mapkinds.Contents(t, w.m), "late")

	w, s = fullBehind(t, "map", WithBacklogWait(time.Hour))
	put := func(ctx context.Context) chan error {
		did := make(chan error, 1)
		go func() { did <- w.Put(ctx, "late", 1) }() // ends with ctx, or the handle
		return did
	}
	first := put(context.Background())
	redistest.Eventually(t, func() bool { return len(w.drain.line) == 1 }, maptest.Soon, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	second := put(ctx)
	cancel()
	err = <-second
	require.ErrorIs(t, err, context.Canceled)
	closing, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	require.Error(t, w.Close(closing))
	err = <-first
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, err, ErrBacklog)
	s.fail(nil)
	require.NoError(t, w.Close(t.Context()))
	require.NotContains(t, mapkinds.Contents(t, w.m), "late")
}

// TestWritingBacklogWaitOfManyEntries is taken in parts, as there is room.
func TestWritingBacklogWaitOfManyEntries(t *testing.T) {
	t.Parallel()
	w, s := fullBehind(t, "map", WithBacklogWait(time.Hour))
	did := make(chan error, 1)
	many := map[string]int{}
	for i := range 10 {
		many[strconv.Itoa(i)] = i
	}
	go func() { did <- w.PutMany(context.Background(), many) }() // ends with the store
	redistest.Eventually(t, func() bool { return len(w.drain.line) == 1 }, maptest.Soon, time.Millisecond)
	s.fail(nil)
	require.NoError(t, <-did)
	require.NoError(t, w.Close(t.Context()))
	require.Len(t, s.now(), 13)
}
