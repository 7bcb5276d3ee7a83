package writethrough

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestWriteCallsPassWhatTheHeaderNames, and all keys of a call are in the slot of the map.
func TestWriteCallsPassWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	for _, raw := range []rueidis.Client{maptest.MiniredisClient(t), redistest.Start(t, redistest.Version("8.0")).Client(t)} {
		r := redistest.RecordScripts(t, raw)
		e := maptest.EngineOn(t, r)
		for _, name := range []string{"map", "{u1}:map", "a{b}c"} {
			for _, m := range []interface {
				rmap.Mapping[string, int]
				Delete(context.Context) (bool, error)
			}{rmap.New[string, int](e, name), rmap.NewCache[string, int](e, name), rmap.NewCache[string, int](e, name, rmap.WithRequestIDs(), rmap.WithTTL(time.Hour), rmap.WithMaxIdle(time.Hour))} {
				w := New(m, newBehindMap().write, ways["behind"]...)
				require.NoError(t, w.PutMany(t.Context(), map[string]int{"1": 1, "2": 2}))
				_, _, err := w.Compute(t.Context(), "1", mapkinds.PlusOne)
				require.NoError(t, err)
				_, err = w.Remove(t.Context(), "1", "2")
				require.NoError(t, err)
				for range w.Dead(t.Context()) {
				}
				_, err = w.Redrive(t.Context(), "1-1")
				require.NoError(t, err)
				_, err = w.Purge(t.Context(), "1-1")
				require.NoError(t, err)
				require.NoError(t, w.Close(t.Context()))
				require.NoError(t, New(m, newBehindMap().write).Put(t.Context(), "3", 3))
				_, err = New(m, newBehindMap().write).Remove(t.Context(), "3")
				require.NoError(t, err)
				var seen []string
				for _, call := range r.Take() {
					script := redistest.ScriptNames([]redistest.ScriptCall{call})[0]
					if strings.HasPrefix(script, "behind") || strings.HasPrefix(script, "through") {
						call.Check(t)
						require.True(t, e.SameSlot(append([]string{name}, call.Keys...)...), call.Keys)
						seen = append(seen, script)
					}
				}
				for _, script := range maptest.ScriptsOf(t, "behind", "through") {
					require.Contains(t, seen, script)
				}
				_, err = m.Delete(t.Context())
				require.NoError(t, err)
			}
		}
	}
}
