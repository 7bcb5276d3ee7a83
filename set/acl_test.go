package set

import (
	"context"
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
	for kind, of := range kinds {
		k := kitOn(e, "orders:"+kind)
		k.to = "orders:{orders:" + kind + "}"
		for what, one := range of.effects {
			of.old(t, user.Admin, k.name)
			_, err := one.do(t.Context(), k)
			require.NoError(t, err, what)
			redistest.Do(t, user.Admin, "DEL", k.name, k.to)
		}
		of.old(t, user.Admin, k.name)
		for what, one := range of.looks {
			_, err := one.do(t.Context(), k)
			require.NoError(t, err, what)
		}
		if kind == "set" {
			require.NoError(t, k.s.Check(t.Context()))
			continue
		}
		require.NoError(t, k.c.Check(t.Context()))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for v, err := range k.c.Expired(ctx) {
			require.NoError(t, err)
			require.Equal(t, "over", v)
			break
		}
	}
	user.NothingDenied(t)
}
