package readthrough

import (
	"context"
	"errors"
	"strconv"
	"sync"
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
)

func leftOf(t testing.TB, m mapkinds.SourceMap, k string) time.Duration {
	t.Helper()
	left, err := m.TTL(t.Context(), k)
	require.NoError(t, err)
	return left
}

// TestLoadingSourceSaysHowLongAnEntryLives, of single loads, of many, and of a Refresh.
func TestLoadingSourceSaysHowLongAnEntryLives(t *testing.T) {
	t.Parallel()
	mapkinds.OnSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...rmap.CacheOption) mapkinds.SourceMap) {
		m, s := on(maptest.EngineOn(t, raw), rmap.WithTTL(time.Minute)), &manySource{}
		ttl := WithLoadTTL(func(k string, v int) time.Duration {
			switch k {
			case "0":
				return 0
			case "66":
				return -time.Hour
			case "88":
				panic("no time")
			}
			return time.Duration(v) * time.Hour
		})
		l, many := New(m, maptest.Quick, ttl), New(m, nil, WithLoadMany(20, s.load), ttl)
		_, _, err := l.Get(t.Context(), "2")
		require.NoError(t, err)
		_, _, err = l.Refresh(t.Context(), "0")
		require.NoError(t, err)
		_, err = many.GetMany(t.Context(), "4", "6")
		require.NoError(t, err)
		_, err = many.LoadAll(t.Context(), "8")
		require.NoError(t, err)
		for k, hours := range map[string]float64{"2": 2, "4": 4, "6": 6, "8": 8, "0": 1.0 / 60} {
			require.InEpsilon(t, hours, leftOf(t, m, k).Hours(), 0.2, k)
		}
		for _, l := range []*Map[string, int]{l, many} {
			_, _, err = l.Get(t.Context(), "66")
			require.ErrorIs(t, err, ErrInvalidArgument)
			require.Panics(t, func() { _, _, _ = l.Get(t.Context(), "88") })
		}
		require.NotContains(t, mapkinds.Contents(t, m), "66")
		maptest.NothingIsLeft(t, raw, m.Name())
	})
}

// TestLoadingJitterSpreadsTheEndsOfEntries that are loaded at once.
func TestLoadingJitterSpreadsTheEndsOfEntries(t *testing.T) {
	t.Parallel()
	mapkinds.OnSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...rmap.CacheOption) mapkinds.SourceMap) {
		m := on(maptest.EngineOn(t, raw), rmap.WithTTL(100*time.Hour))
		l := New(m, maptest.Quick, WithTTLJitter(0.5))
		ks := maptest.NumbersTo(40)
		_, err := l.GetMany(t.Context(), ks...)
		require.NoError(t, err)
		early, late := 0, 0
		for _, k := range ks {
			switch left := leftOf(t, m, k); {
			case left > 75*time.Hour:
				late++
			case left > 49*time.Hour:
				early++
			}
		}
		require.Equal(t, len(ks), early+late)
		require.NotZero(t, early)
		require.NotZero(t, late)
	})
}

// TestLoadingBackoffDoesNotCallALoaderThatHasJustFailed, for that key, and the pause grows.
func TestLoadingBackoffDoesNotCallALoaderThatHasJustFailed(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		down, calls, errDown := atomic.Bool{}, atomic.Int64{}, errors.New("down")
		m := on(maptest.EngineOn(t, raw))
		load := func(ctx context.Context, k string) (int, bool, error) {
			calls.Add(1)
			if down.Load() && k != "6" {
				return 0, false, errDown
			}
			return maptest.Quick(ctx, k)
		}
		l := New(m, load, WithLoadBackoff(time.Hour, 3*time.Hour))
		down.Store(true)
		for range 3 {
			_, _, err := l.Get(t.Context(), "5")
			require.ErrorIs(t, err, errDown)
			_, err = l.GetMany(t.Context(), "5", "6")
			require.ErrorIs(t, err, errDown)
		}
		require.EqualValues(t, 2, calls.Load(), "one of each key")
		for _, pause := range []time.Duration{2 * time.Hour, 3 * time.Hour, 3 * time.Hour} {
			_, _, err := l.Refresh(t.Context(), "5")
			require.ErrorIs(t, err, errDown)
			l.mu.Lock()
			require.Equal(t, pause, l.fails["5"].pause)
			l.mu.Unlock()
		}
		down.Store(false)
		_, _, err := l.Get(t.Context(), "5")
		require.ErrorIs(t, err, errDown, "still")
		v, _, err := l.Refresh(t.Context(), "5")
		require.NoError(t, err)
		require.Equal(t, 5, v)
		require.Empty(t, l.fails)

		l = New(m, load, WithLoadBackoff(time.Millisecond, time.Millisecond))
		down.Store(true)
		_, _, err = l.Get(t.Context(), "7")
		require.ErrorIs(t, err, errDown)
		down.Store(false)
		redistest.Eventually(t, func() bool {
			v, there, err := l.Get(t.Context(), "7")
			return err == nil && there && v == 7
		}, maptest.Soon, time.Millisecond)
	})
}

