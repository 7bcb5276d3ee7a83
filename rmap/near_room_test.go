package rmap

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestANearCacheTakesRoomForWhatItKeeps, and not for all that it may keep. It is not
// parallel: it looks at the heap.
func TestANearCacheTakesRoomForWhatItKeeps(t *testing.T) {
	raw := redistest.Shared(t).Client(t)
	e := engineOn(t, raw)
	prefix := named(t, raw)
	for what, near := range map[string]struct {
		of   []MapOption
		with []NearOption
	}{"tracked": {}, "announced": {[]MapOption{WithAnnounce()}, []NearOption{WithAnnounced()}}} {
		all := make([]*Near[string, int], 100)
		use := func(i int) {
			m := New[string, int](e, prefix+strconv.Itoa(i), near.of...)
			all[i] = NewNear(m, near.with...)
			require.NoError(t, all[i].Put(t.Context(), "k", i))
			hot(t, all[i], "k", i)
			_, err := m.Delete(t.Context())
			require.NoError(t, err)
		}
		use(0)
		before := redistest.HeapInUse()
		for i := range all {
			use(i)
		}
		each := (int(redistest.HeapInUse()) - int(before)) / len(all)
		require.Less(t, each, 64<<10, "bytes of a near cache of one entry, %s", what)
		runtime.KeepAlive(all)
		for _, n := range all {
			n.Close()
		}
	}
}
