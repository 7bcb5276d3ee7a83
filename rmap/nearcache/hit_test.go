package nearcache

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

func hitting(t testing.TB) *Cache[string, string] {
	raw := redistest.Shared(t).Client(t)
	n := New(rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw)))
	t.Cleanup(n.Close)
	for i := range 1024 {
		require.NoError(t, n.Put(t.Context(), strconv.Itoa(i), strings.Repeat("v", 64)))
	}
	for i := range 1024 {
		hot(t, n, strconv.Itoa(i), strings.Repeat("v", 64))
	}
	return n
}

func TestAHitAllocatesNothing(t *testing.T) {
	n := hitting(t)
	ctx := t.Context()
	require.Less(t, testing.AllocsPerRun(1000, func() { _, _, _ = n.Get(ctx, "7") }), 1.0)
}

func BenchmarkNearHit(b *testing.B) {
	n := hitting(b)
	ctx := b.Context()
	b.ReportAllocs()
	b.Run("goroutines=1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = n.Get(ctx, "7")
		}
	})
	b.Run("goroutines=8", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				_, _, _ = n.Get(ctx, "7")
			}
		})
	})
}
