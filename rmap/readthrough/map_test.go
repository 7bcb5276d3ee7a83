package readthrough

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

func TestWhatIsNotThereIsLoaded(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		calls := atomic.Int64{}
		m := on(maptest.EngineOn(t, raw))
		l := New(m, func(ctx context.Context, k string) (int, bool, error) {
			calls.Add(1)
			return maptest.Quick(ctx, k)
		})
		for range 3 {
			v, there, err := l.Get(t.Context(), "5")
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, 5, v)
		}
		require.EqualValues(t, 1, calls.Load())
		v, there, err := m.Get(t.Context(), "5")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 5, v)
		_, there, err = l.Get(t.Context(), "none")
		require.NoError(t, err)
		require.False(t, there)
		all, err := l.GetMany(t.Context(), "1", "2", "5", "none", "2")
		require.NoError(t, err)
		require.Equal(t, map[string]int{"1": 1, "2": 2, "5": 5}, all)
		require.EqualValues(t, 5, calls.Load(), "5, none, 1, 2, none")
		n, err := m.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		maptest.NothingIsLeft(t, raw, m.Name())
	})
}

// TestAThousandMissesAreOneLoad of ten clients with a hundred callers each.
func TestAThousandMissesAreOneLoad(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := maptest.NewSource()
		var all sync.WaitGroup
		for range 10 {
			l := New(on(maptest.EngineOn(t, raw)), s.Load)
			for range 100 {
				all.Go(func() {
					v, there, err := l.Get(t.Context(), "k")
					assert.NoError(t, err)
					assert.True(t, there)
					assert.Equal(t, 7, v)
				})
			}
		}
		<-s.Began
		close(s.Open)
		all.Wait()
		require.EqualValues(t, 1, s.Calls.Load())
	})
}

// TestNothingToLoadIsOneLoad: those who wait are told that there is nothing.
func TestNothingToLoadIsOneLoad(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := maptest.NewSource()
		s.V.Store(0)
		var all sync.WaitGroup
		get := func() {
			seen := &maptest.Looks{}
			l := New(on(maptest.EngineOn(t, raw, func(c *core.Config) { c.Observer = seen })), s.Load)
			all.Go(func() {
				_, there, err := l.Get(t.Context(), "k")
				assert.NoError(t, err)
				assert.False(t, there)
			})
			if s.Calls.Load() > 0 { // it has looked, and again behind its subscription
				redistest.Eventually(t, func() bool { return seen.N.Load() >= 2 }, maptest.Soon, time.Millisecond)
			}
		}
		get()
		<-s.Began
		for range 5 {
			get()
		}
		close(s.Open)
		all.Wait()
		require.EqualValues(t, 1, s.Calls.Load())
	})
}

// TestALoadOverwritesNothing that was written, or removed, while it went on, by
// another client.
func TestALoadOverwritesNothing(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		for what, change := range map[string]func(ctx context.Context, m rmap.Mapping[string, int]) error{
			"put": func(ctx context.Context, m rmap.Mapping[string, int]) error { return m.Put(ctx, "k", 8) },
			"put and take": func(ctx context.Context, m rmap.Mapping[string, int]) error {
				err := m.Put(ctx, "k", 8)
				_, _, err2 := m.Take(ctx, "k")
				return errors.Join(err, err2)
			},
			"remove": func(ctx context.Context, m rmap.Mapping[string, int]) error {
				_, err := m.Remove(ctx, "k")
				return err
			},
			"put and compute": func(ctx context.Context, m rmap.Mapping[string, int]) error {
				err := m.Put(ctx, "k", 8)
				_, _, err2 := m.Compute(ctx, "k", func(int, bool) (int, rmap.Verdict, error) { return 0, rmap.Delete, nil })
				return errors.Join(err, err2)
			},
			"put and compare": func(ctx context.Context, m rmap.Mapping[string, int]) error {
				err := m.Put(ctx, "k", 8)
				_, err2 := m.CompareAndRemove(ctx, "k", 8)
				return errors.Join(err, err2)
			},
		} {
			if locked, is := on(maptest.EngineOn(t, raw)).(*rmap.Cache[string, int]); is && locked.Inside().Handle.Config.EntryLock && what == "put and compute" {
				continue // which waits for the load
			}
			s := maptest.NewSource()
			l := New(on(maptest.EngineOn(t, raw)), s.Load)
			other := New(on(maptest.EngineOn(t, raw)), s.Load)
			got := make(chan int, 1)
			go func() {
				v, _, err := l.Get(t.Context(), "k")
				assert.NoError(t, err, what)
				got <- v
			}()
			<-s.Began
			s.V.Store(8)
			require.NoError(t, change(t.Context(), other), what)
			close(s.Open)
			require.Equal(t, 8, <-got, what)
			v, _, err := l.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, 8, v, what)
			_, err = l.Remove(t.Context(), "k")
			require.NoError(t, err)
		}
	})
}

