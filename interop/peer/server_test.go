//go:build interop

package peer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// server is a server of its own for a test, and a connection to it.
type server struct {
	rueidis.Client
	addr    string
	process *redistest.Server
}

func startServer(t *testing.T, opts ...redistest.Option) *server {
	t.Helper()
	s := redistest.Start(t, opts...)
	return &server{Client: s.Client(t), addr: s.Addr(), process: s}
}

// startCluster is a cluster of one node: enough for the other way to connect and the other messages.
func startCluster(t *testing.T) *server {
	s := startServer(t, redistest.Config("cluster-enabled", "yes"), redistest.Config("cluster-announce-ip", "127.0.0.1"))
	s.do(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	eventually(t, "the cluster serves", func() bool { return s.Do(t.Context(), s.B().Get().Key("x").Build()).Error() == rueidis.Nil })
	return s
}

func (s *server) do(t *testing.T, command ...string) rueidis.RedisResult {
	t.Helper()
	result := s.Do(t.Context(), s.B().Arbitrary(command...).Build())
	if err := result.Error(); err != nil {
		require.ErrorIs(t, err, rueidis.Nil, "%q", command)
	}
	return result
}

func (s *server) int(t *testing.T, command ...string) int64 {
	t.Helper()
	n, err := s.do(t, command...).AsInt64()
	require.NoError(t, err)
	return n
}

func (s *server) hash(t *testing.T, key string) map[string]string {
	t.Helper()
	fields, err := s.do(t, "HGETALL", key).AsStrMap()
	require.NoError(t, err)
	return fields
}

func (s *server) keys(t *testing.T) []string {
	t.Helper()
	keys, err := s.do(t, "KEYS", "*").AsStrSlice()
	require.NoError(t, err)
	return keys
}

// leftover is a key and what it has left, in milliseconds; -1 is no end.
type leftover struct {
	key, kind string
	left      int64
}

func (s *server) leftovers(t *testing.T) []leftover {
	t.Helper()
	var all []leftover
	for _, key := range s.keys(t) {
		kind, err := s.do(t, "TYPE", key).ToString()
		require.NoError(t, err)
		if left := s.int(t, "PTTL", key); left != -2 { // gone since
			all = append(all, leftover{key, kind, left})
		}
	}
	return all
}

// subscribers counts those of a channel, so that a test knows when a Java waiter listens.
func (s *server) subscribers(t *testing.T, command, channel string) int64 {
	t.Helper()
	pair, err := s.do(t, "PUBSUB", command, channel).ToArray()
	require.NoError(t, err)
	require.Len(t, pair, 2)
	n, err := pair[1].AsInt64()
	require.NoError(t, err)
	return n
}

// listen passes on the messages of a channel from the moment it returns.
func (s *server) listen(t *testing.T, channel string) <-chan string {
	messages := make(chan string, 16)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.Receive(ctx, s.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { messages <- m.Message })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	eventually(t, "we listen", func() bool { return s.subscribers(t, "NUMSUB", channel) == 1 })
	return messages
}

// eventually asks again and again for a state that no message announces.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !inTime(is) {
		t.Fatalf("not in time: %s", what)
	}
}

func inTime(is func() bool) bool {
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, fmt.Errorf("%s: no answer from Java", t.Name()))
	t.Cleanup(cancel)
	return ctx
}
