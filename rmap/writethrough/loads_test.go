package writethrough

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
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

// behindKinds are the maps that are loaded and written behind on that server.
func behindKinds(t *testing.T, raw rueidis.Client) []string {
	t.Helper()
	kinds := []string{"map", "cache", "locked"}
	e := maptest.EngineOn(t, raw)
	if fieldttl.Of(e).Check(t.Context(), redistest.Name(t)) == nil {
		kinds = append(kinds, "native")
	}
	return kinds
}

func behindKind(kind string) func(e *locking.Engine, name string) rmap.Mapping[string, int] {
	if kind == "native" {
		return func(e *locking.Engine, name string) rmap.Mapping[string, int] {
			return rmap.NewTTLMap[string, int](e, name)
		}
	}
	return mapkinds.LoadKinds[kind]
}

// onLate runs a test with a Map that keeps what it has queued until it is
// closed, and a loader of the same store, on caches and maps of every server.
func onLate(t *testing.T, test func(t *testing.T, s *late, m rmap.Mapping[string, int], w *Map[string, int])) {
	t.Helper()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, kind := range behindKinds(t, raw) {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				s := &late{behindMap: newBehindMap()}
				m := behindKind(kind)(maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
				w := New(m, s.write, WithBehind(1000), WithWriteDelay(time.Hour))
				test(t, s, m, w)
				require.NoError(t, w.Close(t.Context()))
				require.Equal(t, mapkinds.Contents(t, m), s.now())
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
	onLate(t, func(t *testing.T, s *late, m rmap.Mapping[string, int], w *Map[string, int]) {
		s.all["k"] = 1
		for _, l := range []*readthrough.Map[string, int]{readthrough.New(m, s.load), readthrough.New(w, s.load)} {
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
	onLate(t, func(t *testing.T, s *late, m rmap.Mapping[string, int], w *Map[string, int]) {
		s.all["k"] = 1
		require.NoError(t, w.Put(t.Context(), "k", 2))
		_, err := m.Remove(t.Context(), "k") // it goes nowhere: the store will have it
		require.NoError(t, err)
		v, there, err := readthrough.New(w, s.load).Get(t.Context(), "k")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 2, v)
		require.Zero(t, s.loads.Load())
		require.NoError(t, w.Put(t.Context(), "k", 3))
	})
}

// TestALoadIsOlderThanWhatWasQueuedMeanwhile, and removed, by who knows of no loads; it
// may be that the store has it when the load ends, and that nothing is queued any more.
func TestALoadIsOlderThanWhatWasQueuedMeanwhile(t *testing.T) {
	t.Parallel()
	onLate(t, func(t *testing.T, s *late, m rmap.Mapping[string, int], w *Map[string, int]) {
		for _, drained := range []bool{false, true} {
			began, open := make(chan struct{}, 1), make(chan struct{})
			s.mu.Lock()
			s.all["k"] = 1
			s.mu.Unlock()
			l := readthrough.New(m, func(ctx context.Context, k string) (int, bool, error) {
				v, there, err := s.load(ctx, k)
				select {
				case began <- struct{}{}:
				default: // it is loaded again, behind what was queued
				}
				<-open
				return v, there, err
			})
			got := make(chan bool, 1)
			go func() { // ends with the load
				_, there, err := l.Get(context.Background(), "k")
				assert.NoError(t, err)
				got <- there
			}()
			<-began
			require.NoError(t, w.Put(t.Context(), "k", 2))
			_, err := w.Remove(t.Context(), "k")
			require.NoError(t, err)
			if drained {
				require.NoError(t, w.Flush(t.Context()))
			}
			close(open)
			require.False(t, <-got)
			require.Empty(t, mapkinds.Contents(t, m))
			require.NoError(t, w.Flush(t.Context()))
		}
	})
}

// TestLoadingRemoveBehindIsNotUndoneByALoad that began before it, also where the store
// has the removal and nothing is queued any more.
func TestLoadingRemoveBehindIsNotUndoneByALoad(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, kind := range behindKinds(t, raw) {
			for how, remove := range map[string]func(ctx context.Context, w *Map[string, int], l *readthrough.Map[string, int]) error{
				"by the writing": func(ctx context.Context, w *Map[string, int], _ *readthrough.Map[string, int]) error {
					_, err := w.Remove(ctx, "k")
					return err
				},
				"by the loading": func(ctx context.Context, _ *Map[string, int], l *readthrough.Map[string, int]) error {
					_, err := l.Remove(ctx, "k")
					return err
				},
			} {
				t.Run(kind+", "+how, func(t *testing.T) {
					t.Parallel()
					s := &late{behindMap: newBehindMap()}
					s.all["k"] = 1
					m := behindKind(kind)(maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
					w := New(m, s.write, ways["behind"]...)
					began, open := make(chan struct{}, 10), make(chan struct{})
					l := readthrough.New(w, func(ctx context.Context, k string) (int, bool, error) {
						v, there, err := s.load(ctx, k)
						began <- struct{}{}
						<-open
						return v, there, err
					})
					got := make(chan bool, 1)
					go func() { // ends with the load
						_, there, err := l.Get(context.Background(), "k")
						assert.NoError(t, err)
						got <- there
					}()
					<-began
					require.NoError(t, remove(t.Context(), w, l))
					redistest.Eventually(t, func() bool {
						n, err := w.Backlog(t.Context())
						return err == nil && n == 0 && len(s.now()) == 0
					}, maptest.Soon, time.Millisecond)
					close(open)
					require.False(t, <-got)
					require.Empty(t, mapkinds.Contents(t, m))
					require.NoError(t, w.Close(t.Context()))
				})
			}
		}
	})
}
