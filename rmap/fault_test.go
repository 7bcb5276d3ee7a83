package rmap_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestALostReply drops the reply to each write once. Without a request id it was
// sent once, and says so; with one it is sent again, and was done once.
func TestALostReply(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for name, c := range mapkinds.Effects {
		for _, ids := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " with ids"}[ids], func(t *testing.T) {
				t.Parallel()
				client, proxy := maptest.Through(t, server)
				key := maptest.Named(t, raw)
				opts, sends := []rmap.MapOption{rmap.WithCodec(codec.Text)}, c.Sends
				if ids {
					opts, sends = append(opts, rmap.WithRequestIDs()), c.IDs
				}
				m := rmap.New[string, int](maptest.EngineOn(t, client), key, opts...)
				look := rmap.New[string, int](maptest.EngineOn(t, raw), key, rmap.WithCodec(codec.Text))
				require.NoError(t, look.Put(t.Context(), "k", 5))
				lost := proxy.DropReply(redistest.All(sends, redistest.Arg(key)), 1)
				answer, err := c.Do(t.Context(), m)
				lost.Await(t)
				if ids {
					require.NoError(t, err)
					require.Equal(t, c.Answer, answer)
				} else {
					require.ErrorIs(t, err, rmap.ErrOutcomeUnknown)
					require.ErrorContains(t, err, key)
				}
				require.Equal(t, c.Left, mapkinds.Contents(t, look))
				raw.Do(t.Context(), raw.B().Del().Key(key+"-gone").Build())
			})
		}
	}
}

// TestAReadIsSentAgain drops the reply to each read once.
func TestAReadIsSentAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for command, do := range map[string]func(ctx context.Context, m *rmap.Map[string, int]) error{
		"HGET": func(ctx context.Context, m *rmap.Map[string, int]) error { _, _, err := m.Get(ctx, "k"); return err },
		"HMGET": func(ctx context.Context, m *rmap.Map[string, int]) error {
			_, err := m.GetMany(ctx, "k", "l")
			return err
		},
		"HEXISTS": func(ctx context.Context, m *rmap.Map[string, int]) error { _, err := m.Has(ctx, "k"); return err },
		"HLEN":    func(ctx context.Context, m *rmap.Map[string, int]) error { _, err := m.Len(ctx); return err },
		"EXISTS":  func(ctx context.Context, m *rmap.Map[string, int]) error { _, err := m.Exists(ctx); return err },
		"PTTL":    func(ctx context.Context, m *rmap.Map[string, int]) error { _, err := m.Remaining(ctx); return err },
		"EVALSHA": func(ctx context.Context, m *rmap.Map[string, int]) error {
			for _, err := range m.All(ctx) {
				return err
			}
			return nil
		},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			m := rmap.New[string, int](maptest.EngineOn(t, client), maptest.Named(t, client))
			require.NoError(t, m.Put(t.Context(), "k", 5))
			lost := proxy.DropReply(redistest.All(redistest.Command(command), redistest.Arg(m.Name())), 1)
			require.NoError(t, do(t.Context(), m))
			lost.Await(t)
		})
	}
}

// TestACopyThatComesLateChangesNothing: the first send arrives when a second one
// has been answered, and somebody else has written.
func TestACopyThatComesLateChangesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for name, c := range map[string]mapkinds.Effect{
		"what was done": mapkinds.Effects["compare and swap"],
		"what was not": {IDs: redistest.MatchScript(mapstore.ChangeScript.Body()), Answer: false, Do: func(ctx context.Context, m mapkinds.Lossy) (any, error) {
			return m.CompareAndSwap(ctx, "k", 4, 9)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, proxy := maptest.Through(t, server)
			key := maptest.Named(t, raw)
			m := rmap.New[string, int](maptest.EngineOn(t, client, maptest.ShortSends), key, rmap.WithRequestIDs())
			look := rmap.New[string, int](maptest.EngineOn(t, raw), key)
			require.NoError(t, look.Put(t.Context(), "k", 5))
			held := proxy.HoldRequest(redistest.All(c.IDs, redistest.Arg(key)))
			answer, err := c.Do(t.Context(), m)
			require.NoError(t, err)
			require.Equal(t, c.Answer, answer)
			for _, before := range []int{5, 4} { // what it waits for
				require.NoError(t, look.Put(t.Context(), "k", before))
			}
			if name == "what was done" {
				require.NoError(t, look.Put(t.Context(), "k", 5))
			}
			held.Release()
			n, _, err := look.Get(t.Context(), "k")
			require.NoError(t, err)
			require.Contains(t, []int{4, 5}, n)
		})
	}
}

