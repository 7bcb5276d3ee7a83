package rmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// looking is what every kind of map has to look at its entries.
type looking interface {
	Mapping[string, int]
	ComputeIfAbsent(ctx context.Context, k string, f func() (int, error), opts ...PutOption) (int, bool, error)
	Values(ctx context.Context, opts ...ScanOption) iter.Seq2[int, error]
	RandomKeys(ctx context.Context, n int) ([]string, error)
	RandomEntries(ctx context.Context, n int) (map[string]int, error)
}

// timedMap is what maps have whose entries have times.
type timedMap interface {
	looking
	touching
	Peek(ctx context.Context, k string) (Timed[string, int], bool, error)
	PeekMany(ctx context.Context, ks ...string) (map[string]Timed[string, int], error)
	TTLMany(ctx context.Context, ks ...string) (map[string]time.Duration, error)
	ExpireEntries(ctx context.Context, ks []string, d time.Duration, when ...ExpireIf) (int64, error)
	ClearExpire(ctx context.Context, ks ...string) (int64, error)
}

// onLooking runs a test on every kind of map, each of its own name.
func onLooking(t *testing.T, test func(t *testing.T, m looking), opts ...MapOption) {
	t.Helper()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	opts = append([]MapOption{WithCodec(maptest.TextFamily)}, opts...)
	for kind, of := range map[string]func(t *testing.T, e *locking.Engine) looking{
		"map": func(t *testing.T, e *locking.Engine) looking {
			return New[string, int](e, maptest.Named(t, raw), opts...)
		},
		"native": func(t *testing.T, e *locking.Engine) looking {
			return NewTTLMap[string, int](e, maptest.Named(t, raw), maptest.As[TTLMapOption](opts)...)
		},
		"cache": func(t *testing.T, e *locking.Engine) looking {
			return NewCache[string, int](e, maptest.CacheNamed(t, raw), maptest.As[CacheOption](opts)...)
		},
		"sharded": func(t *testing.T, e *locking.Engine) looking {
			m := NewSharded[string, int](e, redistest.Name(t), 3, opts...)
			t.Cleanup(func() { _, _ = m.Delete(context.Background()) })
			return m
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, of(t, maptest.EngineOn(t, raw)))
		})
	}
}

// onTimed runs a test on both kinds whose entries have times, and tells how the clock of
// their entries is moved.
func onTimed(t *testing.T, test func(t *testing.T, m timedMap)) {
	t.Helper()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	for name, opts := range map[string][]MapOption{"": nil, " with ids": {WithRequestIDs()}} {
		opts = append([]MapOption{WithCodec(maptest.TextFamily)}, opts...)
		for kind, of := range map[string]func(t *testing.T, e *locking.Engine) timedMap{
			"native": func(t *testing.T, e *locking.Engine) timedMap {
				return NewTTLMap[string, int](e, maptest.Named(t, raw), maptest.As[TTLMapOption](opts)...)
			},
			"cache": func(t *testing.T, e *locking.Engine) timedMap {
				return NewCache[string, int](e, maptest.CacheNamed(t, raw), maptest.As[CacheOption](opts)...)
			},
		} {
			t.Run(kind+name, func(t *testing.T) {
				t.Parallel()
				test(t, of(t, maptest.EngineOn(t, raw)))
			})
		}
	}
}

