package otel_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestWhatBecomesOfEntriesIsCounted(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	o := r.Observer.(rueidisson.CacheObserver)
	for _, s := range []rueidisson.Sweep{
		{Cache: "a", Expired: 200, Took: time.Millisecond}, {Cache: "a", Expired: 3, Evicted: 7, Took: time.Millisecond},
		{Cache: "b", Busy: true, Took: time.Millisecond}, {Cache: "b", Evicted: 1, Written: true}, {Cache: "b", Err: errors.New("secret")},
	} {
		o.CacheSwept(t.Context(), s)
	}
	o.CacheEvent(t.Context(), "a", "created")
	assert.Equal(t, map[string]int64{"rueidisson.cache=a": 203}, r.sums(t, "rueidisson.cache.expired"))
	assert.Equal(t, map[string]int64{"rueidisson.cache=a": 7, "rueidisson.cache=b": 1}, r.sums(t, "rueidisson.cache.evicted"))
	assert.Equal(t, map[string]int64{"rueidisson.cache=a,rueidisson.event=created": 1}, r.sums(t, "rueidisson.cache.events"))
	assert.Contains(t, r.metrics(t), "rueidisson.cache.sweep.duration")
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
	pages := rueidisson.Cache[string, int](c, "pages")
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
