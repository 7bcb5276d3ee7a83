package sortedset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user
// that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	e := enginetest.On(t, user.Client(t))
	k := kitOn(e, "orders:1")
	others := map[string]bool{ // whose other name has to begin as those of the docs
		"unite": true, "intersect": true, "subtract": true, "copy a range": true, "rename": true, "rename if absent": true, "copy": true, "copy what is near": true, "copy what is near a member": true,
	}
	for what, one := range effects {
		if !others[what] {
			old(t, user.Admin, k.name)
			_, err := one.do(t.Context(), k)
			require.NoError(t, err, what)
		}
	}
	old(t, user.Admin, k.name)
	for what, one := range reads {
		_, err := one.do(t.Context(), k)
		require.NoError(t, err, what)
	}
	for what, do := range map[string]func() (any, error){
		"unite":     func() (any, error) { return some(k.s.UnionInto(t.Context(), "orders:{orders:1}", nil)) },
		"intersect": func() (any, error) { return some(k.s.InterInto(t.Context(), "orders:{orders:1}", nil)) },
		"subtract":  func() (any, error) { return some(k.s.DiffInto(t.Context(), "orders:{orders:1}", nil)) },
		"range":     func() (any, error) { return some(k.s.RangeInto(t.Context(), "orders:{orders:1}", 0, -1)) },
		"near":      func() (any, error) { return some(k.g.WithinInto(t.Context(), "orders:{orders:1}", at(1), Radius(1))) },
		"rename":    func() (any, error) { return some(k.s.Rename(t.Context(), "orders:{orders:1}")) },
		"copy":      func() (any, error) { return some(kitOn(e, "orders:{orders:1}").s.Copy(t.Context(), k.name)) },
	} {
		old(t, user.Admin, k.name)
		_, err := do()
		require.NoError(t, err, what)
	}
	require.NoError(t, k.s.Check(t.Context()))
	require.NoError(t, k.l.Check(t.Context()))
	require.NoError(t, k.g.Check(t.Context()))
	user.NothingDenied(t)
}
