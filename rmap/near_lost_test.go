package rmap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// announcing is the scripts of those writes that are others where near caches are
// told: without request ids, and with them.
var announcing = map[string][2]*scripts.Script{
	"put": {putToldScript, putScript}, "put many": {putToldScript, putScript}, "remove": {removeScript, removeScript},
	"clear": {dropScript, dropScript}, "delete": {dropScript, dropScript}, "add": {addScript, addScript},
}

// comesToBe waits until a near cache has of k what all has.
func comesToBe(t *testing.T, n *Near[string, int], all map[string]int) {
	t.Helper()
	redistest.Eventually(t, func() bool {
		v, there, err := n.Get(t.Context(), "k")
		want, has := all["k"]
		return err == nil && there == has && v == want
	}, soon, time.Millisecond)
}

// TestALostReplyOfAnAnnouncedWrite drops the reply to each write once: what was done
// was told, to the near caches of its own process, too.
func TestALostReplyOfAnAnnouncedWrite(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for name, c := range effects {
		for i, ids := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " with ids"}[ids], func(t *testing.T) {
				t.Parallel()
				client, proxy := through(t, server)
				key := named(t, raw)
				opts, sends := []MapOption{WithAnnounce(), WithValueCodec(textCodecOf[int]())}, c.ids
				if one, is := announcing[name]; is {
					sends = redistest.MatchScript(one[i].Body())
				}
				m := New[string, int](engineOn(t, client), key, append(opts, map[bool][]MapOption{true: {WithRequestIDs()}}[ids]...)...)
				look := New[string, int](engineOn(t, raw), key, opts...)
				require.NoError(t, look.Put(t.Context(), "k", 5))
				own, other := NewNear(m, WithAnnounced()), NewNear(look, WithAnnounced())
				defer own.Close()
				defer other.Close()
				hot(t, own, "k", 5)
				hot(t, other, "k", 5)
				lost := proxy.DropReply(redistest.All(sends, redistest.Arg(key)), 1)
				answer, err := c.do(t.Context(), m)
				lost.Await(t)
				if ids {
					require.NoError(t, err)
					require.Equal(t, c.answer, answer)
				} else {
					require.ErrorIs(t, err, ErrOutcomeUnknown)
				}
				require.Equal(t, c.left, entries(t, look))
				comesToBe(t, own, c.left)
				comesToBe(t, other, c.left)
				raw.Do(t.Context(), raw.B().Del().Key(key+"-gone").Build())
			})
		}
	}
}

// TestAWriteThatCannotBeLoggedChangesNothing: the log of near caches is of another
// type.
func TestAWriteThatCannotBeLoggedChangesNothing(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for name, c := range effects {
		switch name {
		case "clear", "delete", "expire", "rename":
			continue // which log nothing
		}
		for _, opts := range [][]MapOption{nil, {WithRequestIDs()}} {
			m := New[string, int](engineOn(t, raw), named(t, raw), append(opts, WithAnnounce(), WithValueCodec(textCodecOf[int]()))...)
			require.NoError(t, m.Put(t.Context(), "k", 5))
			require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(keys.NearLog(m.Name())).Value("x").Build()).Error())
			_, err := c.do(t.Context(), m)
			require.ErrorContains(t, err, "WRONGTYPE", name)
			require.NotErrorIs(t, err, ErrOutcomeUnknown, name)
			require.Equal(t, map[string]int{"k": 5}, entries(t, m), name)
			require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(keys.NearLog(m.Name())).Build()).Error())
		}
	}
}

// TestWhateverDisablesKeepsFromNearCaches, of what type it is.
func TestWhateverDisablesKeepsFromNearCaches(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := New[string, int](engineOn(t, raw), named(t, raw), WithAnnounce())
	require.NoError(t, m.Put(t.Context(), "k", 5))
	disabled, _ := keys.NearDisabled(m.Name())
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(disabled).Value("x").Build()).Error())
	n := NewNear(m, WithAnnounced())
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

// TestALeaseOfAnotherTypeIsAnError of who would load, and of nobody else.
func TestALeaseOfAnotherTypeIsAnError(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range map[string]func(name string) string{
		"map":   func(name string) string { return keys.MapLoad(name, "5") },
		"cache": func(name string) string { return keys.MapLease(name) + "5" },
	} {
		l := NewLoading(loadKinds[kind](engineOn(t, raw), cacheNamed(t, raw)), quick)
		lease := of(l.Name())
		require.NoError(t, raw.Do(t.Context(), raw.B().Rpush().Key(lease).Element("x").Build()).Error())
		_, _, err := l.Get(t.Context(), "5")
		require.ErrorContains(t, err, "WRONGTYPE", kind)
		require.ErrorContains(t, err, l.Name(), kind)
		require.Zero(t, l.aboard("5"))
		require.NoError(t, l.Put(t.Context(), "5", 6))
		v, there, err := l.Get(t.Context(), "5")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 6, v)
		raw.Do(t.Context(), raw.B().Del().Key(lease).Build())
	}
}
