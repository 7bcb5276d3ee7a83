package bloom

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestABitmapWithoutAConfigIsNotRenamed: it is no filter, and must not replace one.
func TestABitmapWithoutAConfigIsNotRenamed(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e, tag := enginetest.On(t, raw), "{"+redistest.Name(t)+"}"
		filter, orphan := New[string](e, tag+"a"), New[string](e, tag+"b")
		_, err := filter.Init(t.Context(), 100, 0.01)
		require.NoError(t, err)
		require.NoError(t, filter.Add(t.Context(), "v"))
		redistest.Do(t, raw, "SET", tag+"b", "bits")
		did, err := orphan.Rename(t.Context(), tag+"a")
		require.NoError(t, err)
		require.False(t, did)
		has, err := filter.Has(t.Context(), "v")
		require.NoError(t, err)
		require.True(t, has)
		did, err = filter.Rename(t.Context(), tag+"b")
		require.NoError(t, err)
		require.True(t, did)
		has, err = orphan.Has(t.Context(), "v")
		require.NoError(t, err)
		require.True(t, has)
		_, err = orphan.Delete(t.Context())
		require.NoError(t, err)
	})
}
