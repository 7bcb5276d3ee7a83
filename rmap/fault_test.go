package rmap

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var shortSends, through = enginetest.ShortSends, redistest.ThroughProxy

// effect is what an operation makes of a map {k: 5}, and what it answers.
type effect struct {
	sends  redistest.Match // that loses its reply
	ids    redistest.Match // with request ids
	do     func(ctx context.Context, m *Map[string, int]) (any, error)
	answer any
	left   map[string]int
}

var byCommand = redistest.MatchScript(commandScript.Body())

// effects is every write.
var effects = map[string]effect{
	"put": {redistest.Command("HSET"), byCommand, func(ctx context.Context, m *Map[string, int]) (any, error) {
		return nil, m.Put(ctx, "k", 6)
	}, nil, map[string]int{"k": 6}},
	"put many": {redistest.Command("HSET"), byCommand, func(ctx context.Context, m *Map[string, int]) (any, error) {
		return nil, m.PutMany(ctx, map[string]int{"k": 6, "l": 7})
	}, nil, map[string]int{"k": 6, "l": 7}},
	"remove": {redistest.Command("HDEL"), byCommand, func(ctx context.Context, m *Map[string, int]) (any, error) {
		return m.Remove(ctx, "k", "l")
	}, int64(1), map[string]int{}},
	"clear": {redistest.Command("UNLINK"), redistest.MatchScript(deleteScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		return nil, m.Clear(ctx)
	}, nil, map[string]int{}},
	"delete": {redistest.Command("UNLINK"), redistest.MatchScript(deleteScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		return m.Delete(ctx)
	}, true, map[string]int{}},
	"swap": {redistest.MatchScript(swapScript.Body()), redistest.MatchScript(swapScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		old, _, err := m.Swap(ctx, "k", 6)
		return old, err
	}, 5, map[string]int{"k": 6}},
	"take": {redistest.MatchScript(takeScript.Body()), redistest.MatchScript(takeScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		old, _, err := m.Take(ctx, "k")
		return old, err
	}, 5, map[string]int{}},
	"put if absent": {redistest.MatchScript(putIfAbsentScript.Body()), redistest.MatchScript(putIfAbsentScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		_, stored, err := m.PutIfAbsent(ctx, "l", 7)
		return stored, err
	}, true, map[string]int{"k": 5, "l": 7}},
	"replace": {redistest.MatchScript(replaceScript.Body()), redistest.MatchScript(replaceScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		return m.Replace(ctx, "k", 6)
	}, true, map[string]int{"k": 6}},
	"compare and swap": {redistest.MatchScript(changeScript.Body()), redistest.MatchScript(changeScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		return m.CompareAndSwap(ctx, "k", 5, 6)
	}, true, map[string]int{"k": 6}},
	"compare and remove": {redistest.MatchScript(changeScript.Body()), redistest.MatchScript(changeScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		return m.CompareAndRemove(ctx, "k", 5)
	}, true, map[string]int{}},
	"compute": {redistest.MatchScript(changeScript.Body()), redistest.MatchScript(changeScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		n, _, err := m.Compute(ctx, "k", increment)
		return n, err
	}, 6, map[string]int{"k": 6}},
	"add": {redistest.Command("HINCRBY"), redistest.MatchScript(addScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		return Add(ctx, m, "k", 2)
	}, 7, map[string]int{"k": 7}},
	"expire": {redistest.MatchScript(expireScript.Body()), redistest.MatchScript(expireScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		return m.Expire(ctx, time.Hour)
	}, true, map[string]int{"k": 5}},
	"rename": {redistest.MatchScript(renameScript.Body()), redistest.MatchScript(renameScript.Body()), func(ctx context.Context, m *Map[string, int]) (any, error) {
		return m.Rename(ctx, m.Name()+"-gone")
	}, true, map[string]int{}},
}