// TestAPutWithoutALoadingIsNotOverwritten by a load, and of a cache neither is a
// Remove.
func TestAPutWithoutALoadingIsNotOverwritten(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := maptest.NewSource()
		m := on(maptest.EngineOn(t, raw))
		l := New(m, s.Load)
		got := make(chan int, 1)
		go func() {
			v, _, err := l.Get(t.Context(), "k")
			assert.NoError(t, err)
			got <- v
		}()
		<-s.Began
		s.V.Store(8)
		require.NoError(t, m.Put(t.Context(), "k", 8))
		if _, is := m.(*rmap.Cache[string, int]); is {
			_, err := m.Remove(t.Context(), "k")
			require.NoError(t, err)
		}
		close(s.Open)
		require.Equal(t, 8, <-got)
		v, _, err := m.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, 8, v)
	})
}

// TestAForeignPutUnderTheLeaseStands: Java's fastPut leaves the lease.
func TestAForeignPutUnderTheLeaseStands(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), name)
	s := maptest.NewSource()
	l := New(m, s.Load)
	got := make(chan int, 1)
	go func() {
		v, _, err := l.Get(t.Context(), "k")
		assert.NoError(t, err)
		got <- v
	}()
	<-s.Began
	packed := "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x08" // 8
	require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(name).FieldValue().FieldValue("k", packed).Build()).Error())
	close(s.Open)
	require.Equal(t, 8, <-got)
}

// TestWhoCallsBehindARemoveHasNothingOlder: it joins a load that is under way.
func TestWhoCallsBehindARemoveHasNothingOlder(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		version := atomic.Int64{}
		version.Store(1)
		l := New(on(maptest.EngineOn(t, raw)), func(context.Context, string) (int, bool, error) { return int(version.Load()), true, nil })
		var all sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_, _, err := l.Get(t.Context(), "k")
						assert.NoError(t, err)
					}
				}
			})
		}
		for i := range maptest.Rounds(t, 100, 20_000) {
			version.Store(int64(i + 2))
			_, err := l.Remove(t.Context(), "k")
			require.NoError(t, err)
			v, there, err := l.Get(t.Context(), "k")
			require.NoError(t, err)
			require.True(t, there)
			require.GreaterOrEqual(t, v, i+2)
		}
		close(stop)
		all.Wait()
	})
}

func TestACallerThatLeavesDoesNotEndTheLoadOfTheOthers(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := maptest.NewSource()
			l := New(of(maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), s.Load)
			first, leave := context.WithCancel(t.Context())
			left, got := make(chan error, 1), make(chan error, 1)
			go func() {
				_, _, err := l.Get(first, "k")
				left <- err
			}()
			<-s.Began
			go func() {
				_, _, err := l.Get(t.Context(), "k")
				got <- err
			}()
			redistest.Eventually(t, func() bool { return l.aboard("k") == 2 }, maptest.Soon, time.Millisecond)
			leave()
			require.ErrorIs(t, <-left, context.Canceled)
			close(s.Open)
			require.NoError(t, <-got)
			require.EqualValues(t, 1, s.Calls.Load())
		})
	}
}

func (l *Map[K, V]) aboard(k K) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.flights[k]; f != nil {
		return f.callers
	}
	return 0
}

