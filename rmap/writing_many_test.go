package rmap

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestManyEntriesAreRemovedBehind, more than one script may have arguments to unpack.
func TestManyEntriesAreRemovedBehind(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := New[string, int](engineOn(t, raw), redistest.Name(t))
	w := NewWriting(m, func(context.Context, []Change[string, int]) error { return nil }, WithBehind(1000))
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
