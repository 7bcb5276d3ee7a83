package rmap

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
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
)

func (w *watcher) Loaded(_ context.Context, l core.Load) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loads = append(w.loads, l)
}

// looks counts how often somebody has looked whether there is an entry to load.
type looks struct {
	core.Observer
	n atomic.Int64
}

func (l *looks) ScriptRan(_ context.Context, script string, _ time.Duration, _ int, _ error) {
	if script == "load_look" {
		l.n.Add(1)
	}
}

func (*looks) WaitStarted(context.Context, string, string)                     {}
func (*looks) WaitEnded(context.Context, string, string, time.Duration, error) {}
func (*looks) Acquired(context.Context, string, string, bool)                  {}
func (*looks) Released(context.Context, string, string, bool)                  {}

// loadKinds are the maps that are loaded in different ways.
var loadKinds = map[string]func(e *locking.Engine, name string) Mapping[string, int]{
	"map":   func(e *locking.Engine, name string) Mapping[string, int] { return New[string, int](e, name) },
	"cache": func(e *locking.Engine, name string) Mapping[string, int] { return NewCache[string, int](e, name) },
	"sharded": func(e *locking.Engine, name string) Mapping[string, int] {
		return NewSharded[string, int](e, name, 3)
	},
	"locked": func(e *locking.Engine, name string) Mapping[string, int] {
		return NewCache[string, int](e, name, WithEntryLock())
	},
}

// source is a store that is slow, and counts.
type source struct {
	calls atomic.Int64
	began chan struct{} // of each call
	open  chan struct{} // closed: calls return
	v     atomic.Int64
	err   error
}

func newSource() *source {
	s := &source{began: make(chan struct{}, 1000), open: make(chan struct{})}
	s.v.Store(7)
	return s
}

func (s *source) load(ctx context.Context, _ string) (int, bool, error) {
	s.calls.Add(1)
	v := int(s.v.Load()) // before it is written to, for those who do so meanwhile
	s.began <- struct{}{}
	select {
	case <-s.open:
		return v, v != 0, s.err
	case <-ctx.Done():
		return 0, false, ctx.Err()
	}
}

func quick(_ context.Context, k string) (int, bool, error) {
	n, err := strconv.Atoi(k)
	return n, err == nil, nil
}

// onLoadKinds runs a test on every kind of map on every kind of server.
func onLoadKinds(t *testing.T, test func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int])) {
	t.Helper()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for kind, of := range loadKinds {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				name := cacheNamed(t, raw)
				test(t, raw, func(e *locking.Engine) Mapping[string, int] { return of(e, name) })
			})
		}
	})
}

func TestWhatIsNotThereIsLoaded(t *testing.T) {
	t.Parallel()
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		calls := atomic.Int64{}
		m := on(engineOn(t, raw))
		l := NewLoading(m, func(ctx context.Context, k string) (int, bool, error) {
			calls.Add(1)
			return quick(ctx, k)
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
		nothingIsLeft(t, raw, m.Name())
	})
}

// nothingIsLeft sees that no lease and no lock is left of loads.
func nothingIsLeft(t testing.TB, raw rueidis.Client, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, pattern := range []string{"redisson__map__lease:{" + name + "}*", "rueidisson_map_lease:{" + name + "*", "{" + name + "*:lock"} {
			left, err := raw.Do(context.Background(), raw.B().Keys().Pattern(pattern).Build()).AsStrSlice()
			if err != nil || len(left) > 0 {
				return false
			}
		}
		return true
	}, soon, 5*time.Millisecond)
}

// TestAThousandMissesAreOneLoad of ten clients with a hundred callers each.
func TestAThousandMissesAreOneLoad(t *testing.T) {
	t.Parallel()
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		s := newSource()
		var all sync.WaitGroup
		for range 10 {
			l := NewLoading(on(engineOn(t, raw)), s.load)
			for range 100 {
				all.Go(func() {
					v, there, err := l.Get(t.Context(), "k")
					assert.NoError(t, err)
					assert.True(t, there)
					assert.Equal(t, 7, v)
				})
			}
		}
		<-s.began
		close(s.open)
		all.Wait()
		require.EqualValues(t, 1, s.calls.Load())
	})
}