// TestWhenAllHaveLeftTheLoadEnds, and who comes then has one of its own.
func TestWhenAllHaveLeftTheLoadEnds(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := maptest.NewSource()
			ended := make(chan error, 1)
			var once sync.Once
			l := New(of(maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw)), func(ctx context.Context, k string) (int, bool, error) {
				v, there, err := s.Load(ctx, k)
				once.Do(func() { ended <- err })
				return v, there, err
			})
			ctx, leave := context.WithCancelCause(t.Context())
			cause := errors.New("enough")
			go func() {
				<-s.Began
				leave(cause)
			}()
			_, _, err := l.Get(ctx, "k")
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, cause)
			require.ErrorIs(t, <-ended, context.Canceled)
			close(s.Open)
			v, _, err := l.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, 7, v)
		})
	}
}

func TestAPanickingLoaderHurtsNobodyElse(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := maptest.CacheNamed(t, raw)
			open, began := make(chan struct{}), make(chan struct{}, 100)
			bad := New(of(maptest.EngineOn(t, raw), name), func(context.Context, string) (int, bool, error) {
				began <- struct{}{}
				<-open
				panic("oops")
			})
			good := New(of(maptest.EngineOn(t, raw), name), maptest.Quick)
			panicked, failed, got := make(chan any, 1), make(chan error, 1), make(chan error, 1)
			go func() {
				defer func() { panicked <- recover() }()
				_, _, _ = bad.Get(t.Context(), "5")
			}()
			<-began
			go func() {
				_, _, err := bad.Get(t.Context(), "5")
				failed <- err
			}()
			redistest.Eventually(t, func() bool { return bad.aboard("5") == 2 }, maptest.Soon, time.Millisecond)
			go func() {
				_, _, err := good.Get(t.Context(), "5")
				got <- err
			}()
			close(open)
			require.ErrorContains(t, (<-panicked).(error), "oops")
			require.ErrorContains(t, <-failed, "oops")
			require.NoError(t, <-got)
			require.PanicsWithError(t, "", func() { defer panicText(t); _, _ = bad.GetMany(t.Context(), "6") })
			maptest.NothingIsLeft(t, raw, name)
		})
	}
}

// panicText makes any panic that tells of what the loader said one without text.
func panicText(t *testing.T) {
	p := recover()
	err, is := p.(error)
	assert.True(t, is)
	assert.ErrorContains(t, err, "oops")
	panic(errors.New(""))
}

func TestALoaderThatEndsItsGoroutineHurtsNobodyElse(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	name := maptest.CacheNamed(t, raw)
	l := New(rmap.NewCache[string, int](maptest.EngineOn(t, raw), name), func(context.Context, string) (int, bool, error) {
		runtime.Goexit()
		return 0, false, nil
	})
	ended := make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- !returned }()
		_, _, _ = l.Get(t.Context(), "k")
		returned = true
	}()
	require.True(t, <-ended)
	maptest.NothingIsLeft(t, raw, name)
}

// TestAnErrorIsItsProcess's alone: the next one that waits loads.
func TestAnErrorIsItsProcesssAlone(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s, down := maptest.NewSource(), errors.New("the store is down")
		s.Err = down
		bad := New(on(maptest.EngineOn(t, raw)), s.Load)
		e := maptest.EngineOn(t, raw)
		good := New(on(e), maptest.Quick)
		failed, got := make(chan error, 1), make(chan error, 1)
		go func() {
			_, _, err := bad.Get(t.Context(), "5")
			failed <- err
		}()
		<-s.Began
		go func() {
			_, _, err := good.Get(t.Context(), "5")
			got <- err
		}()
		redistest.Eventually(t, func() bool { return e.Subscribed(keys.MapLoaded(good.h.Home("5"), "5")) }, maptest.Soon, time.Millisecond)
		close(s.Open)
		err := <-failed
		require.ErrorIs(t, err, down)
		require.ErrorContains(t, err, `"5"`)
		require.ErrorContains(t, err, bad.Name())
		require.NoError(t, <-got)
	})
}

