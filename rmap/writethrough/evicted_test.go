package writethrough

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// TestAServerThatEvictsWhatWritersHave beside the map: what is put later reaches the
// store, tokens rise, and nobody is left waiting.
func TestAServerThatEvictsWhatWritersHave(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for what, key := range map[string]func(name string) string{
			"queue": keys.MapWrites, "last changes": keys.MapPending, "lock": keys.MapDrain,
			"counter": func(name string) string { return keys.FenceToken(keys.MapDrain(name)) },
		} {
			for _, kind := range []string{"map", "cache"} {
				t.Run(what+" of a "+kind, func(t *testing.T) {
					t.Parallel()
					s, began, open := newBehindMap(), make(chan int64, 100), make(chan struct{})
					s.fences = true // a writer outlives its turn, and comes when the next one does
					name := maptest.CacheNamed(t, raw)
					m := mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw, func(c *core.Config) { c.WatchdogTimeout = 6 * time.Second }), name)
					w := New(m, func(ctx context.Context, changes []Change[string, int]) error {
						token, _ := fence.FromContext(ctx)
						began <- token.Number()
						<-open
						return s.write(ctx, changes)
					}, WithBehind(2), WithWriteDelay(time.Millisecond))
					for i := range 5 {
						require.NoError(t, w.Put(t.Context(), strconv.Itoa(i), i))
					}
					tokens := []int64{<-began}
					redistest.Do(t, raw, "DEL", key(name))
					for i := range 5 {
						require.NoError(t, w.Put(t.Context(), strconv.Itoa(i), 10+i))
					}
					close(open)
					require.NoError(t, w.Close(t.Context()))
					require.Equal(t, mapkinds.Contents(t, m), s.now())
					require.Len(t, s.now(), 5)
					for len(began) > 0 {
						tokens = append(tokens, <-began)
					}
					require.True(t, slices.IsSorted(tokens), tokens)
					maptest.NothingIsLeft(t, raw, name)
				})
			}
		}
	})
}

// TestAServerThatEvictsTheLeaseOfALoad: nothing that was put since is overwritten.
func TestAServerThatEvictsTheLeaseOfALoad(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		for _, put := range []bool{false, true} {
			s := maptest.NewSource()
			m := on(maptest.EngineOn(t, raw))
			l := readthrough.New(m, s.Load)
			got := make(chan int, 1)
			go func() {
				v, _, _ := l.Get(context.Background(), "k")
				got <- v
			}()
			<-s.Began
			redistest.Do(t, raw, "DEL", keys.MapLease(l.Inside().Handle.Home("k"))+"k", keys.MapLoad(l.Inside().Handle.Home("k"), "k"))
			s.V.Store(8)
			if put {
				require.NoError(t, m.Put(t.Context(), "k", 8))
			}
			close(s.Open)
			require.Equal(t, 8, <-got)
			v, _, err := m.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, 8, v)
			_, err = l.Remove(t.Context(), "k")
			require.NoError(t, err)
			maptest.NothingIsLeft(t, raw, m.Name())
		}
	})
}
