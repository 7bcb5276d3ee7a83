package otel_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rueidissontest"
	sets "github.com/rueidisson/rueidisson/set"
	"github.com/rueidisson/rueidisson/sortedset"
	"github.com/rueidisson/rueidisson/topic"
)

// TestCombinedCallsAreCounted: each call is in one exchange, and an exchange is for several.
func TestCombinedCallsAreCounted(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	c := rueidissontest.NewServer(t).NewClient(t, rueidisson.WithObserver(r.Observer))
	const goroutines, each = 64, 50
	hits := counter.New(c, "hits")
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range each {
				_, err := hits.Add(t.Context(), 1)
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	adds := histogram[int64](t, r, "rueidisson.combined.calls")["rueidisson.kind=counter"]
	require.EqualValues(t, goroutines*each, adds.Sum)
	require.Less(t, adds.Count, uint64(goroutines*each/2))

	seen := bloom.New[string](c, "seen")
	_, err := seen.Init(t.Context(), 100, 0.01)
	require.NoError(t, err)
	for what, call := range map[string]func() error{
		"bloom filter": func() error { _, err := seen.Has(t.Context(), "v"); return err },
		"bucket":       func() error { _, _, err := bucket.New[string](c, "b").Get(t.Context()); return err },
		"distinct":     func() error { return counter.NewDistinct[string](c, "d").Add(t.Context(), "v") },
		"set":          func() error { _, err := sets.New[string](c, "s").Has(t.Context(), "v"); return err },
		"set cache":    func() error { _, err := sets.NewCache[string](c, "sc").Has(t.Context(), "v"); return err },
		"sorted set":   func() error { _, _, err := sortedset.New[string](c, "z").Score(t.Context(), "v"); return err },
		"sharded map": func() error {
			_, _, err := rmap.NewSharded[string, string](c, "m", 2).Get(t.Context(), "v")
			return err
		},
		"reliable queue": func() error {
			if _, err := reliable.New[string](c, "q").Result(t.Context(), 1); !errors.Is(err, reliable.ErrNotFound) {
				return fmt.Errorf("no result is there: %w", err)
			}
			return nil
		},
		"reliable topic": func() error { _, err := topic.NewReliable[string](c, "t").Listen(t.Context()); return err },
	} {
		require.NoError(t, call(), what)
		require.EqualValues(t, 1, histogram[int64](t, r, "rueidisson.combined.calls")["rueidisson.kind="+what].Sum, what)
	}
}

// TestSweepsOfSetsAreCounted as those of maps are.
func TestSweepsOfSetsAreCounted(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	c := rueidissontest.NewServer(t).NewClient(t, rueidisson.WithObserver(r.Observer))
	s := sets.NewCache[string](c, "sessions")
	for i := range 3 {
		_, err := s.Add(t.Context(), fmt.Sprint(i), sets.WithTTL(time.Millisecond))
		require.NoError(t, err)
	}
	redistest.Eventually(t, func() bool {
		if _, some := r.metrics(t)["rueidisson.cache.expired"]; !some {
			return false
		}
		return r.sums(t, "rueidisson.cache.expired")["rueidisson.cache=sessions"] == 3
	}, redistest.Soon, 10*time.Millisecond)
	require.Contains(t, histogram[float64](t, r, "rueidisson.cache.sweep.duration"), "rueidisson.kind=set cache")
}
