package semaphore

import (
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

// permitSends is what each operation sends.
var permitSends = map[string][]string{
	"acquire": {"permit_acquire.lua", "permit_release.lua"}, "try acquire": {"permit_acquire.lua", "permit_release.lua"},
	"release by id": {"permit_exchange.lua"}, "set permits": {"permit_set.lua"}, "try set permits": {"permit_try_set.lua"},
	"add permits": {"permit_add.lua"}, "available": {"permit_look.lua"}, "delete": {"permit_delete.lua"}, "permits": {"permit_list.lua"},
	"acquire some": {"permit_exchange.lua", "permit_exchange.lua"}, "try acquire some": {"permit_exchange.lua", "permit_exchange.lua"},
	"adopt": {"permit_renew.lua"}, "extend by id": {"permit_renew.lua"},
}

func TestEveryCallAboutPermitsPassesWhatTheHeaderNames(t *testing.T) {
	t.Parallel()
	e, r := enginetest.Recorded(t)
	var seen []string
	check := func(name string, want []string) {
		calls := r.Take()
		require.Equal(t, want, redistest.ScriptNames(calls))
		for _, c := range calls {
			c.Check(t)
			for _, key := range c.Keys {
				assert.True(t, e.SameSlot(name, key))
			}
			seen = append(seen, c.Script)
		}
	}
	for _, name := range []string{"api", "{u1}:api", "a{b}c"} {
		s := NewPermits(e, name)
		for op, do := range permitOperations {
			require.NoError(t, s.SetPermits(t.Context(), 5))
			r.Take()
			err := do(t.Context(), s, 1)
			if byID(op) {
				require.ErrorIs(t, err, ErrLost)
			} else {
				require.NoError(t, err, op)
			}
			check(name, permitSends[op])
		}
		require.NoError(t, s.SetPermits(t.Context(), 5))
		p, err := s.TryAcquire(t.Context())
		require.NoError(t, err)
		r.Take()
		require.NoError(t, p.Extend(t.Context(), 1e12))
		check(name, []string{"permit_renew.lua"})
		_, err = s.of.GiveBack(t.Context(), p.ID())
		require.NoError(t, err)
		check(name, []string{"permit_bury.lua", "permit_release.lua"})
		require.ErrorIs(t, p.Release(t.Context()), ErrLost)
		r.Take()
	}
	files, err := lua.ReadDir("lua")
	require.NoError(t, err)
	for _, file := range files {
		body, err := scripts.Read(lua, path.Join("lua", file.Name()))
		require.NoError(t, err)
		if strings.HasPrefix(file.Name(), "permit_") && !scripts.IsPart(body) {
			assert.True(t, slices.Contains(seen, file.Name()), "nobody calls %s", file.Name())
		}
	}
}

func TestPermitKeysAreRedissons(t *testing.T) {
	t.Parallel()
	require.Equal(t, "{api}:timeout", keys.PermitLeases("api"))
	require.Equal(t, "{u1}:api:timeout", keys.PermitLeases("{u1}:api"))
	require.Equal(t, "rueidisson_label:{api}", keys.PermitLabels("api"))
}
