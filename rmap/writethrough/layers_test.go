package writethrough

import (
	"context"
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
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// layers put something between a map and the one that writes through on top of it.
var layers = map[string]func(m rmap.Mapping[string, int]) rmap.Mapping[string, int]{
	"at once": func(m rmap.Mapping[string, int]) rmap.Mapping[string, int] { return m },
	"over a loader": func(m rmap.Mapping[string, int]) rmap.Mapping[string, int] {
		return readthrough.New(m, func(context.Context, string) (int, bool, error) { return 0, false, nil })
	},
}

// TestOneStoreOnTopOfAnother: each change reaches both stores and the map, one by one and several at a time.
func TestOneStoreOnTopOfAnother(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		for layer, over := range layers {
			for way, opts := range map[string][]Option{"one by one": nil, "several": {WithWriteMany(10)}} {
				m := on(maptest.EngineOn(t, raw))
				below, above := newBehindMap(), newBehindMap()
				w := New(over(New(m, below.write)), above.write, opts...)
				ctx, cancel := context.WithTimeout(t.Context(), maptest.Soon)
				defer cancel()
				all := func(want map[string]int) {
					t.Helper()
					require.Equal(t, want, above.now(), "%s %s", layer, way)
					require.Equal(t, want, below.now(), "%s %s", layer, way)
					require.Equal(t, want, mapkinds.Contents(t, m), "%s %s", layer, way)
				}
				require.NoError(t, w.Put(ctx, "a", 1))
				all(map[string]int{"a": 1})
				require.NoError(t, w.PutMany(ctx, map[string]int{"b": 2, "c": 3}))
				_, _, err := w.Swap(ctx, "a", 5)
				require.NoError(t, err)
				all(map[string]int{"a": 5, "b": 2, "c": 3})
				_, err = w.Remove(ctx, "a", "b")
				require.NoError(t, err)
				all(map[string]int{"c": 3})
				require.NoError(t, w.Clear(ctx))
				all(map[string]int{})
			}
		}
		maptest.NothingIsLeft(t, raw, on(maptest.EngineOn(t, raw)).Name())
	})
}

// TestARemovalEndsLoads: what was read before the store had the removal is not in the map after it, whichever of the two
// layers is on top.
func TestARemovalEndsLoads(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		for _, loaderOnTop := range []bool{true, false} {
			m, s := on(maptest.EngineOn(t, raw)), newBehindMap()
			s.all = map[string]int{"k": 1}
			read, open := make(chan struct{}), make(chan struct{})
			var once sync.Once
			load := func(_ context.Context, k string) (int, bool, error) {
				v, there := s.now()[k]
				once.Do(func() { close(read) })
				<-open
				return v, there, nil
			}
			refreshed := make(chan error, 1)
			var loader *readthrough.Map[string, int]
			save := func(ctx context.Context, changes []Change[string, int]) error {
				go func() { // ends with the loader
					_, _, err := loader.Refresh(t.Context(), "k")
					refreshed <- err
				}()
				<-read
				return s.write(ctx, changes)
			}
			var remove func(ctx context.Context, ks ...string) (int64, error)
			if loaderOnTop {
				loader = readthrough.New(New(m, save), load)
				remove = loader.Remove
			} else {
				loader = readthrough.New(m, load)
				remove = New(loader, save).Remove
			}
			_, err := remove(t.Context(), "k")
			require.NoError(t, err)
			close(open)
			redistest.Done(t, refreshed)
			require.Empty(t, mapkinds.Contents(t, m), "the loader is on top: %v", loaderOnTop)
		}
	})
}

// TestAChangeInLineIsNoneAfterClose: those who wait for room in line are told at once, and nothing of them is queued.
func TestAChangeInLineIsNoneAfterClose(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"map", "cache"} {
		s := newBehindMap()
		raw := redistest.Shared(t).Client(t)
		w := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.write,
			WithBehind(10), WithWriteDelay(time.Millisecond), WithBacklogWait(time.Hour))
		w.drain.line <- struct{}{} // another is asking
		told := make(chan error, 1)
		began := make(chan struct{})
		go func() { // ends with Close
			close(began)
			told <- w.Put(t.Context(), "k", 1)
		}()
		<-began
		time.Sleep(20 * time.Millisecond) // it is in line, or comes
		require.NoError(t, w.Close(t.Context()))
		require.ErrorIs(t, redistest.Done(t, told), ErrClosed)
		<-w.drain.line
		assert.Empty(t, mapkinds.Contents(t, w.m), kind)
		assert.Empty(t, s.now(), kind)
		require.ErrorIs(t, w.PutMany(t.Context(), map[string]int{"a": 1}), ErrClosed)
	}
}
