package nearcache

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestAnEndThatIsMovedForwardIsSeen, though the entry itself is not written.
func TestAnEndThatIsMovedForwardIsSeen(t *testing.T) {
	t.Parallel()
	moved := func(t *testing.T, raw rueidis.Client, opts ...rmap.PutOption) {
		t.Helper()
		n := New(rmap.NewCache[string, string](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)))
		defer n.Close()
		require.NoError(t, n.Put(t.Context(), "k", "v", opts...))
		hot(t, n, "k", "v")
		at := strconv.FormatInt(time.Now().Add(100*time.Millisecond).UnixMilli(), 10)
		require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary("ZADD", keys.MapTimes(n.Name()), at, "k").Build()).Error())
		becomes(t, n, "k", "")
	}
	all := func(t *testing.T, raw rueidis.Client) {
		t.Helper()
		moved(t, raw, rmap.WithTTL(time.Hour))
		moved(t, raw) // there was no end of any entry
	}
	trackingServers(t, all)
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		all(t, redistest.StartCluster(t).Client(t))
	})
}
