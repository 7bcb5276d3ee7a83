package main

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/embedded"
)

// inProcess runs a counter in this process; send is its standard input.
func inProcess(t *testing.T) (send *io.PipeWriter, heard *json.Decoder, result chan error) {
	in, send := io.Pipe()
	said, out := io.Pipe()
	result = make(chan error, 1)
	// Ends with its standard input.
	go func() {
		err := serve(in, out)
		out.Close()
		result <- err
	}()
	t.Cleanup(func() { send.Close(); said.Close() })
	return send, json.NewDecoder(said), result
}

func hear(t *testing.T, from *json.Decoder) (e event) {
	t.Helper()
	require.NoError(t, from.Decode(&e))
	return e
}

// Without a signal from the kernel, as on other systems than Linux, the end of
// its standard input is how a counter learns that it is alone.
func TestACounterEndsWithItsInput(t *testing.T) {
	s, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	send, heard, result := inProcess(t)
	require.NoError(t, json.NewEncoder(send).Encode(order{
		URL: s.URL(), Product: "p", Strategy: "lock", Buyers: 3, Think: time.Hour, Watchdog: watchdog, FreezeAt: 1,
	}))
	require.Equal(t, ready, hear(t, heard).Kind)
	stock(t, s, "p", 5)
	require.NoError(t, json.NewEncoder(send).Encode(goWord))
	require.Equal(t, holding, hear(t, heard).Kind)

	send.Close()
	for range 3 {
		require.Equal(t, failed, hear(t, heard).Kind)
	}
	require.Equal(t, done, hear(t, heard).Kind)
	require.NoError(t, <-result, "the lock was given back")
}

func stock(t *testing.T, s *embedded.Server, key string, n int) {
	t.Helper()
	redis, err := connect(s.URL())
	require.NoError(t, err)
	defer redis.Close()
	require.NoError(t, product{redis: redis, key: key}.offer(t.Context(), n))
}

func TestACounterSaysThatItCannotConnect(t *testing.T) {
	send, heard, result := inProcess(t)
	require.NoError(t, json.NewEncoder(send).Encode(order{URL: "redis://127.0.0.1:1", Strategy: "lock", Watchdog: watchdog}))
	e := hear(t, heard)
	assert.Equal(t, failed, e.Kind)
	assert.Contains(t, e.Err, "127.0.0.1:1")
	require.NoError(t, <-result)
}

func TestACounterWithoutAnOrder(t *testing.T) {
	send, _, result := inProcess(t)
	send.Close()
	require.Error(t, <-result)
}
