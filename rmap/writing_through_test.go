package rmap

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// TestWritingThroughLateRequestDoesNotPartTheMapFromTheStore: it comes when another
// process has written to both.
func TestWritingThroughLateRequestDoesNotPartTheMapFromTheStore(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			name, s := cacheNamed(t, raw), newBehindMap()
			m := of(engineOn(t, raw), name)
			require.NoError(t, m.Put(t.Context(), "k", 0))
			first, second := NewWriting(of(engineOn(t, client, shortSends), name), s.write), NewWriting(m, s.write)
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
				require.Equal(t, map[string]int{"k": 2, "other": 1}, contents(t, m))
				time.Sleep(time.Millisecond)
			}
			require.Equal(t, contents(t, m), s.now())
		})
	}
}

// TestWritingThroughRemovesWhatMayBeOlder than the store, so that a loader brings what
// that has.
func TestWritingThroughRemovesWhatMayBeOlder(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			name, s := cacheNamed(t, raw), newBehindMap()
			m := of(engineOn(t, raw), name)
			require.NoError(t, m.Put(t.Context(), "k", 0))
			w := NewWriting(of(engineOn(t, client, shortSends), name), s.write)
			require.NoError(t, w.Put(t.Context(), "other", 0))
			proxy.DropReply(redistest.All(redistest.MatchScript(scriptOfThrough(kind)), redistest.Arg("k")), 1)
			require.ErrorIs(t, w.Put(t.Context(), "k", 1), ErrOutcomeUnknown)
			redistest.Eventually(t, func() bool { _, there := contents(t, m)["k"]; return !there }, soon, time.Millisecond)
			require.Equal(t, 1, s.now()["k"])
		})
	}
}

// waits hears of who begins to wait for a lock.
type waits struct {
	looks
	began atomic.Int64
}

func (w *waits) WaitStarted(context.Context, string, string) { w.began.Add(1) }

// scriptOfThrough is the script that changes a map of that kind behind its store.
func scriptOfThrough(kind string) string {
	if kind == "cache" || kind == "locked" {
		return mapcache.Through.Body()
	}
	return throughScript.Body()
}

// TestWritingThroughLateRequestIsRefusedAfterAHandover: the next holders of the entry's
// lock in the process would have the same owner on the server.
func TestWritingThroughLateRequestIsRefusedAfterAHandover(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			// One connection: the second change would be the first to notice that another one is broken.
			client, proxy := through(t, server, func(o *rueidis.ClientOption) { o.PipelineMultiplex = -1 })
			name, s, o := cacheNamed(t, raw), newBehindMap(), &waits{}
			e := engineOn(t, client, shortSends, func(c *core.Config) { c.Observer, c.HandoverTime = o, time.Minute })
			began, open := make(chan struct{}), make(chan struct{})
			w := NewWriting(of(e, name), func(ctx context.Context, changes []Change[string, int]) error {
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
				redistest.Eventually(t, func() bool { return o.began.Load() > before || v == 1 }, soon, time.Millisecond)
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
			require.Equal(t, 2, contents(t, of(engineOn(t, raw), name))["k"])
		})
	}
}

// TestWritingThroughRemovesTheEntryWhenTheLockWasLost between the store and the map, of
// which nobody knows any more whose change came last.
func TestWritingThroughRemovesTheEntryWhenTheLockWasLost(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range loadKinds {
		for how, writes := range map[string]func(ctx context.Context, w *Writing[string, int]) error{
			"put": func(ctx context.Context, w *Writing[string, int]) error { return w.Put(ctx, "k", 1) },
			"remove": func(ctx context.Context, w *Writing[string, int]) error {
				_, err := w.Remove(ctx, "k")
				return err
			},
		} {
			t.Run(kind+", "+how, func(t *testing.T) {
				t.Parallel()
				name, s := cacheNamed(t, raw), newBehindMap()
				m, other := of(engineOn(t, raw), name), of(engineOn(t, raw), name)
				require.NoError(t, m.Put(t.Context(), "k", 0))
				w := NewWriting(m, func(ctx context.Context, changes []Change[string, int]) error {
					err := s.write(ctx, changes)
					_, forced := other.Lock("k").ForceUnlock(context.Background())
					return errors.Join(err, forced)
				})
				require.ErrorContains(t, writes(t.Context(), w), "the store has the change")
				require.Empty(t, contents(t, m))
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
	for kind, of := range loadKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			name, s := cacheNamed(t, raw), newBehindMap()
			m := of(engineOn(t, raw), name)
			require.NoError(t, m.Put(t.Context(), "k", 0))
			w := NewWriting(of(engineOn(t, client, shortSends), name), s.write)
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
			require.Equal(t, map[string]int{"other": 0}, contents(t, m))
			require.NoError(t, NewWriting(m, s.write).Put(t.Context(), "k", 2))
			held.Release()
			require.Equal(t, map[string]int{"k": 2, "other": 0}, contents(t, m))
		})
	}
}

// TestWritingThroughTellsNearCachesWhatItRemoves.
func TestWritingThroughTellsNearCachesWhatItRemoves(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := through(t, server)
	name, s := named(t, raw), newBehindMap()
	of := func(e *locking.Engine) *Map[string, int] { return New[string, int](e, name, WithAnnounce()) }
	n := NewNear(of(engineOn(t, raw)), WithAnnounced())
	defer n.Close()
	require.NoError(t, n.Put(t.Context(), "k", 7))
	hot(t, n, "k", 7)
	w := NewWriting(of(engineOn(t, client, shortSends)), s.write)
	require.NoError(t, w.Put(t.Context(), "other", 0))
	held := proxy.HoldRequest(redistest.All(redistest.MatchScript(throughScript.Body()), redistest.Arg("k")))
	did := make(chan error, 1)
	go func() { did <- w.Put(context.Background(), "k", 8) }() // ends with the answer
	held.Await(t)
	proxy.CutAll()
	require.ErrorIs(t, <-did, ErrOutcomeUnknown)
	redistest.Eventually(t, func() bool {
		_, there, err := n.Get(t.Context(), "k")
		return err == nil && !there
	}, soon, time.Millisecond)
	held.Release()
	has, err := of(engineOn(t, raw)).Has(t.Context(), "k")
	require.NoError(t, err)
	require.False(t, has, "it came too late")
}