// TestNothingToLoadIsOneLoad: those who wait are told that there is nothing.
func TestNothingToLoadIsOneLoad(t *testing.T) {
	t.Parallel()
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		s := newSource()
		s.v.Store(0)
		var all sync.WaitGroup
		get := func() {
			seen := &looks{}
			l := NewLoading(on(engineOn(t, raw, func(c *core.Config) { c.Observer = seen })), s.load)
			all.Go(func() {
				_, there, err := l.Get(t.Context(), "k")
				assert.NoError(t, err)
				assert.False(t, there)
			})
			if s.calls.Load() > 0 { // it has looked, and again behind its subscription
				redistest.Eventually(t, func() bool { return seen.n.Load() >= 2 }, soon, time.Millisecond)
			}
		}
		get()
		<-s.began
		for range 5 {
			get()
		}
		close(s.open)
		all.Wait()
		require.EqualValues(t, 1, s.calls.Load())
	})
}

// TestALoadOverwritesNothing that was written, or removed, while it went on, by
// another client.
func TestALoadOverwritesNothing(t *testing.T) {
	t.Parallel()
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		for what, change := range map[string]func(ctx context.Context, m Mapping[string, int]) error{
			"put": func(ctx context.Context, m Mapping[string, int]) error { return m.Put(ctx, "k", 8) },
			"put and take": func(ctx context.Context, m Mapping[string, int]) error {
				err := m.Put(ctx, "k", 8)
				_, _, err2 := m.Take(ctx, "k")
				return errors.Join(err, err2)
			},
			"remove": func(ctx context.Context, m Mapping[string, int]) error {
				_, err := m.Remove(ctx, "k")
				return err
			},
			"put and compute": func(ctx context.Context, m Mapping[string, int]) error {
				err := m.Put(ctx, "k", 8)
				_, _, err2 := m.Compute(ctx, "k", func(int, bool) (int, Verdict, error) { return 0, Delete, nil })
				return errors.Join(err, err2)
			},
			"put and compare": func(ctx context.Context, m Mapping[string, int]) error {
				err := m.Put(ctx, "k", 8)
				_, err2 := m.CompareAndRemove(ctx, "k", 8)
				return errors.Join(err, err2)
			},
		} {
			if locked, is := on(engineOn(t, raw)).(*Cache[string, int]); is && locked.m.cfg.entryLock && what == "put and compute" {
				continue // which waits for the load
			}
			s := newSource()
			l := NewLoading(on(engineOn(t, raw)), s.load)
			other := NewLoading(on(engineOn(t, raw)), s.load)
			got := make(chan int, 1)
			go func() {
				v, _, err := l.Get(t.Context(), "k")
				assert.NoError(t, err, what)
				got <- v
			}()
			<-s.began
			s.v.Store(8)
			require.NoError(t, change(t.Context(), other), what)
			close(s.open)
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
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		s := newSource()
		m := on(engineOn(t, raw))
		l := NewLoading(m, s.load)
		got := make(chan int, 1)
		go func() {
			v, _, err := l.Get(t.Context(), "k")
			assert.NoError(t, err)
			got <- v
		}()
		<-s.began
		s.v.Store(8)
		require.NoError(t, m.Put(t.Context(), "k", 8))
		if _, is := m.(*Cache[string, int]); is {
			_, err := m.Remove(t.Context(), "k")
			require.NoError(t, err)
		}
		close(s.open)
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
	name := cacheNamed(t, raw)
	m := NewCache[string, int](engineOn(t, raw), name)
	s := newSource()
	l := NewLoading(m, s.load)
	got := make(chan int, 1)
	go func() {
		v, _, err := l.Get(t.Context(), "k")
		assert.NoError(t, err)
		got <- v
	}()
	<-s.began
	packed := "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x08" // 8
	require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(name).FieldValue().FieldValue("k", packed).Build()).Error())
	close(s.open)
	require.Equal(t, 8, <-got)
}

// TestWhoCallsBehindARemoveHasNothingOlder: it joins a load that is under way.
func TestWhoCallsBehindARemoveHasNothingOlder(t *testing.T) {
	t.Parallel()
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		version := atomic.Int64{}
		version.Store(1)
		l := NewLoading(on(engineOn(t, raw)), func(context.Context, string) (int, bool, error) { return int(version.Load()), true, nil })
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
		for i := range rounds(t, 100, 20_000) {
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
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSource()
			l := NewLoading(of(engineOn(t, raw), cacheNamed(t, raw)), s.load)
			first, leave := context.WithCancel(t.Context())
			left, got := make(chan error, 1), make(chan error, 1)
			go func() {
				_, _, err := l.Get(first, "k")
				left <- err
			}()
			<-s.began
			go func() {
				_, _, err := l.Get(t.Context(), "k")
				got <- err
			}()
			redistest.Eventually(t, func() bool { return l.aboard("k") == 2 }, soon, time.Millisecond)
			leave()
			require.ErrorIs(t, <-left, context.Canceled)
			close(s.open)
			require.NoError(t, <-got)
			require.EqualValues(t, 1, s.calls.Load())
		})
	}
}

