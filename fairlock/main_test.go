package fairlock_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Main(m, fleetChildren, faultChildren, crowdChildren, namesChildren)
}

// open connects a client to addr and closes it when the test ends.
func open(t testing.TB, addr string, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	option := rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true}
	c, err := rueidisson.New(option, opts...)
	for range 5 { // a busy machine
		if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
			break
		}
		c, err = rueidisson.New(option, opts...)
	}
	require.NoError(t, err)
	t.Cleanup(func() { closeClient(c) })
	return c
}

// closeClient waits a moment for holders and leaves the rest to their leases.
func closeClient(c *rueidisson.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_ = c.Close(ctx)
}
