package topic

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestDurableRedriveEnds, though what it redrives is put aside again meanwhile.
func TestDurableRedriveEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		r := settling(t, raw, redistest.Name(t))
		d := r.Durable("billing")
		bury := func(n int) {
			for range n {
				redistest.Do(t, raw, "XADD", keys.StreamDead(r.of.key, "billing"), "*", "g", "1-1", "n", "1", "c", "", "=m", "a")
			}
		}
		bury(mostRedriven + 3)
		n, more, till, err := d.redriveSome(t.Context(), "+")
		require.NoError(t, err)
		require.EqualValues(t, mostRedriven, n)
		require.True(t, more)
		bury(mostRedriven)
		n, more, _, err = d.redriveSome(t.Context(), till)
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		require.False(t, more)
		require.Len(t, dead(t, d), mostRedriven)
		n, err = d.Redrive(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, mostRedriven, n)
		n, err = d.Redrive(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	})
}
