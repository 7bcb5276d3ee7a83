package rmap

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// sends is what each operation sends without a request id, and with one, where
// that is a script.
var sends = map[string][2]string{
	"put": {"", "command.lua"}, "put many": {"", "command.lua"}, "swap": {"swap.lua", "swap.lua"}, "remove": {"", "command.lua"},
	"clear": {"", "delete.lua"}, "delete": {"", "delete.lua"}, "put if absent": {"put_if_absent.lua", "put_if_absent.lua"},
	"replace": {"replace.lua", "replace.lua"}, "take": {"take.lua", "take.lua"}, "compare and swap": {"change.lua", "change.lua"},
	"compare and remove": {"change.lua", "change.lua"}, "compute": {"change.lua", "change.lua"}, "add": {"", "add.lua"},
	"expire": {"expire.lua", "expire.lua"}, "persist": {"expire.lua", "expire.lua"}, "rename": {"rename.lua", "rename.lua"},
}

// TestEveryCallPassesWhatTheHeaderNames also sees that all keys of a call are in
// the slot of the map.
func TestEveryCallPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	r := redistest.RecordScripts(t, redistest.Shared(t, redistest.Version("8.0")).Client(t))
	for _, one := range []*scripts.Script{
		mapstore.CommandScript, mapstore.SwapScript, mapstore.TakeScript, mapstore.PutIfAbsentScript, mapstore.ReplaceScript, mapstore.ChangeScript, mapstore.AddScript, mapstore.RenameScript,
		mapstore.DeleteScript, mapstore.ExpireScript, mapstore.PutScript, mapstore.TouchScript, mapstore.TTLScript, fieldttl.Script, hashscan.Script, hashscan.ServerScript, mapstore.ShardsScript, mapstore.RemoveScript, mapstore.DropScript,
		mapstore.PutToldScript, mapstore.PeekScript, mapstore.ExpireEntriesScript, mapstore.CopyScript, send.SizeScript,
	} {
		r.Learn(one.Body())
	}
	e := maptest.EngineOn(t, r)
	var seen []string
	check := func(name, what string, n int) {
		t.Helper()
		calls := r.Take()
		if what == "" {
			require.Empty(t, calls)
			return
		}
		require.Equal(t, []string{what}, slices.Compact(redistest.ScriptNames(calls)), "again where the server did not know it")
		calls[0].Check(t)
		require.Len(t, calls[0].Keys, n, what)
		assert.Equal(t, name, calls[0].Keys[0])
		assert.True(t, e.SameSlot(calls[0].Keys...), calls[0].Keys)
		seen = append(seen, what)
	}
	for _, name := range []string{redistest.Name(t), "{u1}:" + redistest.Name(t)} {
		plain := New[string, int](e, name, WithCodec(codec.Text))
		ids := New[string, int](e, name, WithCodec(codec.Text), WithRequestIDs())
		for op, sent := range sends {
			n := 1
			if op == "rename" || op == "compute" { // which looks for a claim
				n = 2
			}
			mapstore.HubOf(e).Turns.Contests = [turn.Contests]turn.Contest{}
			require.NoError(t, operations[op](t.Context(), plain, "k", 1), op)
			check(name, sent[0], n)
			mapstore.HubOf(e).Turns.Contests = [turn.Contests]turn.Contest{}
			require.NoError(t, operations[op](t.Context(), ids, "k", 1), op)
			check(name, sent[1], n+1)
		}
		wide := map[string]string{}
		for i := range 100 {
			wide[strings.Repeat("k", i)] = strings.Repeat("v", 100) // so that it has pages
		}
		whole := New[string, int](e, name)
		_, err := whole.SizeInMemory(t.Context())
		require.NoError(t, err)
		check(name, "size.lua", 1)
		_, err = whole.Copy(t.Context(), keys.Prefix("new", name))
		require.NoError(t, err)
		check(name, "copy.lua", 2)
		long := New[string, string](e, name)
		require.NoError(t, long.PutMany(t.Context(), wide))
		for _, err := range long.All(t.Context(), WithPage(20)) {
			require.NoError(t, err)
		}
		require.Equal(t, []string{"scan.lua", "server.lua"}, slices.Compact(redistest.ScriptNames(r.Take())), "the first page, and behind each other one who the server is")
		seen = append(seen, "server.lua")
		for _, err := range long.All(t.Context()) {
			require.NoError(t, err)
		}
		check(name, "scan.lua", 1)
		_, err = long.Delete(t.Context())
		require.NoError(t, err)
		native := NewTTLMap[string, int](e, name, WithTTL(time.Minute))
		fieldttl.Of(e).Note(name, false)
		require.NoError(t, fieldttl.Of(e).Check(t.Context(), name))
		check(name, "expires.lua", 1)
		require.NoError(t, native.Put(t.Context(), "k", 1))
		check(name, "put.lua", 2)
		_, err = native.TTL(t.Context(), "k")
		require.NoError(t, err)
		check(name, "ttl.lua", 1)
		_, err = native.Touch(t.Context(), "k")
		require.NoError(t, err)
		check(name, "touch.lua", 2)
		_, _, err = native.Peek(t.Context(), "k")
		require.NoError(t, err)
		check(name, "peek.lua", 1)
		_, err = native.ExpireEntries(t.Context(), []string{"k", "l"}, time.Hour)
		require.NoError(t, err)
		check(name, "expire_entries.lua", 3)
		_, err = native.Remove(t.Context(), "l")
		require.NoError(t, err)
		check(name, "remove.lua", 1)
		_, err = native.Delete(t.Context())
		require.NoError(t, err)
		told := New[string, int](e, name, WithAnnounce())
		for script, write := range map[string]func() error{
			"put_told.lua": func() error { return told.Put(t.Context(), "k", 1) },
			"remove.lua":   func() error { _, err := told.Remove(t.Context(), "k"); return err },
			"drop.lua":     func() error { return told.Clear(t.Context()) },
		} {
			require.NoError(t, write())
			check(name, script, 2)
		}
		_, err = told.Delete(t.Context())
		require.NoError(t, err)
		check(name, "drop.lua", 2)
		sharded := NewSharded[string, int](e, name, 3, WithCodec(codec.Text))
		require.NoError(t, sharded.Put(t.Context(), "k", 1))
		check(name, "shards.lua", 1)
		_, err = sharded.Delete(t.Context())
		require.NoError(t, err)
		for _, name := range []string{name, keys.Prefix("new", name)} {
			_, err = New[string, int](e, name).Delete(t.Context())
			require.NoError(t, err)
		}
	}
	others := maptest.ScriptsOf(t, "load", "behind", "through", "look", "cleared") // which packages on top of this one call: they have such a test
	files, err := mapstore.Lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		body, err := scripts.Read(mapstore.Lua, path.Join("lua", file.Name()))
		require.NoError(t, err)
		assert.True(t, scripts.IsPart(body) || slices.Contains(seen, file.Name()) || slices.Contains(others, file.Name()), "nobody calls %s", file.Name())
	}
}
