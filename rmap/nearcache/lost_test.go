package nearcache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// announcing is the scripts of those writes that are others where near caches are
// told: without request ids, and with them.
var announcing = map[string][2]*scripts.Script{
	"put": {mapstore.PutToldScript, mapstore.PutScript}, "put many": {mapstore.PutToldScript, mapstore.PutScript}, "remove": {mapstore.RemoveScript, mapstore.RemoveScript},
	"clear": {mapstore.DropScript, mapstore.DropScript}, "delete": {mapstore.DropScript, mapstore.DropScript}, "add": {mapstore.AddScript, mapstore.AddScript},
}

// comesToBe waits until a near cache has of k what all has.
func comesToBe(t *testing.T, n *Cache[string, int], all map[string]int) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		v, there, err := n.Get(t.Context(), "k")
		want, has := all["k"]
		return err == nil && there == has && v == want
	}, maptest.Soon, time.Millisecond)
}

// TestALostReplyOfAnAnnouncedWrite drops the reply to each write once: what was done
// was told, to the near caches of its own process, too.
func TestALostReplyOfAnAnnouncedWrite(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for name, c := range mapkinds.Effects {
		for i, ids := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " with ids"}[ids], func(t *testing.T) {
				t.Parallel()
				client, proxy := maptest.Through(t, server)
				key := maptest.Named(t, raw)
				opts, sends := []rmap.MapOption{rmap.WithAnnounce(), rmap.WithValueCodec(maptest.TextCodecOf[int]())}, c.IDs
				if one, is := announcing[name]; is {
					sends = redistest.MatchScript(one[i].Body())
				}
				m := rmap.New[string, int](maptest.EngineOn(t, client), key, append(opts, map[bool][]rmap.MapOption{true: {rmap.WithRequestIDs()}}[ids]...)...)
				look := rmap.New[string, int](maptest.EngineOn(t, raw), key, opts...)
				require.NoError(t, look.Put(t.Context(), "k", 5))
				own, other := New(m, WithAnnounced()), New(look, WithAnnounced())
				defer own.Close()
				defer other.Close()
				hot(t, own, "k", 5)
				hot(t, other, "k", 5)
				lost := proxy.DropReply(redistest.All(sends, redistest.Arg(key)), 1)
				answer, err := c.Do(t.Context(), m)
				lost.Await(t)
				if ids {
					require.NoError(t, err)
					require.Equal(t, c.Answer, answer)
				} else {
					require.ErrorIs(t, err, ErrOutcomeUnknown)
				}
				require.Equal(t, c.Left, mapkinds.Contents(t, look))
				comesToBe(t, own, c.Left)
				comesToBe(t, other, c.Left)
				raw.Do(t.Context(), raw.B().Del().Key(key+"-gone").Build())
			})
		}
	}
}

// TestWhateverDisablesKeepsFromNearCaches, of what type it is.
func TestWhateverDisablesKeepsFromNearCaches(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := rmap.New[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), rmap.WithAnnounce())
	require.NoError(t, m.Put(t.Context(), "k", 5))
	disabled, _ := keys.NearDisabled(m.Name())
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(disabled).Value("x").Build()).Error())
	n := New(m, WithAnnounced())
	defer n.Close()
	for range 10 {
		v, there, err := n.Get(t.Context(), "k")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 5, v)
	}
	require.Zero(t, n.Stats().Hits)
	require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(disabled).Build()).Error())
	hot(t, n, "k", 5)
}