// TestWhatRemembersARequestGoes when its answer has come.
func TestWhatRemembersARequestGoes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	m := rmap.New[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), rmap.WithRequestIDs())
	for i := range 100 {
		require.NoError(t, m.Put(t.Context(), "k", i))
	}
	require.Eventually(t, func() bool {
		left, err := raw.Do(context.Background(), raw.B().Keys().Pattern("rueidisson_map_done:{"+m.Name()+"}*").Build()).AsStrSlice()
		return err == nil && len(left) == 0
	}, maptest.Soon, 5*time.Millisecond)
}

// TestAWriteThatCannotBeLoggedChangesNothing: the log of near caches is of another
// type.
func TestAWriteThatCannotBeLoggedChangesNothing(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for name, c := range mapkinds.Effects {
		switch name {
		case "clear", "delete", "expire", "rename":
			continue // which log nothing
		}
		for _, opts := range [][]rmap.MapOption{nil, {rmap.WithRequestIDs()}} {
			m := rmap.New[string, int](maptest.EngineOn(t, raw), maptest.Named(t, raw), append(opts, rmap.WithAnnounce(), rmap.WithValueCodec(maptest.TextCodecOf[int]()))...)
			require.NoError(t, m.Put(t.Context(), "k", 5))
			require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(keys.NearLog(m.Name())).Value("x").Build()).Error())
			_, err := c.Do(t.Context(), m)
			require.ErrorContains(t, err, "WRONGTYPE", name)
			require.NotErrorIs(t, err, rmap.ErrOutcomeUnknown, name)
			require.Equal(t, map[string]int{"k": 5}, mapkinds.Contents(t, m), name)
			require.NoError(t, raw.Do(t.Context(), raw.B().Del().Key(keys.NearLog(m.Name())).Build()).Error())
		}
	}
}

// TestALostReplyOfAShardedMap drops the reply to each write once.
func TestALostReplyOfAShardedMap(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for name, c := range mapkinds.Effects {
		switch name {
		case "delete", "expire", "rename": // which are about all shards
			continue
		}
		for _, ids := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ids %t", name, ids), func(t *testing.T) {
				t.Parallel()
				client, proxy := maptest.Through(t, server)
				sends, opts := c.Sends, []rmap.MapOption(nil)
				if ids {
					sends, opts = c.IDs, []rmap.MapOption{rmap.WithRequestIDs()}
				}
				m := rmap.NewSharded[string, int](maptest.EngineOn(t, client), maptest.Named(t, raw), 1, append(opts, rmap.WithCodec(codec.Text))...)
				look := rmap.NewSharded[string, int](maptest.EngineOn(t, raw), m.Name(), 1, rmap.WithCodec(codec.Text))
				require.NoError(t, look.Put(t.Context(), "k", 5))
				lost := proxy.DropReply(redistest.All(sends, redistest.Arg(keys.Shard(m.Name(), 0))), 1)
				answer, err := c.Do(t.Context(), m)
				lost.Await(t)
				if ids {
					require.NoError(t, err)
					require.Equal(t, c.Answer, answer)
				} else {
					require.ErrorIs(t, err, rmap.ErrOutcomeUnknown)
				}
				require.Equal(t, c.Left, mapkinds.Contents(t, look))
			})
		}
	}
}
