package rmap

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// TestACopyOfARefusedChangeDoesNothing, however late it comes: the caller was told
// that there was something else.
func TestACopyOfARefusedChangeDoesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for kind, c := range map[string]struct {
		body string
		on   func(m *Map[string, int], c *Cache[string, int]) Mapping[string, int]
	}{
		"map":   {behindScript.Body(), func(m *Map[string, int], _ *Cache[string, int]) Mapping[string, int] { return m }},
		"cache": {mapcache.Behind.Body(), func(_ *Map[string, int], c *Cache[string, int]) Mapping[string, int] { return c }},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			name, e := cacheNamed(t, raw), engineOn(t, client, shortSends)
			m := c.on(New[string, int](e, name, WithRequestIDs()), NewCache[string, int](e, name, WithRequestIDs()))
			plain := engineOn(t, raw)
			look := c.on(New[string, int](plain, name), NewCache[string, int](plain, name))
			s := newBehindMap()
			w := NewWriting(m, s.write, ways["behind"]...)
			require.NoError(t, w.Put(t.Context(), "other", 1)) // so that the server knows the scripts
			require.NoError(t, look.Put(t.Context(), "k", 1))
			// It has read 1, and its first copy is held up; the second finds 2.
			held := proxy.HoldRequest(redistest.All(redistest.MatchScript(c.body), redistest.Arg("k")))
			tries := 0
			did := make(chan error, 1)
			go func() {
				_, _, err := w.Compute(context.Background(), "k", func(old int, had bool) (int, Verdict, error) {
					if tries++; tries == 1 {
						return 100, Store, nil
					}
					return 0, Keep, nil
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
			require.Equal(t, 1, contents(t, look)["k"])
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
	for kind, of := range loadKinds {
		m := of(engineOn(t, raw), cacheNamed(t, raw))
		require.NoError(t, m.Put(t.Context(), "l", 1))
		s := newBehindMap()
		s.all["l"] = 1
		ctx, leave := context.WithCancel(t.Context())
		w := NewWriting(m, func(ctx context.Context, changes []Change[string, int]) error {
			defer leave()
			return s.write(ctx, changes)
		})
		require.NoError(t, w.Put(ctx, "k", 1), kind)
		require.Equal(t, s.now(), contents(t, m), kind)
		ctx, leaveAgain := context.WithCancel(t.Context())
		leave = leaveAgain
		_, err := w.Remove(ctx, "l")
		require.NoError(t, err, kind)
		require.Equal(t, s.now(), contents(t, m), kind)
		nothingIsLeft(t, raw, m.Name())
	}
}
