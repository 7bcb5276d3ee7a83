package bitset

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
	s := New(e, "orders:1")
	const to = "orders:{orders:1}"
	for what, one := range effects {
		a5(t, user.Admin, s.Name())
		var err error
		switch what {
		case "and", "or": // whose other name the user may not use
			err = s.Or(t.Context(), s.Name())
		case "rename":
			_, err = s.Rename(t.Context(), to)
		case "copy":
			_, err = s.Copy(t.Context(), to)
		default:
			_, err = one.do(t.Context(), s)
		}
		require.NoError(t, err, what)
	}
	a5(t, user.Admin, s.Name())
	for what, one := range reads {
		_, err := one.do(t.Context(), s)
		require.NoError(t, err, what)
	}
	require.NoError(t, s.Check(t.Context()))
	user.NothingDenied(t)
}
