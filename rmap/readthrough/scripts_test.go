package readthrough

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestLoadCallsPassWhatTheHeaderNames, and all keys of a call are in the slot of the map.
func TestLoadCallsPassWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	for _, raw := range []rueidis.Client{maptest.MiniredisClient(t), redistest.Start(t, redistest.Version("8.0")).Client(t)} {
		r := redistest.RecordScripts(t, raw)
		e := maptest.EngineOn(t, r)
		for _, name := range []string{"map", "{u1}:map", "a{b}c"} {
			for _, m := range []interface {
				rmap.Mapping[string, int]
				Delete(context.Context) (bool, error)
			}{rmap.New[string, int](e, name), rmap.NewCache[string, int](e, name), rmap.NewCache[string, int](e, name, rmap.WithRequestIDs(), rmap.WithTTL(time.Hour), rmap.WithMaxIdle(time.Hour))} {
				l := New(m, maptest.Quick)
				for _, k := range []string{"5", "none"} {
					_, _, err := l.Get(t.Context(), k)
					require.NoError(t, err)
				}
				require.NoError(t, l.h.StoreOf("5").Keep(t.Context(), mapstore.Lease{Key: "5", Token: "nobody's", Lasts: time.Second}))
				var seen []string
				for _, call := range r.Take() {
					if script := redistest.ScriptNames([]redistest.ScriptCall{call})[0]; strings.HasPrefix(script, "load_") {
						call.Check(t)
						require.True(t, e.SameSlot(append([]string{name}, call.Keys...)...), call.Keys)
						seen = append(seen, script)
					}
				}
				for _, script := range maptest.ScriptsOf(t, "load") {
					require.Contains(t, seen, script)
				}
				_, err := m.Delete(t.Context())
				require.NoError(t, err)
			}
		}
	}
}
