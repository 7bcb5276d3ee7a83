package readthrough

import (
	"context"
	"errors"
	"slices"
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

// manySource is a source that is asked for many at a time, and has even numbers.
type manySource struct {
	mu      sync.Mutex
	batches [][]string
	add     int // to what there is
}

func (s *manySource) load(_ context.Context, ks []string) (map[string]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, ks)
	all := map[string]int{}
	for _, k := range ks {
		if n, err := strconv.Atoi(k); err == nil && n%2 == 0 {
			all[k] = n + s.add
		}
	}
	return all, nil
}

// taken is the sizes of what was asked for since.
func (s *manySource) taken() (sizes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches {
		sizes = append(sizes, len(b))
	}
	s.batches = nil
	slices.Sort(sizes)
	return sizes
}

// few sees that so many entries were loaded by few calls since then. A bulk is waited for as long as
// mostCollected says, so that a slow machine makes a call more for each such time.
func few(t testing.TB, entries int, sizes []int, since time.Time) {
	t.Helper()
	sum := 0
	for _, n := range sizes {
		sum += n
	}
	require.Equal(t, entries, sum)
	took := time.Since(since)
	require.LessOrEqual(t, len(sizes), entries/4+int(took/mostCollected), "%v in %v", sizes, took)
}

// TestMissesOfOneGetManyAreOneCall, and nothing is loaded that is there.
func TestMissesOfOneGetManyAreOneCall(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := &manySource{}
		m := on(maptest.EngineOn(t, raw))
		l := New(m, nil, WithLoadMany(20, s.load))
		require.NoError(t, m.Put(t.Context(), "4", 44))
		began := time.Now()
		got, err := l.GetMany(t.Context(), append(maptest.NumbersTo(31), "7")...)
		require.NoError(t, err)
		require.Len(t, got, 16)
		require.Equal(t, 44, got["4"])
		require.Equal(t, 30, got["30"])
		few(t, 30, s.taken(), began)
		got, err = l.GetMany(t.Context(), "0", "2", "30")
		require.NoError(t, err)
		require.Len(t, got, 3)
		require.Empty(t, s.taken())
		v, there, err := l.Get(t.Context(), "100")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 100, v)
		require.Equal(t, []int{1}, s.taken())
		maptest.NothingIsLeft(t, raw, m.Name())
	})
}

// TestTwoProcessesThatGetManyLoadEachEntryOnce, and neither waits for the other's call to
// begin its own.
func TestTwoProcessesThatGetManyLoadEachEntryOnce(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := &manySource{}
		n := maptest.Rounds(t, 60, 1000)
		var all sync.WaitGroup
		for p := range 3 {
			l := New(on(maptest.EngineOn(t, raw)), nil, WithLoadMany(30, s.load))
			ks := maptest.NumbersTo(n)
			if p == 1 {
				slices.Reverse(ks) // who takes leases in another order
			}
			all.Go(func() {
				got, err := l.GetMany(t.Context(), ks...)
				assert.NoError(t, err)
				assert.Len(t, got, n/2)
			})
		}
		all.Wait()
		loaded := 0
		for _, size := range s.taken() {
			loaded += size
		}
		require.GreaterOrEqual(t, loaded, n)
		require.LessOrEqual(t, loaded, n+n, "what is there is loaded once; what is not may be asked for again")
	})
}

