package otel_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestWhatBecomesOfEntriesIsCounted(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	o := r.Observer.(rueidisson.CacheObserver)
	for _, s := range []rueidisson.Sweep{
		{Cache: "a", Expired: 200, Took: time.Millisecond}, {Cache: "a", Expired: 3, Evicted: 7, Took: time.Millisecond},
		{Cache: "b", Busy: true, Took: time.Millisecond}, {Cache: "b", Evicted: 1, Written: true}, {Cache: "b", Err: errors.New("secret")},
		{Kind: "set cache", Cache: "b", ClockAhead: time.Hour, Err: errors.New("secret")},
	} {
		o.CacheSwept(t.Context(), s)
	}
	o.CacheEvent(t.Context(), "a", "created")
	assert.Equal(t, map[string]int64{"rueidisson.cache=a": 203}, r.sums(t, "rueidisson.cache.expired"))
	assert.Equal(t, map[string]int64{"rueidisson.cache=a": 7, "rueidisson.cache=b": 1}, r.sums(t, "rueidisson.cache.evicted"))
	assert.Equal(t, map[string]int64{"rueidisson.cache=a,rueidisson.event=created": 1}, r.sums(t, "rueidisson.cache.events"))
	assert.Equal(t, map[string]int64{"rueidisson.kind=set cache": 1}, r.sums(t, "rueidisson.cache.clock_ahead"))
	assert.Contains(t, histogram[float64](t, r, "rueidisson.cache.sweep.duration"), "error.type=_OTHER,rueidisson.kind=set cache")
}

func TestWhatNearCachesDoIsCounted(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	o := r.Observer.(rueidisson.CacheObserver)
	o.CacheNear(t.Context(), rueidisson.NearCounts{Cache: "a", Hits: 5, Misses: 2, Drops: 3})
	o.CacheNear(t.Context(), rueidisson.NearCounts{Cache: "a", Hits: 1})
	o.CacheNear(t.Context(), rueidisson.NearCounts{Cache: "b", WholeDrops: 4})
	for name, want := range map[string]map[string]int64{
		"hits": {"rueidisson.cache=a": 6}, "misses": {"rueidisson.cache=a": 2},
		"drops": {"rueidisson.cache=a": 3}, "whole_drops": {"rueidisson.cache=b": 4},
	} {
		assert.Equal(t, want, r.sums(t, "rueidisson.near."+name), name)
	}
}

func TestAClientTellsWhatItsStoresTake(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	c := rueidissontest.NewServer(t).NewClient(t, rueidisson.WithObserver(r.Observer))
	var calls atomic.Int64
	w := writethrough.New(rmap.New[string, int](c, "stock"), func(_ context.Context, changes []writethrough.Change[string, int]) error {
		switch {
		case calls.Add(1) == 1:
			return errors.New("secret")
		case changes[0].Key == "bad":
			return writethrough.Discard(errors.New("secret"))
		}
		return nil
	}, writethrough.WithBehind(1))
	require.NoError(t, w.Put(t.Context(), "tea", 3))
	require.NoError(t, w.Put(t.Context(), "bad", 3))
	require.NoError(t, w.Close(t.Context()))
	stock := map[string]int64{"rueidisson.cache=stock": 1}
	assert.Equal(t, stock, r.sums(t, "rueidisson.store.changes"))
	assert.Equal(t, stock, r.sums(t, "rueidisson.store.dead"))
	assert.EqualValues(t, 1, r.sums(t, "rueidisson.store.retries")["rueidisson.cache=stock"], "tea once")
	queued := r.metrics(t)["rueidisson.store.queued"].Data.(metricdata.Gauge[int64])
	require.Len(t, queued.DataPoints, 1)
	assert.Zero(t, queued.DataPoints[0].Value, "what was put aside is not queued")
	assert.Contains(t, r.metrics(t), "rueidisson.store.duration")
}

func TestAClientTellsWhatItsNearCachesDo(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	c := rueidissontest.NewServer(t).NewClient(t, rueidisson.WithObserver(r.Observer))
	near := nearcache.New(rmap.New[string, int](c, "prices", rmap.WithAnnounce()), nearcache.WithAnnounced())
	require.NoError(t, near.Put(t.Context(), "tea", 3))
	for range 3 {
		_, _, err := near.Get(t.Context(), "tea")
		require.NoError(t, err)
	}
	did := near.Stats()
	near.Close()
	assert.EqualValues(t, 3, did.Hits+did.Misses)
	assert.Equal(t, did.Hits, r.sums(t, "rueidisson.near.hits")["rueidisson.cache=prices"])
	assert.Equal(t, did.Misses, r.sums(t, "rueidisson.near.misses")["rueidisson.cache=prices"])
}

func TestManyCachesAreOne(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	for i := range 1000 {
		r.Observer.(rueidisson.CacheObserver).CacheSwept(t.Context(), rueidisson.Sweep{Cache: fmt.Sprint("tenant", i), Expired: 1})
	}
	assert.Len(t, r.sums(t, "rueidisson.cache.expired"), 101)
}

func TestAClientTellsWhatBecomesOfItsCaches(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	s := rueidissontest.NewServer(t)
	c := s.NewClient(t, rueidisson.WithObserver(r.Observer))
	pages := rmap.NewCache[string, int](c, "pages")
	events := pages.Events(t.Context(), rmap.Expired)
	require.NoError(t, pages.Put(t.Context(), "k", 1, rmap.WithTTL(time.Hour)))
	s.Forward(time.Hour)
	for ev, err := range events {
		require.NoError(t, err)
		assert.Equal(t, rmap.Event[string, int]{Kind: rmap.Expired, Key: "k", Value: 1}, ev)
		break
	}
	require.NoError(t, c.Close(t.Context())) // which waits for the visit
	assert.EqualValues(t, 1, r.sums(t, "rueidisson.cache.expired")["rueidisson.cache=pages"])
	assert.EqualValues(t, 1, r.sums(t, "rueidisson.cache.events")["rueidisson.cache=pages,rueidisson.event=expired"])
}
