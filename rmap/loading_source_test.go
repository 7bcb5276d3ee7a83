package rmap

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
)

// sourceMap is a map whose entries have times to live.
type sourceMap interface {
	Mapping[string, int]
	TTL(ctx context.Context, k string) (time.Duration, error)
	Touch(ctx context.Context, k string, opts ...PutOption) (bool, error)
}

// onSourceMaps runs a test on the maps whose entries end by themselves.
func onSourceMaps(t *testing.T, test func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...CacheOption) sourceMap)) {
	t.Helper()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	for kind, of := range map[string]func(e *locking.Engine, name string, opts ...CacheOption) sourceMap{
		"cache": func(e *locking.Engine, name string, opts ...CacheOption) sourceMap {
			return NewCache[string, int](e, name, opts...)
		},
		"native": func(e *locking.Engine, name string, opts ...CacheOption) sourceMap {
			return NewTTLMap[string, int](e, name, as[TTLMapOption](opts)...)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := cacheNamed(t, raw)
			test(t, raw, func(e *locking.Engine, opts ...CacheOption) sourceMap { return of(e, name, opts...) })
		})
	}
}

func leftOf(t testing.TB, m sourceMap, k string) time.Duration {
	t.Helper()
	left, err := m.TTL(t.Context(), k)
	require.NoError(t, err)
	return left
}

// TestLoadingSourceSaysHowLongAnEntryLives, of single loads, of many, and of a Refresh.
func TestLoadingSourceSaysHowLongAnEntryLives(t *testing.T) {
	t.Parallel()
	onSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...CacheOption) sourceMap) {
		m, s := on(engineOn(t, raw), WithTTL(time.Minute)), &manySource{}
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
		l, many := NewLoading(m, quick, ttl), NewLoading(m, nil, WithLoadMany(20, s.load), ttl)
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
		for _, l := range []*Loading[string, int]{l, many} {
			_, _, err = l.Get(t.Context(), "66")
			require.ErrorIs(t, err, ErrInvalidArgument)
			require.Panics(t, func() { _, _, _ = l.Get(t.Context(), "88") })
		}
		require.NotContains(t, contents(t, m), "66")
		nothingIsLeft(t, raw, m.Name())
	})
}

// TestLoadingJitterSpreadsTheEndsOfEntries that are loaded at once.
func TestLoadingJitterSpreadsTheEndsOfEntries(t *testing.T) {
	t.Parallel()
	onSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...CacheOption) sourceMap) {
		m := on(engineOn(t, raw), WithTTL(100*time.Hour))
		l := NewLoading(m, quick, WithTTLJitter(0.5))
		ks := numbersTo(40)
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
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		down, calls, errDown := atomic.Bool{}, atomic.Int64{}, errors.New("down")
		m := on(engineOn(t, raw))
		load := func(ctx context.Context, k string) (int, bool, error) {
			calls.Add(1)
			if down.Load() && k != "6" {
				return 0, false, errDown
			}
			return quick(ctx, k)
		}
		l := NewLoading(m, load, WithLoadBackoff(time.Hour, 3*time.Hour))
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

		l = NewLoading(m, load, WithLoadBackoff(time.Millisecond, time.Millisecond))
		down.Store(true)
		_, _, err = l.Get(t.Context(), "7")
		require.ErrorIs(t, err, errDown)
		down.Store(false)
		redistest.Eventually(t, func() bool {
			v, there, err := l.Get(t.Context(), "7")
			return err == nil && there && v == 7
		}, soon, time.Millisecond)
	})
}

// TestLoadingBackoffIsOfTheSource alone: a caller that leaves is no failure of it.
func TestLoadingBackoffIsOfTheSource(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := newSource()
	l := NewLoading(New[string, int](engineOn(t, raw), cacheNamed(t, raw)), s.load, WithLoadBackoff(time.Hour, time.Hour))
	ctx, leave := context.WithCancel(t.Context())
	go func() { // ends with the loader
		<-s.began
		leave()
	}()
	_, _, err := l.Get(ctx, "k")
	require.ErrorIs(t, err, context.Canceled)
	close(s.open)
	v, _, err := l.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 7, v)
	for i := range mostFailures + 10 {
		l.tried(strconv.Itoa(i), errors.New("down"))
	}
	require.Len(t, l.fails, mostFailures)
}

// staleSource is a source that counts, and may be down.
type staleSource struct {
	v, calls atomic.Int64
	down     atomic.Bool
}

func (s *staleSource) load(context.Context, string) (int, bool, error) {
	s.calls.Add(1)
	if s.down.Load() {
		return 0, false, errors.New("down")
	}
	v := int(s.v.Load())
	return v, v != 0, nil
}