// TestALoaderThatDoesNotHeedItsTime keeps nobody.
func TestALoaderThatDoesNotHeedItsTime(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	open := make(chan struct{})
	name := maptest.CacheNamed(t, raw)
	calls := atomic.Int64{}
	l := New(rmap.NewCache[string, int](maptest.EngineOn(t, raw), name), func(context.Context, string) (int, bool, error) {
		if calls.Add(1) == 1 {
			<-open
		}
		return 6, true, nil
	}, WithLoadTimeout(20*time.Millisecond))
	_, _, err := l.Get(t.Context(), "k")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	v, _, err := l.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 6, v)
	close(open)
}

func TestTheClientClosesUnderALoad(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := maptest.EngineOn(t, raw)
			s := maptest.NewSource()
			l := New(of(e, maptest.CacheNamed(t, raw)), s.Load)
			got := make(chan error, 1)
			go func() {
				_, _, err := l.Get(t.Context(), "k")
				got <- err
			}()
			<-s.Began
			require.NoError(t, locking.Close(t.Context(), e))
			require.ErrorIs(t, <-got, ErrClosed)
			_, _, err := l.Get(t.Context(), "k")
			require.ErrorIs(t, err, ErrClosed)
		})
	}
}

// TestWhoHoldsTheLockOfAnEntryLoadsUnderIt, and does not wait for those who wait
// for it.
func TestWhoHoldsTheLockOfAnEntryLoadsUnderIt(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for _, kind := range []string{"map", "locked"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := maptest.CacheNamed(t, raw)
			l := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), name), maptest.Quick, WithLoadTimeout(time.Hour))
			other := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), name), maptest.Quick, WithLoadTimeout(time.Hour))
			hold, err := l.Lock("5").Lock(t.Context())
			require.NoError(t, err)
			got := make(chan error, 2)
			for _, l := range []*Map[string, int]{l, other} {
				go func() {
					_, _, err := l.Get(t.Context(), "5")
					got <- err
				}()
			}
			redistest.Eventually(t, func() bool { return l.aboard("5") == 1 && other.aboard("5") == 1 }, maptest.Soon, time.Millisecond)
			v, _, err := l.Get(hold.Context(t.Context()), "5")
			require.NoError(t, err)
			require.Equal(t, 5, v)
			require.NoError(t, hold.Unlock(t.Context()))
			require.NoError(t, <-got)
			require.NoError(t, <-got)
			maptest.NothingIsLeft(t, raw, name)
		})
	}
}

func TestAbsentIsRememberedForAWhile(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	calls := atomic.Int64{}
	m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
	l := New(m, func(context.Context, string) (int, bool, error) { calls.Add(1); return 0, false, nil }, WithAbsentFor(time.Hour))
	for range 3 {
		_, there, err := l.Get(t.Context(), "k")
		require.NoError(t, err)
		require.False(t, there)
		all, err := l.GetMany(t.Context(), "k")
		require.NoError(t, err)
		require.Empty(t, all)
	}
	require.EqualValues(t, 1, calls.Load())
	require.NoError(t, l.Put(t.Context(), "k", 1))
	v, there, err := l.Get(t.Context(), "k")
	require.NoError(t, err)
	require.True(t, there)
	require.Equal(t, 1, v)
	_, err = l.Remove(t.Context(), "k")
	require.NoError(t, err)
	_, _, err = l.Get(t.Context(), "k")
	require.NoError(t, err)
	require.EqualValues(t, 2, calls.Load())
	brief := New(m, func(context.Context, string) (int, bool, error) { calls.Add(1); return 0, false, nil }, WithAbsentFor(time.Millisecond))
	redistest.Eventually(t, func() bool {
		_, _, err := brief.Get(t.Context(), "k")
		return err == nil && calls.Load() > 4
	}, maptest.Soon, 2*time.Millisecond)
}

func TestAbsencesAreBounded(t *testing.T) {
	t.Parallel()
	var a absences[int]
	for i := range 5 * mostAbsent {
		a.add(i, 0, 1, 0)
	}
	require.LessOrEqual(t, len(a.until), mostAbsent)
	require.True(t, a.has(5*mostAbsent-1, 0))
	require.False(t, a.has(5*mostAbsent-1, 1), "it is over")
	a.forget([]int{1})
	a.add(-2, 0, 1, 0)
	require.False(t, a.has(-2, 0), "it was found before a write")
	var h horizon[int]
	for i := range 2 * mostHorizons {
		h.put(i, end{})
	}
	require.Len(t, h.of, mostHorizons)
}

