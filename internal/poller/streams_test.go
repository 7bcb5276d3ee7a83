package poller

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIDsAreComparedAsNumbers(t *testing.T) {
	t.Parallel()
	ids := []string{"0-0", "0-1", "2-0", "10-0", "10-2", "10-10", "18446744073709551615-1"}
	for i, a := range ids {
		for j, b := range ids {
			require.Equal(t, i < j, before(a, b), "%s %s", a, b)
		}
	}
}
