package list

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestEveryCallPassesWhatTheHeaderNames also sees that all keys of a call are in one slot, and that each script is called.
func TestEveryCallPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	seen := map[string]bool{}
	for _, name := range []string{redistest.Name(t), "{u1}:" + redistest.Name(t)} {
		l := listOn(e, name)
		take := func() {
			for _, call := range r.Take() {
				call.Check(t)
				assert.Equal(t, name, call.Keys[0])
				seen[call.Script] = true
			}
		}
		for what, one := range effects {
			if what == "rename" || what == "copy" { // whose other name is of another slot
				continue
			}
			abac(t, r, name)
			r.Take()
			_, err := one.do(t.Context(), l)
			require.NoError(t, err, what)
			take()
		}
		for what, one := range reads {
			_, err := one.do(t.Context(), l)
			require.NoError(t, err, what)
			take()
		}
	}
	files, err := lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, seen[file.Name()], "nobody calls %s", file.Name())
	}
}