func (l *Loading[K, V]) aboard(k K) int {
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
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSource()
			ended := make(chan error, 1)
			var once sync.Once
			l := NewLoading(of(engineOn(t, raw), cacheNamed(t, raw)), func(ctx context.Context, k string) (int, bool, error) {
				v, there, err := s.load(ctx, k)
				once.Do(func() { ended <- err })
				return v, there, err
			})
			ctx, leave := context.WithCancelCause(t.Context())
			cause := errors.New("enough")
			go func() {
				<-s.began
				leave(cause)
			}()
			_, _, err := l.Get(ctx, "k")
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, cause)
			require.ErrorIs(t, <-ended, context.Canceled)
			close(s.open)
			v, _, err := l.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Equal(t, 7, v)
		})
	}
}

func TestAPanickingLoaderHurtsNobodyElse(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := cacheNamed(t, raw)
			open, began := make(chan struct{}), make(chan struct{}, 100)
			bad := NewLoading(of(engineOn(t, raw), name), func(context.Context, string) (int, bool, error) {
				began <- struct{}{}
				<-open
				panic("oops")
			})
			good := NewLoading(of(engineOn(t, raw), name), quick)
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
			redistest.Eventually(t, func() bool { return bad.aboard("5") == 2 }, soon, time.Millisecond)
			go func() {
				_, _, err := good.Get(t.Context(), "5")
				got <- err
			}()
			close(open)
			require.ErrorContains(t, (<-panicked).(error), "oops")
			require.ErrorContains(t, <-failed, "oops")
			require.NoError(t, <-got)
			require.PanicsWithError(t, "", func() { defer panicText(t); _, _ = bad.GetMany(t.Context(), "6") })
			nothingIsLeft(t, raw, name)
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
	name := cacheNamed(t, raw)
	l := NewLoading(NewCache[string, int](engineOn(t, raw), name), func(context.Context, string) (int, bool, error) {
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
	nothingIsLeft(t, raw, name)
}

// TestAnErrorIsItsProcess's alone: the next one that waits loads.
func TestAnErrorIsItsProcesssAlone(t *testing.T) {
	t.Parallel()
	onLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) Mapping[string, int]) {
		s, down := newSource(), errors.New("the store is down")
		s.err = down
		bad := NewLoading(on(engineOn(t, raw)), s.load)
		e := engineOn(t, raw)
		good := NewLoading(on(e), quick)
		failed, got := make(chan error, 1), make(chan error, 1)
		go func() {
			_, _, err := bad.Get(t.Context(), "5")
			failed <- err
		}()
		<-s.began
		go func() {
			_, _, err := good.Get(t.Context(), "5")
			got <- err
		}()
		redistest.Eventually(t, func() bool { return e.Subscribed(keys.MapLoaded(good.h.home("5"), "5")) }, soon, time.Millisecond)
		close(s.open)
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
	name := cacheNamed(t, raw)
	calls := atomic.Int64{}
	l := NewLoading(NewCache[string, int](engineOn(t, raw), name), func(context.Context, string) (int, bool, error) {
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
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := engineOn(t, raw)
			s := newSource()
			l := NewLoading(of(e, cacheNamed(t, raw)), s.load)
			got := make(chan error, 1)
			go func() {
				_, _, err := l.Get(t.Context(), "k")
				got <- err
			}()
			<-s.began
			require.NoError(t, e.Close(t.Context()))
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
			name := cacheNamed(t, raw)
			l := NewLoading(loadKinds[kind](engineOn(t, raw), name), quick, WithLoadTimeout(time.Hour))
			other := NewLoading(loadKinds[kind](engineOn(t, raw), name), quick, WithLoadTimeout(time.Hour))
			hold, err := l.Lock("5").Lock(t.Context())
			require.NoError(t, err)
			got := make(chan error, 2)
			for _, l := range []*Loading[string, int]{l, other} {
				go func() {
					_, _, err := l.Get(t.Context(), "5")
					got <- err
				}()
			}
			redistest.Eventually(t, func() bool { return l.aboard("5") == 1 && other.aboard("5") == 1 }, soon, time.Millisecond)
			v, _, err := l.Get(hold.Context(t.Context()), "5")
			require.NoError(t, err)
			require.Equal(t, 5, v)
			require.NoError(t, hold.Unlock(t.Context()))
			require.NoError(t, <-got)
			require.NoError(t, <-got)
			nothingIsLeft(t, raw, name)
		})
	}
}