func TestMapComputeIfAbsentStoresOnce(t *testing.T) {
	t.Parallel()
	onLooking(t, func(t *testing.T, m looking) {
		ctx := t.Context()
		var all sync.WaitGroup
		var mu sync.Mutex
		calls, stores := 0, 0
		for range 8 {
			all.Go(func() {
				v, stored, err := m.ComputeIfAbsent(ctx, "k", func() (int, error) {
					mu.Lock()
					defer mu.Unlock()
					calls++
					return 7, nil
				})
				assert.NoError(t, err)
				assert.Equal(t, 7, v)
				mu.Lock()
				defer mu.Unlock()
				if stored {
					stores++
				}
			})
		}
		all.Wait()
		require.Equal(t, []int{1, 1}, []int{calls, stores})
		own := errors.New("mine")
		_, stored, err := m.ComputeIfAbsent(ctx, "other", func() (int, error) { return 1, own })
		require.ErrorIs(t, err, own)
		require.False(t, stored)
		there, err := m.Has(ctx, "other")
		require.NoError(t, err)
		require.False(t, there)
		_, _, err = m.ComputeIfAbsent(ctx, "k", nil)
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}

func TestMapValuesAndRandomEntries(t *testing.T) {
	t.Parallel()
	onLooking(t, func(t *testing.T, m looking) {
		ctx, want := t.Context(), map[string]int{}
		ks, err := m.RandomKeys(ctx, 3)
		require.NoError(t, err)
		require.Empty(t, ks)
		var values []int
		for i := range 40 {
			want[fmt.Sprint("k", i)] = i
			values = append(values, i)
		}
		require.NoError(t, m.PutMany(ctx, want))
		var got []int
		for v, err := range m.Values(ctx) {
			require.NoError(t, err)
			got = append(got, v)
		}
		slices.Sort(got)
		require.Equal(t, values, slices.Compact(got))
		seen := map[string]bool{}
		for range 20 {
			ks, err := m.RandomKeys(ctx, 10)
			require.NoError(t, err)
			require.Len(t, ks, 10)
			one := map[string]bool{}
			for _, k := range ks {
				seen[k], one[k] = true, true
				require.Contains(t, want, k)
			}
			require.Len(t, one, 10, "they are different")
		}
		require.Greater(t, len(seen), 20, "and others the next time")
		all, err := m.RandomEntries(ctx, 100)
		require.NoError(t, err)
		require.Equal(t, want, all)
		for _, n := range []int{0, -1, mapstore.MostInOne + 1} {
			_, err := m.RandomKeys(ctx, n)
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
	})
}

func TestComputeAndAddTakeTimesOfOneCall(t *testing.T) {
	t.Parallel()
	onTimed(t, func(t *testing.T, m timedMap) {
		ctx := t.Context()
		lasts := func(k string, d time.Duration) {
			t.Helper()
			left, err := m.TTL(ctx, k)
			require.NoError(t, err)
			if d < 0 {
				require.Equal(t, d, left)
				return
			}
			require.Greater(t, left, d-time.Minute)
			require.LessOrEqual(t, left, d)
		}
		_, _, err := m.Compute(ctx, "c", increment, WithTTL(time.Hour))
		require.NoError(t, err)
		lasts("c", time.Hour)
		_, _, err = m.Compute(ctx, "c", increment, WithTTL(0))
		require.NoError(t, err)
		lasts("c", -1)
		n, err := Add(ctx, m, "a", 2, WithTTL(time.Hour))
		require.NoError(t, err)
		require.Equal(t, 2, n)
		lasts("a", time.Hour)
		n, err = Add(ctx, m, "a", 2)
		require.NoError(t, err)
		require.Equal(t, 4, n)
		lasts("a", time.Hour)
		n, err = Add(ctx, m, "a", 2, WithTTL(0))
		require.NoError(t, err)
		require.Equal(t, 6, n)
		lasts("a", -1)
		_, _, err = m.ComputeIfAbsent(ctx, "i", func() (int, error) { return 1, nil }, WithTTL(time.Hour))
		require.NoError(t, err)
		lasts("i", time.Hour)
		_, _, err = m.Compute(ctx, "c", increment, nil)
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}

func TestPeekIsNoUse(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		at, ctx := maptest.NewHandClock(), t.Context()
		m := NewCache[string, int](maptest.EngineOn(t, raw, at.On), maptest.CacheNamed(t, raw), WithCodec(maptest.TextFamily))
		require.NoError(t, m.SetMaxSize(ctx, 3, LRU))
		require.NoError(t, m.Put(ctx, "a", 1, WithTTL(time.Hour), WithMaxIdle(time.Minute)))
		require.NoError(t, m.Put(ctx, "b", 2))
		at.Pass(40 * time.Second)
		for range 2 {
			e, there, err := m.Peek(ctx, "a")
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, Timed[string, int]{Entry[string, int]{"a", 1}, time.Hour - 40*time.Second, 20 * time.Second}, e)
		}
		all, err := m.PeekMany(ctx, "a", "b", "none")
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, Timed[string, int]{Entry[string, int]{"b", 2}, -1, -1}, all["b"])
		left, err := m.TTLMany(ctx, "a", "b", "none")
		require.NoError(t, err)
		require.Equal(t, map[string]time.Duration{"a": 20 * time.Second, "b": -1}, left)
		at.Pass(20 * time.Second)
		_, there, err := m.Peek(ctx, "a")
		require.NoError(t, err)
		require.False(t, there, "its idle time was over")
		left, err = m.TTLMany(ctx, "a", "b")
		require.NoError(t, err)
		require.Equal(t, map[string]time.Duration{"b": -1}, left)
		n, err := m.ExpireEntries(ctx, []string{"a", "b"}, time.Hour)
		require.NoError(t, err)
		require.EqualValues(t, 1, n, "what has ended stays ended")
	})
}

func TestExpireEntriesWithConditions(t *testing.T) {
	t.Parallel()
	onTimed(t, func(t *testing.T, m timedMap) {
		ctx := t.Context()
		ks := []string{"short", "long", "ever", "none", "short"}
		begin := func() {
			t.Helper()
			require.NoError(t, m.Put(ctx, "short", 1, WithTTL(10*time.Minute)))
			require.NoError(t, m.Put(ctx, "long", 2, WithTTL(10*time.Hour)))
			require.NoError(t, m.Put(ctx, "ever", 3, WithTTL(0)))
		}
		for _, c := range []struct {
			when    []ExpireIf
			changed []string
		}{
			{nil, []string{"short", "long", "ever"}},
			{[]ExpireIf{IfNotSet}, []string{"ever"}},
			{[]ExpireIf{IfGreater}, []string{"short"}},
			{[]ExpireIf{IfLess}, []string{"long", "ever"}},
		} {
			begin()
			before, err := m.TTLMany(ctx, ks...)
			require.NoError(t, err)
			n, err := m.ExpireEntries(ctx, ks, time.Hour, c.when...)
			require.NoError(t, err)
			require.EqualValues(t, len(c.changed), n, c.when)
			after, err := m.TTLMany(ctx, ks...)
			require.NoError(t, err)
			for k, left := range after {
				if slices.Contains(c.changed, k) {
					require.InDelta(t, time.Hour, left, float64(time.Minute), "%v %s", c.when, k)
				} else {
					require.InDelta(t, before[k], left, float64(time.Minute), "%v %s", c.when, k)
				}
			}
			require.NotContains(t, after, "none")
		}
		begin()
		n, err := m.ClearExpire(ctx, ks...)
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		left, err := m.TTLMany(ctx, ks...)
		require.NoError(t, err)
		require.Equal(t, map[string]time.Duration{"short": -1, "long": -1, "ever": -1}, left)
		e, there, err := m.Peek(ctx, "long")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, Timed[string, int]{Entry[string, int]{"long", 2}, -1, -1}, e)
		for _, bad := range [][]ExpireIf{{IfLess, IfGreater}, {0}, {9}} {
			_, err := m.ExpireEntries(ctx, ks, time.Hour, bad...)
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
		_, err = m.ExpireEntries(ctx, ks, 0)
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}

func TestCacheMaxSizeIsSetOnce(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		ctx := t.Context()
		m := NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
		n, by, err := m.MaxSize(ctx)
		require.NoError(t, err)
		require.Equal(t, []any{int64(0), LRU}, []any{n, by})
		did, err := m.SetMaxSizeIfAbsent(ctx, 5, LFU)
		require.NoError(t, err)
		require.True(t, did)
		did, err = m.SetMaxSizeIfAbsent(ctx, 6, LRU)
		require.NoError(t, err)
		require.False(t, did)
		n, by, err = m.MaxSize(ctx)
		require.NoError(t, err)
		require.Equal(t, []any{int64(5), LFU}, []any{n, by})
		require.NoError(t, m.SetMaxSize(ctx, 0, LRU))
		did, err = m.SetMaxSizeIfAbsent(ctx, 6, LRU)
		require.NoError(t, err)
		require.False(t, did, "somebody has said that there is none")
		_, err = m.SetMaxSizeIfAbsent(ctx, -1, LRU)
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}

// touching is what maps have whose entries may end.
type touching interface {
	Touch(ctx context.Context, k string, opts ...PutOption) (bool, error)
	TTL(ctx context.Context, k string) (time.Duration, error)
}
