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

// TestAFullServerRefusesEntriesWithTimes, and leaves those that are there their ends.
func TestAFullServerRefusesEntriesWithTimes(t *testing.T) {
	t.Parallel()
	raw := redistest.Start(t, redistest.Version("8.0")).Client(t)
	memory := func(most string) {
		require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary("CONFIG", "SET", "maxmemory", most).Build()).Error())
	}
	m := rmap.NewTTLMap[string, int](maptest.EngineOn(t, raw), "m")
	s := newBehindMap()
	w := New(m, s.write, ways["behind"]...)
	require.NoError(t, m.Put(t.Context(), "k", 1, rmap.WithTTL(time.Hour)))
	memory("1")
	for name, op := range map[string]func(ctx context.Context) error{
		"put": func(ctx context.Context) error { return m.Put(ctx, "k", 2, rmap.WithTTL(2*time.Hour)) },
		"new": func(ctx context.Context) error { return m.Put(ctx, "l", 2, rmap.WithTTL(2*time.Hour)) },
		"swap": func(ctx context.Context) error {
			_, _, err := m.Swap(ctx, "k", 2, rmap.WithTTL(2*time.Hour))
			return err
		},
		"behind": func(ctx context.Context) error {
			return w.PutMany(ctx, map[string]int{"k": 2, "l": 2}, rmap.WithTTL(2*time.Hour))
		},
	} {
		require.ErrorContains(t, op(t.Context()), "OOM", name)
	}
	memory("0")
	require.Equal(t, map[string]int{"k": 1}, mapkinds.Contents(t, m))
	left, err := m.TTL(t.Context(), "k")
	require.NoError(t, err)
	require.LessOrEqual(t, left, time.Hour)
	require.NoError(t, w.Close(t.Context()))
	require.Empty(t, s.now())
}
