package list

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
	raw := user.Client(t)
	e := enginetest.On(t, raw)
	l := listOn(e, "orders:1")
	const to = "orders:{orders:1}"
	for what, one := range effects {
		abac(t, user.Admin, l.Name())
		var err error
		switch what {
		case "rename":
			_, err = l.Rename(t.Context(), to)
		case "copy":
			_, err = l.Copy(t.Context(), to)
		default:
			_, err = one.do(t.Context(), l)
		}
		require.NoError(t, err, what)
	}
	abac(t, user.Admin, l.Name())
	for what, one := range reads {
		_, err := one.do(t.Context(), l)
		require.NoError(t, err, what)
	}
	require.NoError(t, l.Check(t.Context()))
	user.NothingDenied(t)
}
