package locking

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// A server without memory refuses the acquire of a waiter, which waits on: it
// is no answer to whether the lock is free.
func TestAWaitBearsAServerThatIsOutOfMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("maxmemory-policy", "noeviction"))
	c := server.Client(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true})
	require.NoError(t, err)
	e, err := New(t.Context(), client, core.Config{ClientID: "c", WatchdogTimeout: 30 * time.Second, Owned: true})
	require.NoError(t, err)
	defer Close(context.Background(), e)
	write := e.Redis.B().Set().Key("k").Value("v")
	full := func(bytes string) {
		require.NoError(t, c.Do(t.Context(), c.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", bytes).Build()).Error())
	}
	full("1")
	looked := make(chan error, 100)
	ended := make(chan error, 1)
	set := write.Build().Pin()
	go func() { // ends with the watch
		ended <- e.Watch(t.Context(), wait.Watch{
			Key: core.Key{Name: "k"}, Channels: []pubsub.Channel{e.Channel("ch")},
			Look: func(ctx context.Context) (time.Duration, bool, error) {
				err := e.Redis.Do(ctx, set).Error()
				looked <- err
				return -1, err == nil, err
			},
		})
	}()
	for range 3 {
		select {
		case err := <-looked:
			require.ErrorContains(t, err, "OOM")
		case err := <-ended:
			require.NoError(t, err, "the wait ended")
		}
	}
	full("0")
	require.NoError(t, <-ended)
}