func TestAbsentIsRememberedForAWhile(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	calls := atomic.Int64{}
	m := NewCache[string, int](engineOn(t, raw), cacheNamed(t, raw))
	l := NewLoading(m, func(context.Context, string) (int, bool, error) { calls.Add(1); return 0, false, nil }, WithAbsentFor(time.Hour))
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
	brief := NewLoading(m, func(context.Context, string) (int, bool, error) { calls.Add(1); return 0, false, nil }, WithAbsentFor(time.Millisecond))
	redistest.Eventually(t, func() bool {
		_, _, err := brief.Get(t.Context(), "k")
		return err == nil && calls.Load() > 4
	}, soon, 2*time.Millisecond)
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
	e := engineOn(t, raw)
	m := New[string, int](e, redistest.Name(t))
	for what, l := range map[string]*Loading[string, int]{
		"nil map":            NewLoading[string, int](nil, quick),
		"nil loader":         NewLoading(m, nil),
		"nil option":         NewLoading(m, quick, nil),
		"no time":            NewLoading(m, quick, WithLoadTimeout(0)),
		"two days":           NewLoading(m, quick, WithLoadTimeout(48*time.Hour)),
		"absent for nothing": NewLoading(m, quick, WithAbsentFor(0)),
		"beta":               NewLoading(m, quick, WithRefreshAhead(-1)),
		"nothing to refresh": NewLoading(m, quick, WithRefreshAhead(1)),
		"no times":           NewLoading(m, quick, WithLoadTTL[string, int](nil)),
		"other times":        NewLoading(m, quick, WithLoadTTL(func(int, int) time.Duration { return 0 })),
		"times of a map":     NewLoading(m, quick, WithLoadTTL(func(string, int) time.Duration { return 0 })),
		"jitter":             NewLoading(m, quick, WithTTLJitter(1.1)),
		"jitter of a map":    NewLoading(m, quick, WithTTLJitter(1)),
		"no pause":           NewLoading(m, quick, WithLoadBackoff(0, time.Second)),
		"pauses":             NewLoading(m, quick, WithLoadBackoff(time.Second, time.Millisecond)),
		"not stale":          NewLoading(NewCache[string, int](e, m.Name()), quick, WithStaleOnError(0)),
		"stale of a map":     NewLoading(m, quick, WithStaleOnError(time.Second)),
		"stale and idle":     NewLoading(NewCache[string, int](e, m.Name(), WithMaxIdle(time.Hour)), quick, WithStaleOnError(time.Second)),
		"a bad map":          NewLoading(New[string, int](e, ""), quick),
	} {
		for name, op := range operationsOf {
			require.ErrorIs(t, op(t.Context(), l), ErrInvalidArgument, "%s: %s", what, name)
		}
	}
	l := NewLoading(m, quick)
	for name, op := range operationsOf {
		require.ErrorIs(t, op(nil, l), ErrInvalidArgument, name)
	}
}