func TestBadInputOfALoading(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	e := maptest.EngineOn(t, raw)
	m := rmap.New[string, int](e, redistest.Name(t))
	for what, l := range map[string]*Map[string, int]{
		"nil map":            New[string, int](nil, maptest.Quick),
		"nil loader":         New(m, nil),
		"nil option":         New(m, maptest.Quick, nil),
		"no time":            New(m, maptest.Quick, WithLoadTimeout(0)),
		"two days":           New(m, maptest.Quick, WithLoadTimeout(48*time.Hour)),
		"absent for nothing": New(m, maptest.Quick, WithAbsentFor(0)),
		"beta":               New(m, maptest.Quick, WithRefreshAhead(-1)),
		"nothing to refresh": New(m, maptest.Quick, WithRefreshAhead(1)),
		"no times":           New(m, maptest.Quick, WithLoadTTL[string, int](nil)),
		"other times":        New(m, maptest.Quick, WithLoadTTL(func(int, int) time.Duration { return 0 })),
		"times of a map":     New(m, maptest.Quick, WithLoadTTL(func(string, int) time.Duration { return 0 })),
		"jitter":             New(m, maptest.Quick, WithTTLJitter(1.1)),
		"jitter of a map":    New(m, maptest.Quick, WithTTLJitter(1)),
		"no pause":           New(m, maptest.Quick, WithLoadBackoff(0, time.Second)),
		"pauses":             New(m, maptest.Quick, WithLoadBackoff(time.Second, time.Millisecond)),
		"not stale":          New(rmap.NewCache[string, int](e, m.Name()), maptest.Quick, WithStaleOnError(0)),
		"stale of a map":     New(m, maptest.Quick, WithStaleOnError(time.Second)),
		"stale and idle":     New(rmap.NewCache[string, int](e, m.Name(), rmap.WithMaxIdle(time.Hour)), maptest.Quick, WithStaleOnError(time.Second)),
		"a bad map":          New(rmap.New[string, int](e, ""), maptest.Quick),
	} {
		for name, op := range mapkinds.OperationsOf {
			require.ErrorIs(t, op(t.Context(), l), ErrInvalidArgument, "%s: %s", what, name)
		}
	}
	l := New(m, maptest.Quick)
	for name, op := range mapkinds.OperationsOf {
		require.ErrorIs(t, op(nil, l), ErrInvalidArgument, name)
	}
}

func TestTheObserverHearsOfLoads(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	w := &maptest.Watcher{Events: map[string]int{}}
	name, down := maptest.CacheNamed(t, raw), errors.New("down")
	m := rmap.NewCache[string, int](maptest.EngineOn(t, raw, func(c *core.Config) { c.Caches = w }), name)
	l := New(m, func(ctx context.Context, k string) (int, bool, error) {
		if k == "down" {
			return 0, false, down
		}
		return maptest.Quick(ctx, k)
	})
	for _, k := range []string{"1", "none", "down", "1"} {
		_, _, _ = l.Get(t.Context(), k)
	}
	require.Len(t, w.Loads, 3)
	for i, want := range []core.Load{{Map: name}, {Map: name, Absent: true}, {Map: name, Err: down}} {
		require.Positive(t, w.Loads[i].Took)
		want.Took = w.Loads[i].Took
		require.Equal(t, want, w.Loads[i])
	}
}

