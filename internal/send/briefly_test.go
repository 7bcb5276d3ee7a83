package send

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// counting is a client that counts what is sent.
type counting struct {
	rueidis.Client
	sent atomic.Int64
}

func (c *counting) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	c.sent.Add(1)
	return c.Client.Do(ctx, cmd)
}

// TestRunBrieflyTriesAFullServerTwice, and Run for as long as it sends again.
func TestRunBrieflyTriesAFullServerTwice(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("maxmemory-policy", "noeviction"))
	admin := server.Client(t)
	c := &counting{Client: server.Client(t)}
	e := on(t, c, func(c *core.Config) { c.WatchdogTimeout = 3 * time.Second })
	require.NoError(t, admin.Do(t.Context(), admin.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", "1").Build()).Error())
	set := scripts.NewCommand("SET", scripts.Safe)
	before := c.sent.Load()
	_, err := e.RunBriefly(t.Context(), set, []string{"k"}, []string{"v"})
	require.ErrorContains(t, err, "OOM")
	require.EqualValues(t, 2, c.sent.Load()-before)
	before = c.sent.Load()
	_, err = e.Run(t.Context(), set, []string{"k"}, []string{"v"})
	require.ErrorContains(t, err, "OOM")
	require.Greater(t, c.sent.Load()-before, int64(2))
}
