package bucket

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// TestEveryCallPassesWhatTheHeaderNames also sees that all keys of a call are in one slot, and that each script is called.
func TestEveryCallPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	seen := map[string]bool{}
	for _, name := range []string{redistest.Name(t), "{u1}:" + redistest.Name(t)} {
		k := kitOn(e, name)
		for what, one := range effects {
			if what == "rename" || what == "copy" { // whose other name is of another slot
				continue
			}
			old(t, r, name)
			r.Take()
			_, err := one.do(t.Context(), k)
			require.NoError(t, err, what)
			for _, call := range r.Take() {
				call.Check(t)
				assert.Equal(t, name, call.Keys[0])
				seen[call.Script] = true
			}
		}
		_, err := k.many.Get(t.Context(), name)
		require.NoError(t, err)
		for _, call := range r.Take() {
			call.Check(t)
			seen[call.Script] = true
		}
	}
	files, err := lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		body, err := scripts.Read(lua, path.Join("lua", file.Name()))
		require.NoError(t, err)
		json := strings.HasPrefix(file.Name(), "json_") // see TestJSONCallsPassWhatTheHeadersName
		assert.True(t, scripts.IsPart(body) || json || seen[file.Name()], "nobody calls %s", file.Name())
	}
}