func (s *staleSource) loadMany(ctx context.Context, ks []string) (map[string]int, error) {
	v, there, err := s.load(ctx, "")
	all := map[string]int{}
	for _, k := range ks {
		if there {
			all[k] = v
		}
	}
	return all, err
}

// TestLoadingStaleEntryIsReturnedWhenItsLoadFails, and else loaded anew before it is returned.
func TestLoadingStaleEntryIsReturnedWhenItsLoadFails(t *testing.T) {
	t.Parallel()
	onSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...CacheOption) sourceMap) {
		for how, bulk := range map[string]bool{"one by one": false, "many": true} {
			s := &staleSource{}
			m := on(engineOn(t, raw), WithTTL(time.Hour))
			opts := []LoadingOption{WithStaleOnError(2 * time.Hour), WithLoadBackoff(time.Hour, time.Hour)}
			if bulk {
				opts = append(opts, WithLoadMany(10, s.loadMany))
			}
			l := NewLoading(m, s.load, opts...)
			s.v.Store(1)
			get := func(l *Loading[string, int]) int {
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
			s.v.Store(2)
			require.Equal(t, 1, get(l), "it is fresh")
			require.EqualValues(t, 1, s.calls.Load())

			ages := func() {
				t.Helper()
				there, err := m.Touch(t.Context(), how, WithTTL(time.Hour))
				require.NoError(t, err)
				require.True(t, there)
			}
			ages()
			l = NewLoading(m, s.load, opts...) // which does not know of another end
			require.Equal(t, 2, get(l))
			require.Greater(t, leftOf(t, m, how), 2*time.Hour)
			require.EqualValues(t, 2, s.calls.Load())

			s.down.Store(true)
			ages()
			l = NewLoading(m, s.load, opts...)
			require.Equal(t, 2, get(l))
			require.Equal(t, 2, get(l))
			require.EqualValues(t, 3, s.calls.Load(), "it is not asked again so soon")

			s.down.Store(false)
			s.v.Store(0)
			l = NewLoading(m, s.load, opts...)
			require.Equal(t, 0, get(l))
			require.Empty(t, contents(t, m), "the source has it no more")
			nothingIsLeft(t, raw, m.Name())
		}
	})
}

// TestLoadingStaleEntryIsLoadedOnceInTheFleet, by callers of several processes, and none of
// them waits for longer than it wants to.
func TestLoadingStaleEntryIsLoadedOnceInTheFleet(t *testing.T) {
	t.Parallel()
	onSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...CacheOption) sourceMap) {
		s := newSource()
		m := on(engineOn(t, raw), WithTTL(time.Hour))
		require.NoError(t, m.Put(t.Context(), "k", 6))
		var all sync.WaitGroup
		for range 3 {
			l := NewLoading(on(engineOn(t, raw), WithTTL(time.Hour)), s.load, WithStaleOnError(2*time.Hour))
			for range 5 {
				all.Go(func() { // ends with the loader
					v, there, err := l.Get(t.Context(), "k")
					assert.NoError(t, err)
					assert.True(t, there)
					assert.Equal(t, 7, v)
				})
			}
		}
		<-s.began
		hasty := NewLoading(on(engineOn(t, raw), WithTTL(time.Hour)), s.load, WithStaleOnError(2*time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		v, there, err := hasty.Get(ctx, "k")
		if err == nil { // else it had no time to find the entry
			require.True(t, there)
			require.Equal(t, 6, v)
		}
		close(s.open)
		all.Wait()
		require.EqualValues(t, 1, s.calls.Load())
		nothingIsLeft(t, raw, m.Name())
	})
}

// TestLoadingStaleEntryIsNoCopy of a near cache: that asks again when its last time begins.
func TestLoadingStaleEntryIsNoCopy(t *testing.T) {
	t.Parallel()
	onSourceMaps(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine, opts ...CacheOption) sourceMap) {
		s := &staleSource{}
		s.v.Store(7)
		m := on(engineOn(t, raw), WithTTL(time.Hour))
		l := NewLoading(m, s.load, WithStaleOnError(2*time.Hour))
		n := NewNear(l, WithMaxAge(100*time.Hour))
		defer n.Close()
		hot(t, n, "k", 7)
		require.LessOrEqual(t, time.Duration(n.kept.Load().get("k").ends-n.kept.Load().get("k").from.now()), time.Hour)
		left, err := l.inside().left(t.Context(), "k")
		require.NoError(t, err)
		require.LessOrEqual(t, left, time.Hour)
		require.Greater(t, left, 59*time.Minute)
		_, err = m.Touch(t.Context(), "k", WithTTL(time.Hour))
		require.NoError(t, err)
		left, err = l.inside().left(t.Context(), "k")
		require.NoError(t, err)
		require.Zero(t, left)
	})
}