func entries(t *testing.T, m *Map[string, int]) map[string]int {
	t.Helper()
	all := map[string]int{}
	for entry, err := range m.All(t.Context()) {
		require.NoError(t, err)
		all[entry.Key] = entry.Value
	}
	return all
}

// TestALostReply drops the reply to each write once. Without a request id it was
// sent once, and says so; with one it is sent again, and was done once.
func TestALostReply(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for name, c := range effects {
		for _, ids := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: " with ids"}[ids], func(t *testing.T) {
				t.Parallel()
				client, proxy := through(t, server)
				key := named(t, raw)
				opts, sends := []MapOption{WithCodec(codec.Text)}, c.sends
				if ids {
					opts, sends = append(opts, WithRequestIDs()), c.ids
				}
				m := New[string, int](engineOn(t, client), key, opts...)
				look := New[string, int](engineOn(t, raw), key, WithCodec(codec.Text))
				require.NoError(t, look.Put(t.Context(), "k", 5))
				lost := proxy.DropReply(redistest.All(sends, redistest.Arg(key)), 1)
				answer, err := c.do(t.Context(), m)
				lost.Await(t)
				if ids {
					require.NoError(t, err)
					require.Equal(t, c.answer, answer)
				} else {
					require.ErrorIs(t, err, ErrOutcomeUnknown)
					require.ErrorContains(t, err, key)
				}
				require.Equal(t, c.left, entries(t, look))
				raw.Do(t.Context(), raw.B().Del().Key(key+"-gone").Build())
			})
		}
	}
}

// TestAReadIsSentAgain drops the reply to each read once.
func TestAReadIsSentAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for command, do := range map[string]func(ctx context.Context, m *Map[string, int]) error{
		"HGET":    func(ctx context.Context, m *Map[string, int]) error { _, _, err := m.Get(ctx, "k"); return err },
		"HMGET":   func(ctx context.Context, m *Map[string, int]) error { _, err := m.GetMany(ctx, "k", "l"); return err },
		"HEXISTS": func(ctx context.Context, m *Map[string, int]) error { _, err := m.Has(ctx, "k"); return err },
		"HLEN":    func(ctx context.Context, m *Map[string, int]) error { _, err := m.Len(ctx); return err },
		"EXISTS":  func(ctx context.Context, m *Map[string, int]) error { _, err := m.Exists(ctx); return err },
		"PTTL":    func(ctx context.Context, m *Map[string, int]) error { _, err := m.Remaining(ctx); return err },
		"EVALSHA": func(ctx context.Context, m *Map[string, int]) error {
			for _, err := range m.All(ctx) {
				return err
			}
			return nil
		},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			m := New[string, int](engineOn(t, client), named(t, client))
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
	for name, c := range map[string]effect{
		"what was done": effects["compare and swap"],
		"what was not": {ids: redistest.MatchScript(changeScript.Body()), answer: false, do: func(ctx context.Context, m *Map[string, int]) (any, error) {
			return m.CompareAndSwap(ctx, "k", 4, 9)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, proxy := through(t, server)
			key := named(t, raw)
			m := New[string, int](engineOn(t, client, shortSends), key, WithRequestIDs())
			look := New[string, int](engineOn(t, raw), key)
			require.NoError(t, look.Put(t.Context(), "k", 5))
			held := proxy.HoldRequest(redistest.All(c.ids, redistest.Arg(key)))
			answer, err := c.do(t.Context(), m)
			require.NoError(t, err)
			require.Equal(t, c.answer, answer)
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
	m := New[string, int](engineOn(t, raw), named(t, raw), WithRequestIDs())
	for i := range 100 {
		require.NoError(t, m.Put(t.Context(), "k", i))
	}
	require.Eventually(t, func() bool {
		left, err := raw.Do(context.Background(), raw.B().Keys().Pattern("rueidisson_map_done:{"+m.Name()+"}*").Build()).AsStrSlice()
		return err == nil && len(left) == 0
	}, soon, 5*time.Millisecond)
}
