package readthrough

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestALoaderThatSleptPastItsLease overwrites nothing, and returns nothing older.
func TestALoaderThatSleptPastItsLease(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := maptest.CacheNamed(t, raw)
			c := startLoader(t, server, kind, name, time.Second)
			c.Send("go")
			require.Equal(t, "load", c.Next())
			c.Stop()
			c.Send("on")
			m := of(maptest.EngineOn(t, raw), name)
			l := New(m, func(context.Context, string) (int, bool, error) { return 8, true, nil })
			v, _, err := l.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, 8, v)
			c.Cont()
			for range 100 {
				require.Equal(t, "8 true <nil>", c.Next())
			}
			require.Equal(t, "done", c.Next())
			require.Equal(t, map[string]int{"k": 8}, mapkinds.Contents(t, m))
		})
	}
}
