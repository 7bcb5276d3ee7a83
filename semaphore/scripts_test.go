package semaphore

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
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
	"crowd": "move.lua", "acquire": "take.lua", "try acquire": "take.lua", "release": "give.lua", "release for a request": "give_once.lua", "set permits": "set.lua",
	"try set permits": "try_set.lua", "add permits": "add.lua", "drain": "drain.lua", "available": "look.lua", "delete": "delete.lua",
}

func TestEveryCallPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	seen := []string{"settle.lua"} // a cleanup task, which fault_test.go looks at
	for _, name := range []string{"api", "{u1}:api", "a{b}c"} {
		s := New(e, name)
		all := maps.Clone(operations)
		all["crowd"] = func(_ context.Context, s *Semaphore, n int64) error {
			return s.h.send(s.of.key, 0, batch{{Ask: ask{of: s.of, kind: take, n: n}}, {Ask: ask{of: s.of, kind: give, n: n}}})
		}
		for op, do := range all {
			require.NoError(t, s.SetPermits(t.Context(), 5))
			r.Take()
			require.NoError(t, do(t.Context(), s, 1), op)
			calls := r.Take()
			require.Equal(t, []string{sends[op]}, redistest.ScriptNames(calls), op)
			calls[0].Check(t)
			assert.Equal(t, name, calls[0].Keys[0], "KEYS[1] is the number of permits")
			for _, key := range calls[0].Keys[1:] {
				request := op == "release for a request" && key == keys.CallerRequest(name, "r")
				assert.True(t, request || key == s.of.set || strings.HasPrefix(key, s.of.lane+":"), "KEYS[2] is a lane: %q", key)
				assert.True(t, e.SameSlot(name, key))
			}
			seen = append(seen, calls[0].Script)
		}
		idle, err := New(e, name, WithFleetOrder()).order.idle(t.Context())
		require.NoError(t, err)
		require.True(t, idle)
		calls := r.Take()
		require.Equal(t, []string{"order.lua"}, redistest.ScriptNames(calls))
		calls[0].Check(t)
		assert.Equal(t, []string{keys.SemaphoreOrder(name), keys.FairQueue(keys.SemaphoreOrder(name))}, calls[0].Keys)
		assert.True(t, e.SameSlot(append(calls[0].Keys, name)...))
		seen = append(seen, calls[0].Script)
	}
	files, err := lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		body, err := scripts.Read(lua, path.Join("lua", file.Name()))
		require.NoError(t, err)
		permits := strings.HasPrefix(file.Name(), "permit_") // for which there is a test beside this one
		assert.True(t, permits || scripts.IsPart(body) || slices.Contains(seen, file.Name()), "nobody calls %s", file.Name())
	}
}
