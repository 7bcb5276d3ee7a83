package stream

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestGroupMessageThatTheStreamHasDropped is lost, and nobody is told that it comes again or was put aside.
func TestGroupMessageThatTheStreamHasDropped(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		dropDead(t, raw, s)
		for _, how := range []func(m *Message[string, string]) error{
			func(m *Message[string, string]) error { return m.Nack(t.Context(), nil) },
			func(m *Message[string, string]) error { return m.Bury(t.Context(), nil) },
		} {
			id := add(t, s, "a")
			for m, err := range g.Messages(within(t), "c") {
				require.NoError(t, err)
				_, err = s.Remove(t.Context(), id)
				require.NoError(t, err)
				require.ErrorIs(t, how(m), ErrLost)
				break
			}
			require.Empty(t, all(t, g.Pending(t.Context())))
		}
		require.Empty(t, all(t, g.Dead(t.Context())))
	})
}

// TestGroupRedriveEnds, though what it redrives is put aside again meanwhile.
func TestGroupRedriveEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		s := texted(t, raw)
		g := made(t, s)
		dropDead(t, raw, s)
		id := add(t, s, "a")
		bury := func(n int) {
			for range n {
				redistest.Do(t, raw, "XADD", keys.StreamDead(g.s.Key, "g"), "*", "g", id, "n", "1", "c", "", "=v", "a")
			}
		}
		bury(mostEntries + 3)
		first, err := g.redriveSome(t.Context(), "-", "+")
		require.NoError(t, err)
		require.EqualValues(t, mostEntries, first.N)
		bury(mostEntries)
		second, err := g.redriveSome(t.Context(), first.Next, first.Till)
		require.NoError(t, err)
		require.EqualValues(t, 3, second.N)
		require.Empty(t, second.Next)
		n, err := g.Redrive(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, mostEntries, n)
		n, err = g.Redrive(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// TestGroupRedriveCountsOnce, though the reply is lost, and PurgeDead likewise.
func TestGroupRedriveCountsOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := through(t, server)
	s := texted(t, raw)
	made(t, s)
	dropDead(t, raw, s)
	g := New[string, string](engineOn(t, client), s.Name(), WithCodec(codec.Text)).Group("g")
	of, id := keys.StreamDead(s.q.Key, "g"), add(t, s, "a")
	for what, do := range map[string]func(context.Context) (int64, error){"redrive": g.Redrive, "purge": g.PurgeDead} {
		for range 3 {
			redistest.Do(t, raw, "XADD", of, "*", "g", id, "n", "1", "c", "", "=v", "a")
		}
		lost := proxy.DropReply(redistest.All(redistest.AnyScript(), redistest.Arg(of)), 1)
		n, err := do(t.Context())
		lost.Await(t)
		require.NoError(t, err, what)
		require.EqualValues(t, 3, n, what)
		require.Empty(t, all(t, g.Dead(t.Context())), what)
	}
}
