package writethrough

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestWritingThroughLateRequestDoesNotPartTheMapFromTheStore: it comes when another
// process has written to both.
func TestWritingThroughLateRequestDoesNotPartTheMapFromTheStore(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			name, s := maptest.CacheNamed(t, raw), newBehindMap()
			m := of(maptest.EngineOn(t, raw), name)
			require.NoError(t, m.Put(t.Context(), "k", 0))
			first, second := New(of(maptest.EngineOn(t, client, maptest.ShortSends), name), s.write), New(m, s.write)
			require.NoError(t, first.Put(t.Context(), "other", 0)) // so that the server knows the scripts
			held := proxy.HoldRequest(redistest.All(redistest.MatchScript(scriptOfThrough(kind)), redistest.Arg("k")))
			did := make(chan error, 1)
			go func() { did <- first.Put(context.Background(), "k", 1) }()
			held.Await(t)
			require.ErrorIs(t, <-did, ErrOutcomeUnknown)
			require.NoError(t, second.Put(t.Context(), "k", 2))
			held.Release()
			require.NoError(t, first.Put(t.Context(), "other", 1)) // behind it
			for range 20 {
				require.Equal(t, map[string]int{"k": 2, "other": 1}, mapkinds.Contents(t, m))
				time.Sleep(time.Millisecond)
			}
			require.Equal(t, mapkinds.Contents(t, m), s.now())
		})
	}
}

// TestWritingThroughRemovesWhatMayBeOlder than the store, so that a loader brings what
// that has.
func TestWritingThroughRemovesWhatMayBeOlder(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			name, s := maptest.CacheNamed(t, raw), newBehindMap()
			m := of(maptest.EngineOn(t, raw), name)
			require.NoError(t, m.Put(t.Context(), "k", 0))
			w := New(of(maptest.EngineOn(t, client, maptest.ShortSends), name), s.write)
			require.NoError(t, w.Put(t.Context(), "other", 0))
			proxy.DropReply(redistest.All(redistest.MatchScript(scriptOfThrough(kind)), redistest.Arg("k")), 1)
			require.ErrorIs(t, w.Put(t.Context(), "k", 1), ErrOutcomeUnknown)
			redistest.Eventually(t, func() bool { _, there := mapkinds.Contents(t, m)["k"]; return !there }, maptest.Soon, time.Millisecond)
			require.Equal(t, 1, s.now()["k"])
		})
	}
}

// waits hears of who begins to wait for a lock.
type waits struct {
	maptest.Looks
	began atomic.Int64
}

func (w *waits) WaitStarted(context.Context, string, string) { w.began.Add(1) }

// scriptOfThrough is the script that changes a map of that kind behind its store.
func scriptOfThrough(kind string) string {
	if kind == "cache" || kind == "locked" {
		return mapcache.Through.Body()
	}
	return mapstore.ThroughScript.Body()
}

// TestWritingThroughLateRequestIsRefusedAfterAHandover: the next holders of the entry's
// lock in the process would have the same owner on the server.
func TestWritingThroughLateRequestIsRefusedAfterAHandover(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			// One connection: the second change would be the first to notice that another one is broken.
			client, proxy := maptest.Through(t, server, func(o *rueidis.ClientOption) { o.PipelineMultiplex = -1 })
			name, s, o := maptest.CacheNamed(t, raw), newBehindMap(), &waits{}
			e := maptest.EngineOn(t, client, maptest.ShortSends, func(c *core.Config) { c.Observer, c.HandoverTime = o, time.Minute })
			began, open := make(chan struct{}), make(chan struct{})
			w := New(of(e, name), func(ctx context.Context, changes []Change[string, int]) error {
				if changes[0].Value == 3 {
					close(began)
					<-open
					return errors.New("down")
				}
				return s.write(ctx, changes)
			})
			require.NoError(t, w.Put(t.Context(), "other", 0)) // so that the server knows the scripts
			put := func(v int) chan error {
				did, before := make(chan error, 1), o.began.Load()
				go func() { did <- w.Put(context.Background(), "k", v) }() // ends with the lock
				redistest.Eventually(t, func() bool { return o.began.Load() > before || v == 1 }, maptest.Soon, time.Millisecond)
				return did
			}
			held := proxy.HoldRequest(redistest.All(redistest.MatchScript(scriptOfThrough(kind)), redistest.Arg("k")))
			first := put(1)
			held.Await(t)
			second := put(2)
			third := put(3)
			proxy.CutAll()
			require.ErrorIs(t, <-first, ErrOutcomeUnknown)
			require.NoError(t, <-second)
			<-began
			held.Release()
			close(open)
			require.Error(t, <-third)
			require.Equal(t, 2, s.now()["k"])
			require.Equal(t, 2, mapkinds.Contents(t, of(maptest.EngineOn(t, raw), name))["k"])
		})
	}
}

// TestWritingThroughRemovesTheEntryWhenTheLockWasLost between the store and the map, of
// which nobody knows any more whose change came last.
func TestWritingThroughRemovesTheEntryWhenTheLockWasLost(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range mapkinds.LoadKinds {
		for how, writes := range map[string]func(ctx context.Context, w *Map[string, int]) error{
			"put": func(ctx context.Context, w *Map[string, int]) error { return w.Put(ctx, "k", 1) },
			"remove": func(ctx context.Context, w *Map[string, int]) error {
				_, err := w.Remove(ctx, "k")
				return err
			},
		} {
			t.Run(kind+", "+how, func(t *testing.T) {
				t.Parallel()
				name, s := maptest.CacheNamed(t, raw), newBehindMap()
				m, other := of(maptest.EngineOn(t, raw), name), of(maptest.EngineOn(t, raw), name)
				require.NoError(t, m.Put(t.Context(), "k", 0))
				w := New(m, func(ctx context.Context, changes []Change[string, int]) error {
					err := s.write(ctx, changes)
					_, forced := other.Lock("k").ForceUnlock(context.Background())
					return errors.Join(err, forced)
				})
				require.ErrorContains(t, writes(t.Context(), w), "the store has the change")
				require.Empty(t, mapkinds.Contents(t, m))
				locked, err := m.Lock("k").Locked(t.Context())
				require.NoError(t, err)
				require.False(t, locked)
			})
		}
	}
}

// TestWritingThroughRemoveIsDoneAgain where it did not get through: that it is removed
// is all that there is to it.
func TestWritingThroughRemoveIsDoneAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			name, s := maptest.CacheNamed(t, raw), newBehindMap()
			m := of(maptest.EngineOn(t, raw), name)
			require.NoError(t, m.Put(t.Context(), "k", 0))
			w := New(of(maptest.EngineOn(t, client, maptest.ShortSends), name), s.write)
			require.NoError(t, w.Put(t.Context(), "other", 0))
			held := proxy.HoldRequest(redistest.All(redistest.MatchScript(scriptOfThrough(kind)), redistest.Arg("k")))
			did := make(chan error, 1)
			go func() { // ends with the answer
				_, err := w.Remove(context.Background(), "k")
				did <- err
			}()
			held.Await(t)
			proxy.CutAll()
			require.NoError(t, <-did)
			require.Equal(t, map[string]int{"other": 0}, mapkinds.Contents(t, m))
			require.NoError(t, New(m, s.write).Put(t.Context(), "k", 2))
			held.Release()
			require.Equal(t, map[string]int{"k": 2, "other": 0}, mapkinds.Contents(t, m))
		})
	}
}
