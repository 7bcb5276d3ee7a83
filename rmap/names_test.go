package rmap

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestNamesThatAreUsedOnceLeaveNothing in the process. It is not parallel: it
// looks at the heap.
func TestNamesThatAreUsedOnceLeaveNothing(t *testing.T) {
	raw := redistest.Shared(t).Client(t)
	e := engineOn(t, raw)
	prefix := redistest.Name(t)
	use := func(i int) {
		m := New[string, int](e, prefix+strconv.Itoa(i), WithCodec(codec.Text), WithEntryLock())
		ids := New[string, int](e, m.Name(), WithCodec(codec.Text), WithRequestIDs())
		_, _, err := m.Compute(t.Context(), "k", increment)
		require.NoError(t, err)
		_, _, err = ids.Get(t.Context(), "k")
		require.NoError(t, err)
		_, err = ids.Delete(t.Context())
		require.NoError(t, err)
	}
	heap := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	for i := range 1000 {
		use(-i)
	}
	before := heap()
	names := redistest.Count(t, 3000, 1_000_000)
	for i := range names {
		use(i)
	}
	require.Eventually(t, func() bool { return heap() < before+int64(max(1<<20, names/2)) }, soon, soon/100,
		"%d bytes became %d", before, heap())
}
