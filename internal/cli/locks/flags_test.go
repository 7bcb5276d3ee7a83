package locks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/lock"
)

func TestWhatLockIsMeantIsSaidOnce(t *testing.T) {
	t.Parallel()
	of := func(c *rueidisson.Client, name string) lock.Locker { return c.Lock(name) }
	among := []lockFlag{{name: "fair", of: of}, {name: "read", of: of}, {name: "write", of: of}}
	choose := func(given ...string) (lockFlag, error) {
		return chosen(among, func(name string) bool { return strings.Contains(strings.Join(given, " "), name) })
	}
	kind, err := choose()
	require.NoError(t, err)
	assert.Empty(t, kind.name)
	assert.True(t, kind.export)
	kind, err = choose("read")
	require.NoError(t, err)
	assert.Equal(t, "read", kind.name)
	_, err = choose("write", "fair")
	assert.ErrorContains(t, err, "--fair and --write exclude each other")
}
