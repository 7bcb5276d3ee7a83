package nearcache

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// both is several options.
type both []Option

func (b both) apply(c *config) error {
	for _, o := range b {
		if err := o.apply(c); err != nil {
			return err
		}
	}
	return nil
}

// missed gets k until it is kept that there is none.
func missed[V any](t testing.TB, n *Cache[string, V], k string) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		before := n.Stats().Hits
		_, there, err := n.Get(t.Context(), k)
		require.NoError(t, err)
		require.False(t, there)
		return n.Stats().Hits > before
	}, maptest.Soon, time.Millisecond, "no hit: %v", n.Stats().Err)
}

// missKinds are near caches that keep misses, and a map of another process that writes.
var missKinds = map[string]func(e *locking.Engine, name string, d time.Duration) (*Cache[string, string], rmap.Mapping[string, string]){
	"tracked": func(e *locking.Engine, name string, d time.Duration) (*Cache[string, string], rmap.Mapping[string, string]) {
		m := rmap.New[string, string](e, name)
		return New(m, WithMisses(d)), m
	},
	"announced": func(e *locking.Engine, name string, d time.Duration) (*Cache[string, string], rmap.Mapping[string, string]) {
		m := rmap.New[string, string](e, name, rmap.WithAnnounce())
		return New(m, WithAnnounced(), WithMisses(d)), m
	},
	"cache": func(e *locking.Engine, name string, d time.Duration) (*Cache[string, string], rmap.Mapping[string, string]) {
		m := rmap.NewCache[string, string](e, name)
		return New(m, WithMisses(d)), m
	},
}

// TestNearMissIsKeptUntilTheEntryComes, by whoever writes it.
func TestNearMissIsKeptUntilTheEntryComes(t *testing.T) {
	t.Parallel()
	trackingServers(t, func(t *testing.T, raw rueidis.Client) {
		for kind, of := range missKinds {
			name := maptest.CacheNamed(t, raw)
			n, _ := of(maptest.EngineOn(t, raw), name, time.Hour)
			defer n.Close()
			_, other := of(maptest.EngineOn(t, raw), name, time.Hour)
			require.NoError(t, other.Put(t.Context(), "other", "o"))
			for _, by := range []rmap.Mapping[string, string]{other, n} {
				missed(t, n, "k")
				before := n.Stats()
				for range 5 {
					_, there, err := n.Get(t.Context(), "k")
					require.NoError(t, err)
					require.False(t, there)
				}
				has, err := n.Has(t.Context(), "k")
				require.NoError(t, err)
				assert.False(t, has)
				all, err := n.GetMany(t.Context(), "k")
				require.NoError(t, err)
				assert.Empty(t, all)
				assert.Equal(t, before.Misses, n.Stats().Misses, kind)
				require.NoError(t, by.Put(t.Context(), "k", kind))
				becomes(t, n, "k", kind)
				_, err = by.Remove(t.Context(), "k")
				require.NoError(t, err)
				becomes(t, n, "k", "")
			}
			got, err := n.GetMany(t.Context(), "none", "other")
			require.NoError(t, err)
			require.Equal(t, map[string]string{"other": "o"}, got)
		}
	})
}

// TestNearMissEnds with its time, and without the option nothing is kept of one.
func TestNearMissEnds(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
	require.NoError(t, m.Put(t.Context(), "other", 1))
	s := &maptest.StaleSource{}
	n := New(readthrough.New(m, s.Load), WithMisses(50*time.Millisecond))
	defer n.Close()
	missed(t, n, "k")
	s.V.Store(7)
	redistest.Eventually(t, func() bool {
		v, there, err := n.Get(t.Context(), "k")
		return err == nil && there && v == 7
	}, maptest.Soon, time.Millisecond)
	plain := New(m)
	defer plain.Close()
	hot(t, plain, "other", 1)
	for range 3 {
		before := plain.Stats().Misses
		_, there, err := plain.Get(t.Context(), "none")
		require.NoError(t, err)
		require.False(t, there)
		require.Greater(t, plain.Stats().Misses, before)
	}
}

