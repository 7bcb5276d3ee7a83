package redistest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoServerOutlivesAKilledTestProcess(t *testing.T) {
	t.Parallel()
	c := StartChild(t, "server", "BINARY="+need(t, "8.0"), "DIR="+t.TempDir())
	addr := c.Await("127.0.0.1:")
	_, err := ask(addr, "PING")
	require.NoError(t, err)
	c.Kill()
	await(t, "the end of the server", func() error {
		if _, err := ask(addr, "PING"); err == nil {
			return errors.New("it still answers")
		}
		return nil
	})
}