// TestWhatFailsInABulk is the failure of all who are in it, a panic and an end of the
// goroutine, too.
func TestWhatFailsInABulk(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	down := errors.New("down")
	m := rmap.New[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
	l := New(m, maptest.Quick, WithLoadMany(10, func(context.Context, []string) (map[string]int, error) { return nil, down }))
	got, err := l.GetMany(t.Context(), "1", "2")
	require.ErrorIs(t, err, down)
	require.Empty(t, got)
	l = New(m, maptest.Quick, WithLoadMany(10, func(context.Context, []string) (map[string]int, error) { panic("oops") }))
	require.Panics(t, func() { _, _ = l.GetMany(t.Context(), "1", "2") })
	l = New(m, maptest.Quick, WithLoadTimeout(50*time.Millisecond), WithLoadMany(10, func(ctx context.Context, _ []string) (map[string]int, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	_, err = l.GetMany(t.Context(), "1", "2")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(t.Context())
	began, ended := make(chan struct{}), make(chan struct{})
	l = New(m, maptest.Quick, WithLoadMany(10, func(ctx context.Context, _ []string) (map[string]int, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}))
	go func() { <-began; cancel() }() // ends with the loader
	_, err = l.GetMany(ctx, "1", "2")
	require.ErrorIs(t, err, context.Canceled)
	<-ended
	maptest.NothingIsLeft(t, raw, m.Name())
	for what, opt := range map[string]Option{
		"none at a time": WithLoadMany(0, (&manySource{}).load),
		"no loader":      WithLoadMany[string, int](1, nil),
		"another map":    WithLoadMany(1, func(context.Context, []int) (map[int]int, error) { return nil, nil }),
	} {
		_, err := New(m, maptest.Quick, opt).GetMany(t.Context(), "1")
		require.ErrorIs(t, err, ErrInvalidArgument, what)
	}
}

// TestARefreshIsNotOlderThanItsCall, though a load is under way and an entry is there.
func TestARefreshIsNotOlderThanItsCall(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := maptest.NewSource()
		m := on(maptest.EngineOn(t, raw))
		l := New(m, s.Load)
		first := make(chan int, 1)
		go func() { // ends with the loader
			v, _, err := l.Get(context.Background(), "k")
			assert.NoError(t, err)
			first <- v
		}()
		<-s.Began
		s.V.Store(8)
		second := make(chan int, 1)
		go func() { // likewise
			v, there, err := l.Refresh(context.Background(), "k")
			assert.NoError(t, err)
			assert.True(t, there)
			second <- v
		}()
		close(s.Open)
		require.Equal(t, 8, <-second)
		<-first
		v, _, err := m.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, 8, v)
		s.V.Store(0)
		_, there, err := l.Refresh(t.Context(), "k")
		require.NoError(t, err)
		require.False(t, there)
		there, err = m.Has(t.Context(), "k")
		require.NoError(t, err)
		require.False(t, there)
		maptest.NothingIsLeft(t, raw, m.Name())
	})
}

// TestAPutUnderARefreshIsWhatItReturns.
func TestAPutUnderARefreshIsWhatItReturns(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s := maptest.NewSource()
		m := on(maptest.EngineOn(t, raw))
		require.NoError(t, m.Put(t.Context(), "k", 6))
		l := New(m, s.Load)
		got := make(chan int, 1)
		go func() { // ends with the loader
			v, _, err := l.Refresh(context.Background(), "k")
			assert.NoError(t, err)
			got <- v
		}()
		<-s.Began
		v, _, err := l.Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, 6, v, "readers do not wait")
		require.NoError(t, m.Put(t.Context(), "k", 9))
		close(s.Open)
		require.Equal(t, 9, <-got)
	})
}

// TestLoadAllLoadsAnew what is there, too.
func TestLoadAllLoadsAnew(t *testing.T) {
	t.Parallel()
	mapkinds.OnLoadKinds(t, func(t *testing.T, raw rueidis.Client, on func(e *locking.Engine) rmap.Mapping[string, int]) {
		s, calls := &manySource{add: 1000}, atomic.Int64{}
		m := on(maptest.EngineOn(t, raw))
		for what, l := range map[string]*Map[string, int]{
			"one by one": New(m, func(ctx context.Context, k string) (int, bool, error) {
				calls.Add(1)
				all, err := s.load(ctx, []string{k})
				v, there := all[k]
				return v, there, err
			}),
			"many": New(m, nil, WithLoadMany(100, s.load)),
		} {
			require.NoError(t, m.PutMany(t.Context(), map[string]int{"2": 2, "3": 3, "x": 1}))
			began := time.Now()
			n, err := l.LoadAll(t.Context(), append(maptest.NumbersTo(40), "2")...)
			require.NoError(t, err, what)
			require.EqualValues(t, 20, n, what)
			all := mapkinds.Contents(t, m)
			require.Len(t, all, 21, "%s: 3 is gone, and x was not asked for", what)
			require.Equal(t, 1002, all["2"], what)
			if sizes := s.taken(); what == "many" {
				few(t, 40, sizes, began)
			}
		}
		require.EqualValues(t, 40, calls.Load())
		maptest.NothingIsLeft(t, raw, m.Name())
	})
}
