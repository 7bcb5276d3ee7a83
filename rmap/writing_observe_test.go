package rmap

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTheObserverHearsOfWrites: of each call of the writer, how often it was tried,
// what is queued still, and what was put aside.
func TestTheObserverHearsOfWrites(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	down := errors.New("down")
	refuses := func(_ context.Context, changes []Change[string, int]) error {
		for _, c := range changes {
			if c.Key == "bad" {
				return down
			}
		}
		return nil
	}
	heard := func(t *testing.T, seen *watcher, want ...engine.Write) {
		t.Helper()
		seen.mu.Lock()
		defer seen.mu.Unlock()
		require.Len(t, seen.writes, len(want))
		for i := range want {
			require.Positive(t, seen.writes[i].Took)
			want[i].Took = seen.writes[i].Took
			require.Equal(t, want[i], seen.writes[i])
		}
	}
	t.Run("through", func(t *testing.T) {
		seen := &watcher{}
		m := New[string, int](engineOn(t, raw, func(c *engine.Config) { c.Caches = seen }), cacheNamed(t, raw))
		w := NewWriting(m, refuses)
		require.NoError(t, w.Put(t.Context(), "k", 1))
		require.ErrorIs(t, w.Put(t.Context(), "bad", 1), down)
		heard(t, seen, engine.Write{Map: m.Name(), Changes: 1, Attempt: 1}, engine.Write{Map: m.Name(), Changes: 1, Attempt: 1, Err: down})
	})
	t.Run("behind", func(t *testing.T) {
		seen := &watcher{}
		m := New[string, int](engineOn(t, raw, func(c *engine.Config) { c.Caches = seen }), cacheNamed(t, raw))
		w := NewWriting(m, refuses, WithBehind(2), WithWriteDelay(time.Millisecond), WithMaxAttempts(1))
		require.NoError(t, w.PutMany(t.Context(), map[string]int{"good": 1, "bad": 2}))
		require.NoError(t, w.Close(t.Context()))
		seen.mu.Lock()
		require.Len(t, seen.writes, 3)
		if seen.writes[1].Err != nil { // it was the first of the two
			seen.writes[1].Queued, seen.writes[2].Queued = 1, 1
			seen.writes[1], seen.writes[2] = seen.writes[2], seen.writes[1]
		}
		seen.mu.Unlock()
		heard(t, seen, engine.Write{Map: m.Name(), Changes: 2, Behind: true, Attempt: 1, Queued: 2, Err: down},
			engine.Write{Map: m.Name(), Changes: 1, Behind: true, Attempt: 2, Queued: 1},
			engine.Write{Map: m.Name(), Changes: 1, Behind: true, Attempt: 2, Queued: 1, Dead: true, Err: down})
	})
}
