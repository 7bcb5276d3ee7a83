package latch

import (
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// sends is what each operation sends.
var sends = map[string]string{
	"try set count": "try_set.lua", "count down": "down.lua", "count down for a request": "down_once.lua", "count down once": "down.lua", "count": "look.lua", "await": "look.lua",
	"delete": "delete.lua",
}

func TestEveryCallPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	seen := []string{"arrive.lua", "leave.lua", "watch.lua", "keep.lua", "keep_waiting.lua", "keep_key.lua", "waiting.lua", "reset.lua", "forget.lua", "pass.lua", "depart.lua", "inside.lua"} // barrier_test.go
	for _, name := range []string{"ready", "all shards"} {
		l := New(e, name)
		lane := keys.Lane(name, e.ClientID) + ":0"
		for op, do := range operations {
			require.NoError(t, do(t.Context(), l), op)
			calls := r.Take()
			require.Equal(t, []string{sends[op]}, redistest.ScriptNames(calls), op)
			calls[0].Check(t)
			assert.Equal(t, map[string][]string{
				"down.lua":      {name, lane, l.of.opened, l.of.parties, l.of.armed},
				"delete.lua":    {name, lane, l.of.opened, l.of.parties, l.of.armed},
				"down_once.lua": {name, keys.CallerRequest(name, "r"), l.of.opened, l.of.parties, l.of.armed},
				"try_set.lua":   {name, lane, l.of.parties, l.of.armed}, "look.lua": {name, l.of.parties, l.of.opened, l.of.armed},
			}[sends[op]], calls[0].Keys)
			assert.True(t, e.SameSlot(append(calls[0].Keys, l.of.channel)...))
			seen = append(seen, calls[0].Script)
		}
	}
	files, err := lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		body, err := scripts.Read(lua, path.Join("lua", file.Name()))
		require.NoError(t, err)
		assert.True(t, scripts.IsPart(body) || slices.Contains(seen, file.Name()), "nobody calls %s", file.Name())
	}
}
