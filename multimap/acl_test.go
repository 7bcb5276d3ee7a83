package multimap

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user
// that docs/redis.md sets up, and asks the server what it denied.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md")
	e := engineOn(t, user.Client(t))
	for _, newOne := range kinds {
		for _, opts := range [][]Option{nil, {WithRequestIDs()}} {
			m := newOne(e, "orders:3", opts...)
			w := &multiWorld{t, rand.New(rand.NewPCG(1, 2)), m, "k", map[string][]string{}, map[string]int64{}, nil}
			for range 3 {
				for _, step := range multiSteps {
					step(t.Context(), w)
				}
			}
			for name, op := range multiOperations {
				require.NoError(t, op(t.Context(), m), name)
			}
			m.names.sweep(e)
			_, err := m.clear(t.Context(), "delete")
			require.NoError(t, err)
		}
	}
	user.NothingDenied(t)
}

// TestTheACLOfTheDocsServesNativeExpiry on a server that knows what it adds for it.
func TestTheACLOfTheDocsServesNativeExpiry(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t, redistest.Version("8.0")), "../docs/redis.md", "+hpexpire +hpexpireat +hpexpiretime +hpttl +hpersist")
	e := engineOn(t, user.Client(t))
	for _, newOne := range kinds {
		m := newOne(e, "orders:2", WithNativeExpiry())
		for name, op := range multiOperations {
			require.NoError(t, op(t.Context(), m), name)
		}
		_, err := m.clear(t.Context(), "delete")
		require.NoError(t, err)
	}
	user.NothingDenied(t)
}
