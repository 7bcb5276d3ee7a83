package sortedset

import (
	"errors"
	"path"
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
	k := kitOn(e, redistest.Name(t))
	look := func(what string, err error) {
		require.NoError(t, err, what)
		for _, call := range r.Take() {
			call.Check(t)
			assert.Equal(t, k.name, call.Keys[0])
			seen[call.Script] = true
		}
	}
	for what, one := range effects {
		old(t, r, k.name)
		r.Take()
		_, err := one.do(t.Context(), k)
		if one.lacks {
			require.ErrorIs(t, err, errors.ErrUnsupported, what)
			err = nil // of a script it was asked for all the same
		}
		look(what, err)
	}
	old(t, r, k.name)
	r.Take()
	for what, one := range reads {
		_, err := one.do(t.Context(), k)
		look(what, err)
	}
	files, err := lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		body, err := scripts.Read(lua, path.Join("lua", file.Name()))
		require.NoError(t, err)
		assert.True(t, scripts.IsPart(body) || seen[file.Name()], "nobody calls %s", file.Name())
	}
}
