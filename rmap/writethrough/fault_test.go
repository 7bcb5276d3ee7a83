package writethrough

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestACopyOfARefusedChangeDoesNothing, however late it comes: the caller was told
// that there was something else.
func TestACopyOfARefusedChangeDoesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, c := range map[string]struct {
		body string
		on   func(m *rmap.Map[string, int], c *rmap.Cache[string, int]) rmap.Mapping[string, int]
	}{
		"map":   {mapstore.BehindScript.Body(), func(m *rmap.Map[string, int], _ *rmap.Cache[string, int]) rmap.Mapping[string, int] { return m }},
		"cache": {mapcache.Behind.Body(), func(_ *rmap.Map[string, int], c *rmap.Cache[string, int]) rmap.Mapping[string, int] { return c }},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			name, e := maptest.CacheNamed(t, raw), maptest.EngineOn(t, client, maptest.ShortSends)
			m := c.on(rmap.New[string, int](e, name, rmap.WithRequestIDs()), rmap.NewCache[string, int](e, name, rmap.WithRequestIDs()))
			plain := maptest.EngineOn(t, raw)
			look := c.on(rmap.New[string, int](plain, name), rmap.NewCache[string, int](plain, name))
			s := newBehindMap()
			w := New(m, s.write, ways["behind"]...)
			require.NoError(t, w.Put(t.Context(), "other", 1)) // so that the server knows the scripts
			require.NoError(t, look.Put(t.Context(), "k", 1))
			// It has read 1, and its first copy is held up; the second finds 2.
			held := proxy.HoldRequest(redistest.All(redistest.MatchScript(c.body), redistest.Arg("k")))
			tries := 0
			did := make(chan error, 1)
			go func() {
				_, _, err := w.Compute(context.Background(), "k", func(old int, had bool) (int, rmap.Verdict, error) {
					if tries++; tries == 1 {
						return 100, rmap.Store, nil
					}
					return 0, rmap.Keep, nil
				})
				did <- err
			}()
			held.Await(t)
			require.NoError(t, look.Put(t.Context(), "k", 2))
			require.NoError(t, <-did)
			require.Equal(t, 2, tries)
			require.NoError(t, look.Put(t.Context(), "k", 1)) // as it was
			held.Release()
			require.NoError(t, w.Put(t.Context(), "behind", 1))
			require.NoError(t, w.Close(t.Context()))
			time.Sleep(20 * time.Millisecond)
			require.Equal(t, 1, mapkinds.Contents(t, look)["k"])
			require.NotContains(t, s.now(), "k")
			left, err := raw.Do(t.Context(), raw.B().Exists().Key(keys.MapWrites(name)).Build()).AsInt64()
			require.NoError(t, err)
			require.Zero(t, left)
		})
	}
}

// TestACallerThatLeavesDoesNotPartTheMapFromTheStore: what the store has, the map
// has, too.
func TestACallerThatLeavesDoesNotPartTheMapFromTheStore(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range mapkinds.LoadKinds {
		m := of(maptest.EngineOn(t, raw), maptest.CacheNamed(t, raw))
		require.NoError(t, m.Put(t.Context(), "l", 1))
		s := newBehindMap()
		s.all["l"] = 1
		ctx, leave := context.WithCancel(t.Context())
		w := New(m, func(ctx context.Context, changes []Change[string, int]) error {
			defer leave()
			return s.write(ctx, changes)
		})
		require.NoError(t, w.Put(ctx, "k", 1), kind)
		require.Equal(t, s.now(), mapkinds.Contents(t, m), kind)
		ctx, leaveAgain := context.WithCancel(t.Context())
		leave = leaveAgain
		_, err := w.Remove(ctx, "l")
		require.NoError(t, err, kind)
		require.Equal(t, s.now(), mapkinds.Contents(t, m), kind)
		maptest.NothingIsLeft(t, raw, m.Name())
	}
}
