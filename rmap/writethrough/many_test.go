package writethrough

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestManyEntriesAreRemovedBehind, more than one script may have arguments to unpack.
func TestManyEntriesAreRemovedBehind(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := rmap.New[string, int](maptest.EngineOn(t, raw), redistest.Name(t))
	w := New(m, func(context.Context, []Change[string, int]) error { return nil }, WithBehind(1000))
	all, names := map[string]int{}, []string(nil)
	for i := range redistest.Count(t, 9_000, 20_000) {
		k := fmt.Sprint(i)
		all[k], names = i, append(names, k)
	}
	require.NoError(t, w.PutMany(t.Context(), all))
	n, err := w.Remove(t.Context(), names...)
	require.NoError(t, err)
	require.EqualValues(t, len(all), n)
	require.NoError(t, w.Close(t.Context()))
}
