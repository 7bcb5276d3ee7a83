package lock_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	children := redistest.Children{}
	for _, of := range []redistest.Children{failClosedChildren, waitingChildren} {
		maps.Copy(children, of)
	}
	redistest.Main(m, children)
}

// open connects a client to addr and closes it when the test ends. It has a
// second for that if the watchdog timeout is short, which a busy machine may
// take longer for.
func open(t testing.TB, addr string, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	return connected(t, rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true}, opts...)
}

func connected(t testing.TB, option rueidis.ClientOption, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := redistest.Patient(func() (*rueidisson.Client, error) { return rueidisson.New(option, opts...) })
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
