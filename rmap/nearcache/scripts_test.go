package nearcache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// TestNearCallsPassWhatTheHeaderNames, of the scripts that near caches send.
func TestNearCallsPassWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	r := redistest.RecordScripts(t, redistest.Shared(t).Client(t))
	require.Equal(t, []string{"cleared.lua", "look.lua"}, maptest.ScriptsOf(t, "cleared", "look"))
	for _, one := range []*scripts.Script{mapstore.LookScript, mapstore.ClearedScript} {
		r.Learn(one.Body())
	}
	e := maptest.EngineOn(t, r)
	name := maptest.Named(t, r)
	n := New(rmap.New[string, int](e, name, rmap.WithAnnounce()), WithAnnounced())
	defer n.Close()
	_, _, err := n.Get(t.Context(), "k")
	require.NoError(t, err)
	calls := r.Take()
	require.Equal(t, []string{"look.lua"}, redistest.ScriptNames(calls)[:1])
	calls[0].Check(t)
	require.Len(t, calls[0].Keys, 3)
	require.Equal(t, name, calls[0].Keys[0])
	require.True(t, e.SameSlot(calls[0].Keys...), calls[0].Keys)
	(&announced{h: mapstore.HubOf(e), key: "{m}"}).release("0f") // nobody waits for it
	r.Await("cleared.lua")
}
