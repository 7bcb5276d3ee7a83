package nearcache

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// nears is both modes, of a map of that name and a client.
var nears = map[string][]Option{"tracked": nil, "announced": {WithAnnounced()}}

// nearsOf is the same, and that of a cache which announces.
var nearsOf = map[string]func(e *locking.Engine) (rmap.Mapping[string, string], []Option){
	"tracked": func(e *locking.Engine) (rmap.Mapping[string, string], []Option) {
		return rmap.New[string, string](e, "m", rmap.WithAnnounce()), nil
	},
	"announced": func(e *locking.Engine) (rmap.Mapping[string, string], []Option) {
		return rmap.New[string, string](e, "m", rmap.WithAnnounce()), nears["announced"]
	},
	"announced cache": func(e *locking.Engine) (rmap.Mapping[string, string], []Option) {
		return rmap.NewCache[string, string](e, "m", rmap.WithAnnounce()), nears["announced"]
	},
}

func TestANearCacheFollowsItsSlot(t *testing.T) {
	t.Parallel()
	for mode, of := range nearsOf {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t)
			raw := cluster.Client(t)
			m, opts := of(maptest.EngineOn(t, raw))
			mine := New(m, append([]Option{WithMaxSilence(time.Second)}, opts...)...)
			t.Cleanup(mine.Close)
			w, _ := of(maptest.EngineOn(t, cluster.Client(t)))
			for round := range 2 {
				want := fmt.Sprint("before ", round)
				eventuallyPut(t, w, want)
				eventuallyGets(t, mine, want)
				move := cluster.StartMigration(t, "m")
				move.Move(t, "m")
				move.Finish(t)
				want = fmt.Sprint("behind ", round)
				eventuallyPut(t, w, want)
				asked := time.Now()
				eventuallyGets(t, mine, want)
				t.Log("seen after", time.Since(asked))
				hits := mine.Stats().Hits
				redistest.Eventually(t, func() bool {
					v, _, err := mine.Get(t.Context(), "k")
					return err == nil && v == want && mine.Stats().Hits > hits
				}, maptest.Soon, time.Millisecond, "no hits at the new node: %v", mine.Stats().Err)
			}
		})
	}
}

func eventuallyPut(t *testing.T, m rmap.Mapping[string, string], v string) {
	t.Helper()
	redistest.Eventually(t, func() bool { return m.Put(t.Context(), "k", v) == nil }, maptest.Soon, 10*time.Millisecond)
}

// eventuallyGets is not so before what was written is seen, and stays so.
func eventuallyGets(t *testing.T, n *Cache[string, string], want string) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		v, _, err := n.Get(t.Context(), "k")
		return err == nil && v == want
	}, maptest.Soon, time.Millisecond)
	for range 100 {
		if v, _, err := n.Get(t.Context(), "k"); err == nil {
			require.Equal(t, want, v)
		}
	}
}

func TestANearCacheOutlivesAFailover(t *testing.T) {
	t.Parallel()
	for mode, of := range nearsOf {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartSentinel(t)
			m, opts := of(maptest.EngineOn(t, s.Client(t)))
			mine := New(m, append([]Option{WithMaxSilence(time.Second)}, opts...)...)
			t.Cleanup(mine.Close)
			w, _ := of(maptest.EngineOn(t, s.Client(t)))
			eventuallyPut(t, w, "before")
			eventuallyGets(t, mine, "before")
			old := s.Master()
			old.Kill()
			s.AwaitMaster(t, old.Addr())
			eventuallyPut(t, w, "behind")
			eventuallyGets(t, mine, "behind")
			hits := mine.Stats().Hits
			redistest.Eventually(t, func() bool {
				v, _, err := mine.Get(t.Context(), "k")
				return err == nil && v == "behind" && mine.Stats().Hits > hits
			}, maptest.Soon, time.Millisecond, "no hits at the new master: %v", mine.Stats().Err)
		})
	}
}

// A sharded map has a connection for each node, and a write drops what is of its
// shard.
func TestANearCacheOfManyShards(t *testing.T) {
	t.Parallel()
	for mode, opts := range nears {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			var raw rueidis.Client = redistest.Shared(t).Client(t)
			name := maptest.Named(t, raw)
			m := rmap.NewSharded[string, string](maptest.EngineOn(t, raw), name, 8, rmap.WithAnnounce())
			n := New(m, opts...)
			t.Cleanup(n.Close)
			t.Cleanup(func() { m.Delete(t.Context()) })
			w := New(rmap.NewSharded[string, string](maptest.EngineOn(t, raw), name, 8, rmap.WithAnnounce()), opts...)
			t.Cleanup(w.Close)
			for i := range 32 {
				k := fmt.Sprint(i)
				require.NoError(t, w.Put(t.Context(), k, "old"))
				hot(t, n, k, "old")
			}
			for i := range 32 {
				k := fmt.Sprint(i)
				require.NoError(t, w.Put(t.Context(), k, "new"))
				becomes(t, n, k, "new")
			}
		})
	}
}