// TestNearIsBoundedByBytes: of large entries it keeps few, of small ones many, and none
// that is larger than the bound.
func TestNearIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for what, of := range map[string]func(m rmap.Mapping[string, string], opts ...Option) *Cache[string, string]{
		"map": func(m rmap.Mapping[string, string], opts ...Option) *Cache[string, string] {
			return New(m, opts...)
		},
		"nested": func(m rmap.Mapping[string, string], opts ...Option) *Cache[string, string] {
			load := func(context.Context, string) (string, bool, error) { return "", false, nil }
			return New(New(readthrough.New(m, load)), opts...)
		},
	} {
		for size, want := range map[int]int{10_000: 9, 100: 300, 200_000: 0} {
			m := rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw))
			n := of(m, WithMaxBytes(100_000))
			all := map[string]string{}
			for i := range 400 * min(1, 10_000/size) {
				all[strconv.Itoa(i)] = strings.Repeat("v", size)
			}
			for i := range 30 {
				all[strconv.Itoa(i)] = strings.Repeat("v", size)
			}
			require.NoError(t, m.PutMany(t.Context(), all))
			hits := 0
			redistest.Eventually(t, func() bool {
				_, err := n.GetMany(t.Context(), "0")
				require.NoError(t, err)
				for k := range all {
					_, _, err := n.Get(t.Context(), k)
					require.NoError(t, err)
				}
				n.kept.Load().store.CleanUp()
				hits = n.Stats().Size
				return n.Stats().Err == nil && (hits > 0 || want == 0)
			}, maptest.Soon, time.Millisecond)
			require.LessOrEqual(t, int(n.kept.Load().store.WeightedSize()), 100_000, what)
			if want == 0 {
				require.Zero(t, hits, what)
			} else {
				require.InDelta(t, want, hits, float64(want)/4, "%s, %d bytes", what, size)
			}
			n.Close()
		}
	}
}

// TestNearPreloadsTheMap, as much of it as may be kept.
func TestNearPreloadsTheMap(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	all := map[string]int{}
	for i := range 1200 {
		all[strconv.Itoa(i)] = i
	}
	for kind, of := range map[string]func(e *locking.Engine, name string) rmap.Mapping[string, int]{
		"map":     mapkinds.LoadKinds["map"],
		"sharded": mapkinds.LoadKinds["sharded"],
		"announced": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
			return rmap.New[string, int](e, name, rmap.WithAnnounce())
		},
	} {
		m := of(maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
		require.NoError(t, m.PutMany(t.Context(), all))
		near := func(opts ...Option) *Cache[string, int] {
			if kind == "announced" {
				opts = append(opts, WithAnnounced())
			}
			n := New(m, opts...)
			t.Cleanup(n.Close)
			return n
		}
		n := near()
		redistest.Eventually(t, func() bool {
			read, err := n.Preload(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, len(all), read)
			before := n.Stats().Misses
			for k, v := range all {
				got, there, err := n.Get(t.Context(), k)
				require.NoError(t, err)
				require.True(t, there)
				require.Equal(t, v, got)
			}
			return n.Stats().Misses == before // else it was not tracked yet
		}, maptest.Soon, time.Millisecond, kind)
		read, err := near(WithMaxEntries(600)).Preload(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1000, read, "pages of 500 until there are enough")
		small := near(WithMaxBytes(50_000))
		redistest.Eventually(t, func() bool {
			read, err = small.Preload(t.Context())
			require.NoError(t, err)
			return read == 500
		}, maptest.Soon, time.Millisecond, kind)
	}
	empty := New(rmap.New[string, int](maptest.EngineOn(t, raw), redistest.Name(t)))
	defer empty.Close()
	read, err := empty.Preload(t.Context())
	require.NoError(t, err)
	require.Zero(t, read)
}

// TestLoadingStaleEntryIsNoCopy of a near cache: that asks again when its last time begins.
func TestLoadingStaleEntryIsNoCopy(t *testing.T) {
	t.Parallel()
	mapkinds.OnSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...rmap.CacheOption) mapkinds.SourceMap) {
		s := &maptest.StaleSource{}
		s.V.Store(7)
		m := on(maptest.EngineOn(t, raw), rmap.WithTTL(time.Hour))
		l := readthrough.New(m, s.Load, readthrough.WithStaleOnError(2*time.Hour))
		n := New(l, WithMaxAge(100*time.Hour))
		defer n.Close()
		hot(t, n, "k", 7)
		require.LessOrEqual(t, time.Duration(n.kept.Load().get("k").ends-n.kept.Load().get("k").from.now()), time.Hour)
		left, err := l.Inside().Left(t.Context(), "k")
		require.NoError(t, err)
		require.LessOrEqual(t, left, time.Hour)
		require.Greater(t, left, 59*time.Minute)
		_, err = m.Touch(t.Context(), "k", rmap.WithTTL(time.Hour))
		require.NoError(t, err)
		left, err = l.Inside().Left(t.Context(), "k")
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

// TestManyMissesOfAMapThatIsNotThereAskOnce whether its end would be told.
func TestManyMissesOfAMapThatIsNotThereAskOnce(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	n := New(rmap.New[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw)))
	defer n.Close()
	from, asked := n.copies().from[0], atomic.Int64{}
	arm := from.arm
	from.arm = func(ctx context.Context) (time.Duration, error) {
		asked.Add(1)
		return arm(ctx)
	}
	ks := make([]string, 100)
	for i := range ks {
		ks[i] = strconv.Itoa(i)
	}
	got, err := n.GetMany(t.Context(), ks...)
	require.NoError(t, err)
	require.Empty(t, got)
	require.EqualValues(t, 1, asked.Load())
}
