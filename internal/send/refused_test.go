package send

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// A server that refuses has answered: the connection that everybody shares is
// not the one to blame, and a server that is full has no room for others.
func TestARefusalIsSentAgainOnTheSameConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("maxmemory-policy", "noeviction"))
	c := server.Client(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true})
	require.NoError(t, err)
	e := on(t, client, func(c *core.Config) { c.WatchdogTimeout, c.Owned = 30*time.Second, true })
	require.NoError(t, c.Do(t.Context(), c.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", "1").Build()).Error())
	before := server.Connections(t)
	set := scripts.NewCommand("SET", scripts.Safe)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond) // long before a reply counts as lost
	defer cancel()
	var calls sync.WaitGroup
	for range 300 {
		calls.Go(func() {
			_, err := e.Run(ctx, set, []string{"k"}, []string{"v"})
			assert.ErrorContains(t, err, "OOM")
		})
	}
	calls.Wait()
	require.Less(t, server.Connections(t), before+25)
}
