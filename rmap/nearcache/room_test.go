package nearcache

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestANearCacheTakesRoomForWhatItKeeps, and not for all that it may keep. It is not
// parallel: it looks at the heap.
func TestANearCacheTakesRoomForWhatItKeeps(t *testing.T) {
	raw := redistest.Shared(t).Client(t)
	e := maptest.EngineOn(t, raw)
	prefix := maptest.Named(t, raw)
	for what, near := range map[string]struct {
		of   []rmap.MapOption
		with []Option
	}{"tracked": {}, "announced": {[]rmap.MapOption{rmap.WithAnnounce()}, []Option{WithAnnounced()}}} {
		all := make([]*Cache[string, int], 100)
		use := func(i int) {
			m := rmap.New[string, int](e, prefix+strconv.Itoa(i), near.of...)
			all[i] = New(m, near.with...)
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
