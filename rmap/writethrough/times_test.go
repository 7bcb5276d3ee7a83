package writethrough

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestWhatReplacesALivingValueLeavesItsTimes, as it does without a Map.
func TestWhatReplacesALivingValueLeavesItsTimes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for way, opts := range ways {
		for what, op := range map[string]struct {
			do   func(ctx context.Context, m rmap.Mapping[string, int], opts ...rmap.PutOption) error
			kept bool
		}{
			"replace": {func(ctx context.Context, m rmap.Mapping[string, int], opts ...rmap.PutOption) error {
				_, err := m.Replace(ctx, "k", 2, opts...)
				return err
			}, true},
			"compare and swap": {func(ctx context.Context, m rmap.Mapping[string, int], opts ...rmap.PutOption) error {
				_, err := m.CompareAndSwap(ctx, "k", 1, 2, opts...)
				return err
			}, true},
			"put": {func(ctx context.Context, m rmap.Mapping[string, int], opts ...rmap.PutOption) error {
				return m.Put(ctx, "k", 2, opts...)
			}, false},
			"swap": {func(ctx context.Context, m rmap.Mapping[string, int], opts ...rmap.PutOption) error {
				_, _, err := m.Swap(ctx, "k", 2, opts...)
				return err
			}, false},
		} {
			m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
			w := New(m, newBehindMap().write, opts...)
			left := func(put rmap.PutOption, change ...rmap.PutOption) time.Duration {
				t.Helper()
				require.NoError(t, m.Put(t.Context(), "k", 1, put))
				require.NoError(t, op.do(t.Context(), w, change...))
				require.Equal(t, map[string]int{"k": 2}, mapkinds.Contents(t, m), "%s, %s", way, what)
				left, err := m.TTL(t.Context(), "k")
				require.NoError(t, err)
				return left
			}
			for _, put := range []rmap.PutOption{rmap.WithTTL(time.Hour), rmap.WithMaxIdle(time.Hour)} {
				if op.kept {
					require.Greater(t, left(put), 59*time.Minute, "%s, %s", way, what)
				} else {
					require.EqualValues(t, -1, left(put), "%s, %s", way, what)
				}
			}
			d := left(rmap.WithTTL(time.Hour), rmap.WithTTL(2*time.Hour))
			require.Greater(t, d, time.Hour, "%s, %s", way, what)
			require.NoError(t, w.Close(t.Context()))
		}
		m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
		w := New(m, newBehindMap().write, opts...)
		require.NoError(t, m.Put(t.Context(), "k", 1, rmap.WithTTL(time.Hour)))
		_, _, err := w.Compute(t.Context(), "k", mapkinds.PlusOne)
		require.NoError(t, err)
		left, err := m.TTL(t.Context(), "k")
		require.NoError(t, err)
		require.Greater(t, left, 59*time.Minute, way)
		require.NoError(t, w.Close(t.Context()))
	}
}

// TestWritingOnANativeMap gives entries times, and leaves those that it is told to.
func TestWritingOnANativeMap(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	for way, opts := range ways {
		m := rmap.NewTTLMap[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), rmap.WithTTL(time.Hour))
		s := newBehindMap()
		w := New(m, s.write, opts...)
		left := func() time.Duration {
			t.Helper()
			left, err := m.TTL(t.Context(), "k")
			require.NoError(t, err)
			return left
		}
		require.NoError(t, w.Put(t.Context(), "k", 1))
		require.Greater(t, left(), 59*time.Minute, way)
		require.NoError(t, w.Put(t.Context(), "k", 2, rmap.WithTTL(2*time.Hour)))
		require.Greater(t, left(), time.Hour, way)
		require.NoError(t, w.Put(t.Context(), "k", 3, rmap.WithKeepTTL()))
		require.Greater(t, left(), time.Hour, way)
		did, err := w.CompareAndSwap(t.Context(), "k", 3, 4)
		require.NoError(t, err)
		require.True(t, did)
		require.LessOrEqual(t, left(), time.Hour, way)
		require.NoError(t, w.Close(t.Context()))
		require.Equal(t, map[string]int{"k": 4}, s.now(), way)
	}
}
