package rmap

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestAnEntryIsLoadedAnewBehindANear before it ends, though its hits ask nobody.
func TestAnEntryIsLoadedAnewBehindANear(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	load := func(context.Context, string) (int, bool, error) {
		time.Sleep(20 * time.Millisecond)
		return 1, true, nil
	}
	for name, on := range map[string]func(e *locking.Engine, name string) Mapping[string, int]{
		"cache": func(e *locking.Engine, name string) Mapping[string, int] {
			return NewLoading(NewCache[string, int](e, name, WithTTL(2*time.Second)), load, WithRefreshAhead(20))
		},
		"native, through a writing": func(e *locking.Engine, name string) Mapping[string, int] {
			l := NewLoading(NewTTLMap[string, int](e, name, WithTTL(2*time.Second)), load, WithRefreshAhead(20))
			return NewWriting(l, newBehindMap().write)
		},
		"native, announced": func(e *locking.Engine, name string) Mapping[string, int] {
			m := NewTTLMap[string, int](e, name, WithTTL(2*time.Second), WithAnnounce())
			return NewNear(NewLoading(m, load, WithRefreshAhead(20)), WithAnnounced())
		},
		"two near caches": func(e *locking.Engine, name string) Mapping[string, int] {
			return NewNear(NewLoading(NewCache[string, int](e, name, WithTTL(2*time.Second)), load, WithRefreshAhead(20)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &watcher{events: map[string]int{}}
			n := NewNear(on(engineOn(t, raw, func(c *core.Config) { c.Caches = w }), cacheNamed(t, raw)))
			defer n.Close()
			count := func(ahead bool) (count int) {
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, l := range w.loads {
					if l.Ahead == ahead {
						count++
					}
				}
				return count
			}
			redistest.Eventually(t, func() bool {
				_, there, err := n.Get(t.Context(), "k")
				return err == nil && there && count(true) >= 3
			}, soon, time.Millisecond)
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
	l := NewLoading(NewCache[string, int](engineOn(t, raw), cacheNamed(t, raw), WithTTL(time.Hour)), quick, WithRefreshAhead(1))
	n := NewNear(l)
	defer n.Close()
	redistest.Eventually(t, func() bool {
		_, there, err := n.Get(t.Context(), "5")
		it := n.kept.Load().get("5")
		return err == nil && there && it != nil && it.again.Load()-it.from.now() > int64(30*time.Minute)
	}, soon, time.Millisecond)
	require.Nil(t, NewLoading(l.m, quick).inside().heard)
}

// TestAnEntryThatHadEndedIsLookedAtAgain: what comes in its place has an end of its own.
func TestAnEntryThatHadEndedIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	l := NewLoading(NewCache[string, int](engineOn(t, raw), cacheNamed(t, raw), WithTTL(time.Hour)), quick, WithRefreshAhead(1))
	l.hit(t.Context(), "5") // which has gone when it is asked for
	redistest.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.ends.of) == 0
	}, soon, time.Millisecond)
	require.NoError(t, l.Put(t.Context(), "5", 5))
	redistest.Eventually(t, func() bool {
		_, _, err := l.Get(t.Context(), "5")
		l.mu.Lock()
		defer l.mu.Unlock()
		e, known := l.ends.of["5"]
		return err == nil && known && !e.unknown
	}, soon, time.Millisecond)
}

// TestHitsOfGetManyAndHasAreTold as those of Get.
func TestHitsOfGetManyAndHasAreTold(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for name, hit := range map[string]func(n *Near[string, int]) error{
		"get many": func(n *Near[string, int]) error { _, err := n.GetMany(t.Context(), "5"); return err },
		"has":      func(n *Near[string, int]) error { _, err := n.Has(t.Context(), "5"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLoading(NewCache[string, int](engineOn(t, raw), cacheNamed(t, raw), WithTTL(time.Hour)), quick, WithRefreshAhead(1))
			n := NewNear(l)
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
			}, soon, time.Millisecond)
		})
	}
}
