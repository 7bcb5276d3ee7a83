package bucket

import (
	"io"
	"strings"
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
	raw := user.Client(t)
	e := enginetest.On(t, raw)
	k := kitOn(e, "orders:1")
	for what, one := range effects {
		old(t, user.Admin, k.name)
		if what == "rename" || what == "copy" {
			_, err := k.b.Rename(t.Context(), "orders:{orders:1}")
			require.NoError(t, err)
			_, err = New[string](e, "orders:{orders:1}").Copy(t.Context(), "orders:1")
			require.NoError(t, err)
			continue
		}
		_, err := one.do(t.Context(), k)
		require.NoError(t, err, what)
	}
	old(t, user.Admin, k.name)
	for what, one := range reads {
		_, err := one.do(t.Context(), k)
		require.NoError(t, err, what)
	}
	for range 100 { // some of them look for a claim
		_, _, err := k.b.Update(t.Context(), longer)
		require.NoError(t, err)
	}
	_, err := io.Copy(k.bytes.Writer(t.Context()), strings.NewReader("x"))
	require.NoError(t, err)
	require.NoError(t, k.b.Check(t.Context()))
	require.NoError(t, k.bytes.Check(t.Context()))
	require.NoError(t, k.many.Check(t.Context(), k.name))
	user.NothingDenied(t)
}
