package readthrough

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// TestAnEntryIsLoadedAnewBeforeItEnds: readers of two clients never wait for a
// load, and one at a time goes on.
func TestAnEntryIsLoadedAnewBeforeItEnds(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		name := maptest.CacheNamed(t, raw)
		var calls, under, together, waited atomic.Int64
		load := func(context.Context, string) (int, bool, error) {
			if under.Add(1) > 1 {
				together.Add(1)
			}
			defer under.Add(-1)
			time.Sleep(20 * time.Millisecond)
			return int(calls.Add(1)), true, nil
		}
		var ls []*Map[string, int]
		for range 2 {
			l := New(rmap.NewCache[string, int](maptest.EngineOn(t, raw), name, rmap.WithTTL(2*time.Second)), load, WithRefreshAhead(20))
			ls = append(ls, l)
		}
		before := 0
		redistest.Eventually(t, func() bool {
			for _, l := range ls {
				v, there, err := l.Get(t.Context(), "k")
				if err != nil || !there || v < before {
					waited.Add(1)
				}
				before = v
			}
			return calls.Load() >= 4
		}, maptest.Soon, 2*time.Millisecond)
		require.Zero(t, waited.Load())
		require.Zero(t, together.Load())
	})
}

// TestWhatIsNotThereAnyMoreGoesAhead of its time.
func TestWhatIsNotThereAnyMoreGoesAhead(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw), rmap.WithTTL(time.Minute))
	calls := atomic.Int64{}
	l := New(m, func(context.Context, string) (int, bool, error) {
		time.Sleep(10 * time.Millisecond)
		return 1, calls.Add(1) == 1, nil
	}, WithRefreshAhead(1000))
	redistest.Eventually(t, func() bool {
		_, there, err := l.Get(t.Context(), "k")
		return err == nil && !there && calls.Load() > 1
	}, maptest.Soon, time.Millisecond)
}

// TestAPutUnderARefreshStands also where it puts what was there.
func TestAPutUnderARefreshStands(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw), rmap.WithTTL(time.Hour))
	s := maptest.NewSource()
	l := New(m, s.Load, WithRefreshAhead(1))
	r := l.newRun("k", "k")
	r.how, r.locks = mapstore.Ahead, false
	require.NoError(t, m.Put(t.Context(), "k", 6))
	got, err := r.look(t.Context(), mapstore.Ahead)
	require.NoError(t, err)
	require.Zero(t, got.Left)
	r.seen, err = m.Inside().Handle.Store.Get(t.Context(), "k")
	require.NoError(t, err)
	done := make(chan bool, 1)
	go func() {
		_, _, wrote, err := r.load(t.Context())
		done <- wrote || err != nil
	}()
	<-s.Began
	require.NoError(t, m.Put(t.Context(), "k", 6))
	close(s.Open)
	require.False(t, <-done)
	v, _, err := m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 6, v)
}

// TestAPutBehindARefreshStands that has found nothing, also where it puts what was there.
func TestAPutBehindARefreshStands(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	for kind, of := range map[string]func(e *locking.Engine, name string) rmap.Mapping[string, int]{
		"cache": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
			return rmap.NewCache[string, int](e, name, rmap.WithTTL(time.Hour))
		},
		"native": func(e *locking.Engine, name string) rmap.Mapping[string, int] {
			return rmap.NewTTLMap[string, int](e, name, rmap.WithTTL(time.Hour))
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			recorder := redistest.RecordScripts(t, raw)
			for _, script := range []string{mapstore.LoadEndScript.Body(), mapstore.LoadPutScript.Body(), mapcache.LoadPut.Body()} {
				recorder.Learn(script)
			}
			name := maptest.CacheNamed(t, raw)
			other := of(maptest.EngineOn(t, raw), name)
			l := New(of(maptest.EngineOn(t, recorder), name), func(context.Context, string) (int, bool, error) { return 0, false, nil }, WithRefreshAhead(1))
			require.NoError(t, other.Put(t.Context(), "k", 6))
			var puts []error
			recorder.Around(nil, func(script string) {
				if strings.Contains(script, "load_end.lua") || strings.Contains(script, "load_put.lua") {
					puts = append(puts, other.Put(context.Background(), "k", 6))
				}
			})
			l.reload(t.Context(), "k", "k", end{at: l.now() + 2*time.Hour})
			require.NotEmpty(t, puts)
			require.NoError(t, errors.Join(puts...))
			there, err := other.Has(t.Context(), "k")
			require.NoError(t, err)
			require.True(t, there)
			recorder.Around(nil, nil)
			l.reload(t.Context(), "k", "k", end{at: l.now() + 2*time.Hour})
			there, err = other.Has(t.Context(), "k")
			require.NoError(t, err)
			require.False(t, there, "the loader says so")
		})
	}
}

// TestAnEntryThatHadEndedIsLookedAtAgain: what comes in its place has an end of its own.
func TestAnEntryThatHadEndedIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	l := New(rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw), rmap.WithTTL(time.Hour)), maptest.Quick, WithRefreshAhead(1))
	l.hit(t.Context(), "5") // which has gone when it is asked for
	redistest.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.ends.of) == 0
	}, maptest.Soon, time.Millisecond)
	require.NoError(t, l.Put(t.Context(), "5", 5))
	redistest.Eventually(t, func() bool {
		_, _, err := l.Get(t.Context(), "5")
		l.mu.Lock()
		defer l.mu.Unlock()
		e, known := l.ends.of["5"]
		return err == nil && known && !e.unknown
	}, maptest.Soon, time.Millisecond)
}

// TestARefreshBringsNothingOlder than what is queued.
func TestARefreshBringsNothingOlder(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	var stored, loads atomic.Int64
	stored.Store(1)
	m := rmap.NewCache[string, int](maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw), rmap.WithTTL(time.Hour))
	w := writethrough.New(m, func(_ context.Context, changes []writethrough.Change[string, int]) error {
		stored.Store(int64(changes[len(changes)-1].Value))
		return nil
	}, writethrough.WithBehind(1000), writethrough.WithWriteDelay(time.Hour))
	l := New(w, func(context.Context, string) (int, bool, error) {
		loads.Add(1)
		return int(stored.Load()), true, nil
	}, WithRefreshAhead(1))
	require.NoError(t, w.Put(t.Context(), "k", 2))
	l.reload(t.Context(), "k", "k", end{at: l.now() + 2*time.Hour})
	v, _, err := m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 2, v)
	require.Zero(t, loads.Load())
	require.NoError(t, w.Close(t.Context()))
	l.reload(t.Context(), "k", "k", end{at: l.now() + 2*time.Hour})
	require.EqualValues(t, 1, loads.Load(), "now it may")
}