// TestLoadingBackoffIsOfTheSource alone: a caller that leaves is no failure of it.
func TestLoadingBackoffIsOfTheSource(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := maptest.NewSource()
	l := New(rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.Load, WithLoadBackoff(time.Hour, time.Hour))
	ctx, leave := context.WithCancel(t.Context())
	go func() { // ends with the loader
		<-s.Began
		leave()
	}()
	_, _, err := l.Get(ctx, "k")
	require.ErrorIs(t, err, context.Canceled)
	close(s.Open)
	v, _, err := l.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 7, v)
	for i := range mostFailures + 10 {
		l.tried(strconv.Itoa(i), errors.New("down"))
	}
	require.Len(t, l.fails, mostFailures)
}

// TestLoadingStaleEntryIsReturnedWhenItsLoadFails, and else loaded anew before it is returned.
func TestLoadingStaleEntryIsReturnedWhenItsLoadFails(t *testing.T) {
	t.Parallel()
	mapkinds.OnSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...rmap.CacheOption) mapkinds.SourceMap) {
		for how, bulk := range map[string]bool{"one by one": false, "many": true} {
			s := &maptest.StaleSource{}
			m := on(maptest.EngineOn(t, raw), rmap.WithTTL(time.Hour))
			opts := []Option{WithStaleOnError(2 * time.Hour), WithLoadBackoff(time.Hour, time.Hour)}
			if bulk {
				opts = append(opts, WithLoadMany(10, s.LoadMany))
			}
			l := New(m, s.Load, opts...)
			s.V.Store(1)
			get := func(l *Map[string, int]) int {
				t.Helper()
				all, err := l.GetMany(t.Context(), how)
				require.NoError(t, err)
				v, there, err := l.Get(t.Context(), how)
				require.NoError(t, err)
				require.Equal(t, there, len(all) == 1)
				require.Equal(t, v, all[how])
				return v
			}
			require.Equal(t, 1, get(l))
			require.Greater(t, leftOf(t, m, how), 2*time.Hour)
			s.V.Store(2)
			require.Equal(t, 1, get(l), "it is fresh")
			require.EqualValues(t, 1, s.Calls.Load())

			ages := func() {
				t.Helper()
				there, err := m.Touch(t.Context(), how, rmap.WithTTL(time.Hour))
				require.NoError(t, err)
				require.True(t, there)
			}
			ages()
			l = New(m, s.Load, opts...) // which does not know of another end
			require.Equal(t, 2, get(l))
			require.Greater(t, leftOf(t, m, how), 2*time.Hour)
			require.EqualValues(t, 2, s.Calls.Load())

			s.Down.Store(true)
			ages()
			l = New(m, s.Load, opts...)
			require.Equal(t, 2, get(l))
			require.Equal(t, 2, get(l))
			require.EqualValues(t, 3, s.Calls.Load(), "it is not asked again so soon")

			s.Down.Store(false)
			s.V.Store(0)
			l = New(m, s.Load, opts...)
			require.Equal(t, 0, get(l))
			require.Empty(t, mapkinds.Contents(t, m), "the source has it no more")
			maptest.NothingIsLeft(t, raw, m.Name())
		}
	})
}

// TestLoadingStaleEntryIsLoadedOnceInTheFleet, by callers of several processes, and none of
// them waits for longer than it wants to.
func TestLoadingStaleEntryIsLoadedOnceInTheFleet(t *testing.T) {
	t.Parallel()
	mapkinds.OnSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...rmap.CacheOption) mapkinds.SourceMap) {
		s := maptest.NewSource()
		m := on(maptest.EngineOn(t, raw), rmap.WithTTL(time.Hour))
		require.NoError(t, m.Put(t.Context(), "k", 6))
		var all sync.WaitGroup
		for range 3 {
			l := New(on(maptest.EngineOn(t, raw), rmap.WithTTL(time.Hour)), s.Load, WithStaleOnError(2*time.Hour))
			for range 5 {
				all.Go(func() { // ends with the loader
					v, there, err := l.Get(t.Context(), "k")
					assert.NoError(t, err)
					assert.True(t, there)
					assert.Equal(t, 7, v)
				})
			}
		}
		<-s.Began
		hasty := New(on(maptest.EngineOn(t, raw), rmap.WithTTL(time.Hour)), s.Load, WithStaleOnError(2*time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		v, there, err := hasty.Get(ctx, "k")
		if err == nil { // else it had no time to find the entry
			require.True(t, there)
			require.Equal(t, 6, v)
		}
		close(s.Open)
		all.Wait()
		require.EqualValues(t, 1, s.Calls.Load())
		maptest.NothingIsLeft(t, raw, m.Name())
	})
}
