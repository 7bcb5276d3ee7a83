package rmap

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// late is a store that has what was queued only when it is asked to.
type late struct {
	*behindMap
	loads atomic.Int64
}

func (s *late) load(_ context.Context, k string) (int, bool, error) {
	s.loads.Add(1)
	v, there := s.now()[k]
	return v, there, nil
}

// onLate runs a test with a Writing that keeps what it has queued until it is
// closed, and a loader of the same store, on caches and maps of every server.
func onLate(t *testing.T, test func(t *testing.T, s *late, m mapping[string, int], w *Writing[string, int])) {
	t.Helper()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, kind := range []string{"map", "cache", "locked"} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				s := &late{behindMap: newBehindMap()}
				m := loadKinds[kind](engineOn(t, raw), cacheNamed(t, raw))
				w := NewWriting(m, s.write, WithBehind(1000), WithWriteDelay(time.Hour))
				test(t, s, m, w)
				require.NoError(t, w.Close(t.Context()))
				require.Equal(t, contents(t, m), s.now())
				left, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapWrites(m.Name()), keys.MapPending(m.Name())).Build()).AsInt64()
				require.NoError(t, err)
				require.Zero(t, left)
			})
		}
	})
}

// TestWhatWasRemovedDoesNotComeBack from a store that does not know it yet.
func TestWhatWasRemovedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	onLate(t, func(t *testing.T, s *late, m mapping[string, int], w *Writing[string, int]) {
		s.all["k"] = 1
		for _, l := range []*Loading[string, int]{NewLoading(m, s.load), NewLoading(w, s.load)} {
			require.NoError(t, m.Put(t.Context(), "k", 1))
			_, err := w.Remove(t.Context(), "k")
			require.NoError(t, err)
			for range 2 {
				_, there, err := l.Get(t.Context(), "k")
				require.NoError(t, err)
				require.False(t, there)
			}
			require.Zero(t, s.loads.Load())
		}
	})
}

// TestWhatIsOnItsWayToTheStoreIsNotLoaded: what is queued is newer, also where the
// map has it no more.
func TestWhatIsOnItsWayToTheStoreIsNotLoaded(t *testing.T) {
	t.Parallel()
	onLate(t, func(t *testing.T, s *late, m mapping[string, int], w *Writing[string, int]) {
		s.all["k"] = 1
		require.NoError(t, w.Put(t.Context(), "k", 2))
		_, err := m.Remove(t.Context(), "k") // it goes nowhere: the store will have it
		require.NoError(t, err)
		v, there, err := NewLoading(w, s.load).Get(t.Context(), "k")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 2, v)
		require.Zero(t, s.loads.Load())
		require.NoError(t, w.Put(t.Context(), "k", 3))
	})
}

// TestALoadIsOlderThanWhatWasQueuedMeanwhile, and removed, by who knows of no loads.
func TestALoadIsOlderThanWhatWasQueuedMeanwhile(t *testing.T) {
	t.Parallel()
	onLate(t, func(t *testing.T, s *late, m mapping[string, int], w *Writing[string, int]) {
		began, open := make(chan struct{}, 1), make(chan struct{})
		l := NewLoading(m, func(context.Context, string) (int, bool, error) {
			began <- struct{}{}
			<-open
			return 1, true, nil
		})
		got := make(chan bool, 1)
		go func() {
			_, there, err := l.Get(context.Background(), "k")
			assert.NoError(t, err)
			got <- there
		}()
		<-began
		require.NoError(t, w.Put(t.Context(), "k", 2))
		_, err := w.Remove(t.Context(), "k")
		require.NoError(t, err)
		close(open)
		require.False(t, <-got)
	})
}

// TestARefreshBringsNothingOlder than what is queued.
func TestARefreshBringsNothingOlder(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	s := &late{behindMap: newBehindMap()}
	s.all["k"] = 1
	m := NewCache[string, int](engineOn(t, raw), cacheNamed(t, raw), WithTTL(time.Hour))
	w := NewWriting(m, s.write, WithBehind(1000), WithWriteDelay(time.Hour))
	l := NewLoading(w, s.load, WithRefreshAhead(1))
	require.NoError(t, w.Put(t.Context(), "k", 2))
	l.reload(t.Context(), "k", "k", end{at: l.now() + 2*time.Hour})
	v, _, err := m.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, 2, v)
	require.Zero(t, s.loads.Load())
	require.NoError(t, w.Close(t.Context()))
	l.reload(t.Context(), "k", "k", end{at: l.now() + 2*time.Hour})
	require.EqualValues(t, 1, s.loads.Load(), "now it may")
}
