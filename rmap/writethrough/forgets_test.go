package writethrough

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestAChangeThatHasTheIDOfAForgottenOneIsWritten: a server that has forgotten a
// change, as one does that was promoted, and whose clock is behind the last id, gives
// that to another. Who has written the forgotten one does not drop the other.
func TestAChangeThatHasTheIDOfAForgottenOneIsWritten(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, kind := range []string{"map", "cache"} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				s, began, open := newBehindMap(), make(chan struct{}, 10), make(chan struct{})
				m := mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
				w := New(m, func(ctx context.Context, changes []Change[string, int]) error {
					began <- struct{}{}
					<-open
					return s.write(ctx, changes)
				}, WithBehind(2), WithWriteDelay(time.Hour))
				queue := keys.MapWrites(m.Name())
				was := []string{"XADD", queue, "99999999999999-0", "k", "l", "v", "=\x00"} // when the clock was ahead
				redistest.Do(t, raw, was...)
				require.NoError(t, w.Put(t.Context(), "k", 1))
				<-began
				redistest.Do(t, raw, "DEL", queue)
				redistest.Do(t, raw, was...)
				require.NoError(t, w.Put(t.Context(), "k", 2))
				last := redistest.Do(t, raw, "XREVRANGE", queue, "+", "-", "COUNT", "1")
				all, err := last.AsXRange()
				require.NoError(t, err)
				require.Equal(t, "99999999999999-1", all[0].ID, "or this test shows nothing")
				close(open)
				require.NoError(t, w.Close(t.Context()))
				require.Equal(t, map[string]int{"l": 0, "k": 2}, s.now())
			})
		}
	})
}
