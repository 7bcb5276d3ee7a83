package rueidisson_test

import (
	"context"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

var pairs = flag.Int("pairs", 1, "TestPath: how many times Lock and Unlock are called")

// TestPath locks and unlocks, uncontended under a context that can end. scripts/path.sh counts by it which functions that
// runs.
func TestPath(t *testing.T) {
	l := waiterClient(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range *pairs {
		hold, err := l.Lock(ctx)
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(ctx))
	}
}
