package nearcache

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// TestAnEntryIsLoadedAnewBehindANear before it ends, though its hits ask nobody.
func TestAnEntryIsLoadedAnewBehindANear(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	load := func(context.Context, string) (int, bool, error) {
		time.Sleep(20 * time.Millisecond)
		return 1, true, nil
	}
	for name, on := range map[string]func(e *locking.Engine, name string) rmap.Mapping[string, int]{
		"cache": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
			return readthrough.New(rmap.NewCache[string, int](e, name, rmap.WithTTL(2*time.Second)), load, readthrough.WithRefreshAhead(20))
		},
		"native, through a writing": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
			l := readthrough.New(rmap.NewTTLMap[string, int](e, name, rmap.WithTTL(2*time.Second)), load, readthrough.WithRefreshAhead(20))
			return writethrough.New(l, func(context.Context, []writethrough.Change[string, int]) error { return nil })
		},
		"native, announced": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
			m := rmap.NewTTLMap[string, int](e, name, rmap.WithTTL(2*time.Second), rmap.WithAnnounce())
			return New(readthrough.New(m, load, readthrough.WithRefreshAhead(20)), WithAnnounced())
		},
		"two near caches": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
			return New(readthrough.New(rmap.NewCache[string, int](e, name, rmap.WithTTL(2*time.Second)), load, readthrough.WithRefreshAhead(20)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &maptest.Watcher{Events: map[string]int{}}
			n := New(on(maptest.EngineOn(t, raw, func(c *core.Config) { c.Caches = w }), maptest.CacheNamed(t, raw)))
			defer n.Close()
			count := func(ahead bool) (count int) {
				w.Mu.Lock()
				defer w.Mu.Unlock()
				for _, l := range w.Loads {
					if l.Ahead == ahead {
						count++
					}
				}
				return count
			}
			redistest.Eventually(t, func() bool {
				_, there, err := n.Get(t.Context(), "k")
				return err == nil && there && count(true) >= 3
			}, maptest.Soon, time.Millisecond)
			require.Less(t, count(false), count(true), "a machine that stands still may miss an end")
			require.Greater(t, n.Stats().Hits, n.Stats().Misses)
		})
	}
}

// TestHitsAreToldSeldom of an entry whose end is far away, and never of a map without
// refreshes.
func TestHitsAreToldSeldom(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw), rmap.WithTTL(time.Hour))
	n := New(readthrough.New(m, maptest.Quick, readthrough.WithRefreshAhead(1)))
	defer n.Close()
	redistest.Eventually(t, func() bool {
		_, there, err := n.Get(t.Context(), "5")
		it := n.kept.Load().get("5")
		return err == nil && there && it != nil && it.again.Load()-it.from.now() > int64(30*time.Minute)
	}, maptest.Soon, time.Millisecond)
	require.Nil(t, readthrough.New(m, maptest.Quick).Inside().Heard)
}

// TestHitsOfGetManyAndHasAreTold as those of Get.
func TestHitsOfGetManyAndHasAreTold(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for name, hit := range map[string]func(n *Cache[string, int]) error{
		"get many": func(n *Cache[string, int]) error { _, err := n.GetMany(t.Context(), "5"); return err },
		"has":      func(n *Cache[string, int]) error { _, err := n.Has(t.Context(), "5"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := readthrough.New(rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw), rmap.WithTTL(time.Hour)), maptest.Quick, readthrough.WithRefreshAhead(1))
			n := New(l)
			defer n.Close()
			redistest.Eventually(t, func() bool {
				_, _, err := n.Get(t.Context(), "5")
				it := n.kept.Load().get("5")
				if err != nil || it == nil {
					return false
				}
				it.again.Store(0) // as if it were due
				err = hit(n)
				return err == nil && it.again.Load() > 0
			}, maptest.Soon, time.Millisecond)
		})
	}
}
