package nearcache

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// ledger adds up what is told of near caches.
type ledger struct {
	maptest.Spoken
	mu    sync.Mutex
	sum   core.NearCounts
	calls int
}

func (l *ledger) Near(_ context.Context, n core.NearCounts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	l.sum.Cache = n.Cache
	l.sum.Hits += n.Hits
	l.sum.Misses += n.Misses
	l.sum.Drops += n.Drops
	l.sum.WholeDrops += n.WholeDrops
}

func (l *ledger) all() (sum core.NearCounts, calls int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum, l.calls
}

func counted(n *Cache[string, string]) core.NearCounts {
	s := n.Stats()
	return core.NearCounts{Cache: n.Name(), Hits: s.Hits, Misses: s.Misses, Drops: s.Drops, WholeDrops: s.WholeDrops}
}

func TestAnObserverIsToldWhatANearCacheDoes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	told := &ledger{}
	n := New(rmap.New[string, string](maptest.EngineOn(t, raw, func(c *core.Config) { c.Caches = told }), maptest.Named(t, raw)))
	t.Cleanup(n.Close)
	require.NoError(t, n.Put(t.Context(), "k", "v"))
	hot(t, n, "k", "v")
	for range 1000 {
		_, _, err := n.Get(t.Context(), "k")
		require.NoError(t, err)
	}
	redistest.Eventually(t, func() bool { // nobody uses it meanwhile
		sum, calls := told.all()
		return calls > 0 && sum == counted(n)
	}, maptest.Soon, maptest.Soon/3000, "not told")
	_, calls := told.all()
	require.Less(t, calls, 100)

	require.NoError(t, n.Put(t.Context(), "k", "w"))
	hot(t, n, "k", "w")
	want := counted(n)
	n.Close()
	sum, _ := told.all()
	require.GreaterOrEqual(t, sum.Drops, want.Drops)
	require.Equal(t, want.Hits, sum.Hits)
	require.Equal(t, want.Misses, sum.Misses)
	require.Positive(t, sum.WholeDrops)
}

func TestMissesAreToldWhereThereIsNoTracking(t *testing.T) {
	t.Parallel()
	told := &ledger{}
	raw := maptest.MiniredisClient(t)
	n := New(rmap.New[string, string](maptest.EngineOn(t, raw, func(c *core.Config) { c.Caches = told }), "m"))
	t.Cleanup(n.Close)
	redistest.Eventually(t, func() bool {
		_, _, err := n.Get(t.Context(), "k")
		sum, _ := told.all()
		return err == nil && sum.Misses > 0
	}, maptest.Soon, maptest.Soon/3000, "not told")
}
