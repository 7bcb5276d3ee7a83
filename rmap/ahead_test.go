package rmap

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
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// TestAnEntryIsLoadedAnewBeforeItEnds: readers of two clients never wait for a
// load, and one at a time goes on.
func TestAnEntryIsLoadedAnewBeforeItEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		name := cacheNamed(t, raw)
		var calls, under, together, waited atomic.Int64
		load := func(context.Context, string) (int, bool, error) {
			if under.Add(1) > 1 {
				together.Add(1)
			}
			defer under.Add(-1)
			time.Sleep(20 * time.Millisecond)
			return int(calls.Add(1)), true, nil
		}
		var ls []*Loading[string, int]
		for range 2 {
			l := NewLoading(NewCache[string, int](engineOn(t, raw), name, WithTTL(2*time.Second)), load, WithRefreshAhead(20))
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
		}, soon, 2*time.Millisecond)
		require.Zero(t, waited.Load())
		require.Zero(t, together.Load())
	})
}

// TestWhatIsNotThereAnyMoreGoesAhead of its time.
func TestWhatIsNotThereAnyMoreGoesAhead(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := NewCache[string, int](engineOn(t, raw), cacheNamed(t, raw), WithTTL(time.Minute))
	calls := atomic.Int64{}
	l := NewLoading(m, func(context.Context, string) (int, bool, error) {
		time.Sleep(10 * time.Millisecond)
		return 1, calls.Add(1) == 1, nil
	}, WithRefreshAhead(1000))
	redistest.Eventually(t, func() bool {
		_, there, err := l.Get(t.Context(), "k")
		return err == nil && !there && calls.Load() > 1
	}, soon, time.Millisecond)
}

// TestAPutUnderARefreshStands also where it puts what was there.
func TestAPutUnderARefreshStands(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := NewCache[string, int](engineOn(t, raw), cacheNamed(t, raw), WithTTL(time.Hour))
	s := newSource()
	l := NewLoading(m, s.load, WithRefreshAhead(1))
	r := l.newRun("k", "k")
	r.how, r.locks = ahead, false
	require.NoError(t, m.Put(t.Context(), "k", 6))
	got, err := r.look(t.Context(), ahead)
	require.NoError(t, err)
	require.Zero(t, got.left)
	r.seen, err = m.m.store.get(t.Context(), "k")
	require.NoError(t, err)
	done := make(chan bool, 1)
	go func() {
		_, _, wrote, err := r.load(t.Context())
		done <- wrote || err != nil
	}()
	<-s.began
	require.NoError(t, m.Put(t.Context(), "k", 6))
	close(s.open)
	require.False(t, <-done)
	v, _, err := m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 6, v)
}

// TestAPutBehindARefreshStands that has found nothing, also where it puts what was there.
func TestAPutBehindARefreshStands(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
	for kind, of := range map[string]func(e *locking.Engine, name string) Mapping[string, int]{
		"cache": func(e *locking.Engine, name string) Mapping[string, int] {
			return NewCache[string, int](e, name, WithTTL(time.Hour))
		},
		"native": func(e *locking.Engine, name string) Mapping[string, int] {
			return NewTTLMap[string, int](e, name, WithTTL(time.Hour))
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			recorder := redistest.RecordScripts(t, raw)
			for _, script := range []string{loadEndScript.Body(), loadPutScript.Body(), mapcache.LoadPut.Body()} {
				recorder.Learn(script)
			}
			name := cacheNamed(t, raw)
			other := of(engineOn(t, raw), name)
			l := NewLoading(of(engineOn(t, recorder), name), func(context.Context, string) (int, bool, error) { return 0, false, nil }, WithRefreshAhead(1))
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
