package timeseries

import (
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
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
		take := func() {
			for _, call := range r.Take() {
				call.Check(t)
				seen[call.Script] = true
			}
		}
		for what, one := range effects {
			if one.foreign == moves {
				continue
			}
			old(t, r, k.name)
			_, err := one.do(t.Context(), k)
			require.NoError(t, err, what)
			take()
			redistest.Do(t, r, "DEL", k.name, keys.SeriesEnds(k.name))
		}
		old(t, r, k.name)
		for what, one := range looks {
			_, err := one.do(t.Context(), k)
			require.NoError(t, err, what)
			take()
		}
		_ = swept{hubOf(e), k.name}.Visit()
		take()
		redistest.Do(t, r, "DEL", k.name, keys.SeriesEnds(k.name), keys.SweepLatch(k.name))
	}
	files, err := lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		body, err := scripts.Read(lua, path.Join("lua", file.Name()))
		require.NoError(t, err)
		assert.True(t, scripts.IsPart(body) || seen[file.Name()], "nobody calls %s", file.Name())
	}
}
