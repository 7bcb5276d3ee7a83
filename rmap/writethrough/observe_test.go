package writethrough

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestTheObserverHearsOfWrites: of each call of the writer, how often it was tried,
// what is queued still, and what was put aside.
func TestTheObserverHearsOfWrites(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	down := Discard(errors.New("down"))
	refuses := func(_ context.Context, changes []Change[string, int]) error {
		for _, c := range changes {
			if c.Key == "bad" {
				return down
			}
		}
		return nil
	}
	heard := func(t *testing.T, seen *maptest.Watcher, want ...core.Write) {
		t.Helper()
		seen.Mu.Lock()
		defer seen.Mu.Unlock()
		require.Len(t, seen.Writes, len(want))
		for i := range want {
			require.Positive(t, seen.Writes[i].Took)
			want[i].Took = seen.Writes[i].Took
			require.Equal(t, want[i], seen.Writes[i])
		}
	}
	t.Run("through", func(t *testing.T) {
		seen := &maptest.Watcher{}
		m := rmap.New[string, int](maptest.EngineOn(t, raw, func(c *core.Config) { c.Caches = seen }), maptest.CacheNamed(t, raw))
		w := New(m, refuses)
		require.NoError(t, w.Put(t.Context(), "k", 1))
		require.ErrorIs(t, w.Put(t.Context(), "bad", 1), down)
		heard(t, seen, core.Write{Map: m.Name(), Changes: 1, Attempt: 1}, core.Write{Map: m.Name(), Changes: 1, Attempt: 1, Err: down})
	})
	t.Run("behind", func(t *testing.T) {
		seen := &maptest.Watcher{}
		m := rmap.New[string, int](maptest.EngineOn(t, raw, func(c *core.Config) { c.Caches = seen }), maptest.CacheNamed(t, raw))
		w := New(m, refuses, WithBehind(2), WithWriteDelay(time.Millisecond))
		require.NoError(t, w.PutMany(t.Context(), map[string]int{"good": 1, "bad": 2}))
		require.NoError(t, w.Close(t.Context()))
		seen.Mu.Lock()
		require.Len(t, seen.Writes, 3)
		if seen.Writes[1].Err != nil { // it was the first of the two
			require.Equal(t, []int64{1, 0}, []int64{seen.Writes[1].Queued, seen.Writes[2].Queued})
			seen.Writes[1].Queued, seen.Writes[2].Queued = 0, 1
			seen.Writes[1], seen.Writes[2] = seen.Writes[2], seen.Writes[1]
		}
		seen.Mu.Unlock()
		heard(t, seen, core.Write{Map: m.Name(), Changes: 2, Behind: true, Attempt: 1, Queued: 2, Err: down},
			core.Write{Map: m.Name(), Changes: 1, Behind: true, Attempt: 2, Queued: 1},
			core.Write{Map: m.Name(), Changes: 1, Behind: true, Attempt: 2, Dead: true, Err: down})
	})
}

// exchanges counts what goes to the server.
type exchanges struct {
	rueidis.Client
	n atomic.Int64
}

func (c *exchanges) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	c.n.Add(1)
	return c.Client.Do(ctx, cmd)
}

func (c *exchanges) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	c.n.Add(1)
	return c.Client.DoMulti(ctx, multi...)
}

// onWrite is told of writes.
type onWrite struct {
	maptest.Watcher
	does func()
}

func (w *onWrite) Wrote(context.Context, core.Write) { w.does() }

// TestNothingIsBetweenAWriteAndItsEnd: what the store has taken is dropped from the
// queue at once, and told then.
func TestNothingIsBetweenAWriteAndItsEnd(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	require.NoError(t, raw.Do(t.Context(), raw.B().ScriptLoad().Script(mapstore.BehindDoneScript.Body()).Build()).Error())
	name, client, told := maptest.CacheNamed(t, raw), &exchanges{Client: raw}, make(chan [2]int64, 1)
	seen := &onWrite{does: func() {
		n, err := raw.Do(context.Background(), raw.B().Xlen().Key(keys.MapWrites(name)).Build()).AsInt64()
		if err != nil {
			n = -1
		}
		told <- [2]int64{client.n.Load(), n}
	}}
	m := rmap.New[string, int](maptest.EngineOn(t, client, func(c *core.Config) { c.Caches = seen }), name)
	w := New(m, func(context.Context, []Change[string, int]) error {
		client.n.Store(0)
		return nil
	}, WithBehind(1), WithWriteDelay(time.Millisecond))
	require.NoError(t, w.Put(t.Context(), "k", 1))
	require.Equal(t, [2]int64{1, 0}, <-told, "exchanges since, and what is queued")
	require.NoError(t, w.Close(t.Context()))
}