// operationsOf is every operation of a map, on any that there is.
var operationsOf = map[string]func(ctx context.Context, m Mapping[string, int]) error{
	"get": func(ctx context.Context, m Mapping[string, int]) error { _, _, err := m.Get(ctx, "1"); return err },
	"get many": func(ctx context.Context, m Mapping[string, int]) error {
		_, err := m.GetMany(ctx, "1", "2")
		return err
	},
	"has":      func(ctx context.Context, m Mapping[string, int]) error { _, err := m.Has(ctx, "1"); return err },
	"len":      func(ctx context.Context, m Mapping[string, int]) error { _, err := m.Len(ctx); return err },
	"put":      func(ctx context.Context, m Mapping[string, int]) error { return m.Put(ctx, "1", 1) },
	"put many": func(ctx context.Context, m Mapping[string, int]) error { return m.PutMany(ctx, map[string]int{"1": 1}) },
	"swap":     func(ctx context.Context, m Mapping[string, int]) error { _, _, err := m.Swap(ctx, "1", 1); return err },
	"remove":   func(ctx context.Context, m Mapping[string, int]) error { _, err := m.Remove(ctx, "1"); return err },
	"clear":    func(ctx context.Context, m Mapping[string, int]) error { return m.Clear(ctx) },
	"put if absent": func(ctx context.Context, m Mapping[string, int]) error {
		_, _, err := m.PutIfAbsent(ctx, "1", 1)
		return err
	},
	"replace": func(ctx context.Context, m Mapping[string, int]) error { _, err := m.Replace(ctx, "1", 1); return err },
	"take":    func(ctx context.Context, m Mapping[string, int]) error { _, _, err := m.Take(ctx, "1"); return err },
	"swap compared": func(ctx context.Context, m Mapping[string, int]) error {
		_, err := m.CompareAndSwap(ctx, "1", 1, 2)
		return err
	},
	"remove compared": func(ctx context.Context, m Mapping[string, int]) error {
		_, err := m.CompareAndRemove(ctx, "1", 1)
		return err
	},
	"compute": func(ctx context.Context, m Mapping[string, int]) error {
		_, _, err := m.Compute(ctx, "1", increment)
		return err
	},
	"all": func(ctx context.Context, m Mapping[string, int]) error {
		for _, err := range m.All(ctx) {
			return err
		}
		return nil
	},
	"keys": func(ctx context.Context, m Mapping[string, int]) error {
		for _, err := range m.Keys(ctx) {
			return err
		}
		return nil
	},
}

// callsOfLoads checks each call of a script about loads, and returns their names.
func callsOfLoads(t *testing.T, e *locking.Engine, r *redistest.ScriptRecorder, m Mapping[string, int]) (seen []string) {
	t.Helper()
	r.Take()
	l := NewLoading(m, quick)
	for _, k := range []string{"5", "none"} {
		_, _, err := l.Get(t.Context(), k)
		require.NoError(t, err)
	}
	require.NoError(t, l.h.storeOf("5").keep(t.Context(), lease{"5", "nobody's", time.Second}))
	for _, call := range r.Take() {
		if name := redistest.ScriptNames([]redistest.ScriptCall{call})[0]; strings.HasPrefix(name, "load_") {
			call.Check(t)
			require.True(t, e.SameSlot(append([]string{l.h.key}, call.Keys...)...), call.Keys)
			seen = append(seen, name)
		}
	}
	require.Contains(t, seen, "load_end.lua")
	return seen
}

func TestTheObserverHearsOfLoads(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	w := &watcher{events: map[string]int{}}
	name, down := cacheNamed(t, raw), errors.New("down")
	m := NewCache[string, int](engineOn(t, raw, func(c *core.Config) { c.Caches = w }), name)
	l := NewLoading(m, func(ctx context.Context, k string) (int, bool, error) {
		if k == "down" {
			return 0, false, down
		}
		return quick(ctx, k)
	})
	for _, k := range []string{"1", "none", "down", "1"} {
		_, _, _ = l.Get(t.Context(), k)
	}
	require.Len(t, w.loads, 3)
	for i, want := range []core.Load{{Map: name}, {Map: name, Absent: true}, {Map: name, Err: down}} {
		require.Positive(t, w.loads[i].Took)
		want.Took = w.loads[i].Took
		require.Equal(t, want, w.loads[i])
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
		l := NewLoading(loadKinds[os.Getenv("KIND")](e, os.Getenv("NAME")), func(context.Context, string) (int, bool, error) {
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
	for kind := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			children := make([]*redistest.Child, fewLoaders(t))
			name := cacheNamed(t, server.Client(t))
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
	for kind := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			children := make([]*redistest.Child, fewLoaders(t))
			name := cacheNamed(t, server.Client(t))
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
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			redistest.Within(t, 6*time.Second, func() time.Duration {
				longest := time.Duration(0)
				name := cacheNamed(t, raw)
				c := startLoader(t, server, kind, name, time.Second)
				c.Send("go")
				require.Equal(t, "load", c.Next())
				began := time.Now()
				c.Kill()
				l := NewLoading(of(engineOn(t, raw), name), func(context.Context, string) (int, bool, error) {
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

func (spoken) Loaded(context.Context, core.Load) {}
func (spoken) Wrote(context.Context, core.Write) {}