// loaders are processes that load.
var loaders = redistest.Children{
	"loader": func(p *redistest.Parent) {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("ADDR")}, DisableCache: true, ForceSingleClient: true})
		if err != nil {
			p.Say("%v", err)
			return
		}
		e, err := locking.New(context.Background(), client, core.Config{
			ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second, Linger: time.Second,
		})
		if err != nil {
			p.Say("%v", err)
			return
		}
		timeout, err := time.ParseDuration(os.Getenv("TIMEOUT"))
		if err != nil {
			p.Say("%v", err)
			return
		}
		l := New(mapkinds.LoadKinds[os.Getenv("KIND")](e, os.Getenv("NAME")), func(context.Context, string) (int, bool, error) {
			p.Say("load")
			p.Hear()
			return 7, true, nil
		}, WithLoadTimeout(timeout))
		p.Say("ready")
		p.Hear()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if v, there, err := l.Get(context.Background(), "k"); err != nil || !there || v != 7 {
					p.Say("%d %v %v", v, there, err)
				}
			})
		}
		all.Wait()
		p.Say("done")
		p.Hear()
	},
}

// startLoader starts a process whose loads may take so long.
func startLoader(t *testing.T, server *redistest.Server, kind, name string, timeout time.Duration) *redistest.Child {
	t.Helper()
	c := redistest.StartChild(t, "loader", "ADDR="+server.Addr(), "KIND="+kind, "NAME="+name, "TIMEOUT="+timeout.String())
	require.Equal(t, "ready", c.Next())
	return c
}

// fewLoaders is how many processes load. Where they are few, those of all kinds do at the same time.
func fewLoaders(t *testing.T) int {
	t.Helper()
	n := redistest.Count(t, 3, 10)
	if n == 3 {
		t.Parallel()
	}
	return n
}

// TestTenProcessesLoadOnce: a thousand callers, a hundred in each.
func TestTenProcessesLoadOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for kind := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			children := make([]*redistest.Child, fewLoaders(t))
			name := maptest.CacheNamed(t, server.Client(t))
			lines := make(chan string, 10_000) // also where each caller has a failure to tell
			for i := range children {
				children[i] = startLoader(t, server, kind, name, 30*time.Second)
			}
			var all sync.WaitGroup
			for _, c := range children {
				c.Send("go")
				all.Go(func() {
					for line := ""; line != "done"; {
						if line = c.Next(); line == "load" {
							c.Send("on")
						}
						lines <- line
					}
				})
			}
			all.Wait()
			close(lines)
			count := map[string]int{}
			for line := range lines {
				count[line]++
			}
			require.Equal(t, map[string]int{"load": 1, "done": len(children)}, count)
		})
	}
}

// TestTenProcessesWhoseLoaderIsKilled have one more load, by another of them.
func TestTenProcessesWhoseLoaderIsKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for kind := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			children := make([]*redistest.Child, fewLoaders(t))
			name := maptest.CacheNamed(t, server.Client(t))
			for i := range children {
				children[i] = startLoader(t, server, kind, name, 3*time.Second)
			}
			children[0].Send("go")
			require.Equal(t, "load", children[0].Next())
			lines := make(chan string, 10_000) // also where each caller has a failure to tell
			var all sync.WaitGroup
			for _, c := range children[1:] {
				c.Send("go")
				all.Go(func() {
					for line := ""; line != "done"; {
						if line = c.Next(); line == "load" {
							c.Send("on")
						}
						lines <- line
					}
				})
			}
			children[0].Kill()
			all.Wait()
			close(lines)
			count := map[string]int{}
			for line := range lines {
				count[line]++
			}
			require.Equal(t, map[string]int{"load": 1, "done": len(children) - 1}, count)
		})
	}
}

// TestALoaderIsKilledAtWork: another one loads when its time is over.
func TestALoaderIsKilledAtWork(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			redistest.Within(t, 6*time.Second, func() time.Duration {
				longest := time.Duration(0)
				name := maptest.CacheNamed(t, raw)
				c := startLoader(t, server, kind, name, time.Second)
				c.Send("go")
				require.Equal(t, "load", c.Next())
				began := time.Now()
				c.Kill()
				l := New(of(maptest.EngineOn(t, raw), name), func(context.Context, string) (int, bool, error) {
					// The other's timeout, and a second; and as long again and more for a busy
					// machine, but not as long as a lease of this one's is.
					longest = max(longest, time.Since(began))
					return 8, true, nil
				})
				v, _, err := l.Get(t.Context(), "k")
				require.NoError(t, err)
				require.Equal(t, 8, v)
				return longest
			})
		})
	}
}
