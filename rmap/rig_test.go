package rmap

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// engineOn is an engine on a client that somebody else closes.
func engineOn(t testing.TB, c rueidis.Client, change ...func(*core.Config)) *locking.Engine {
	t.Helper()
	return enginetest.On(t, c, change...)
}

// miniredisClient is a client of an embedded server of this test.
func miniredisClient(t testing.TB) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(redistest.Miniredis(t).ClientOption())
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// onReal runs a test on every real server, at the same time.
func onReal(t *testing.T, test func(t *testing.T, raw rueidis.Client)) {
	t.Helper()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, redistest.Shared(t, redistest.Version(version)).Client(t))
		})
	}
}

// onServers runs a test on every kind of server, at the same time.
func onServers(t *testing.T, test func(t *testing.T, raw rueidis.Client)) {
	t.Helper()
	onReal(t, test)
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, miniredisClient(t))
	})
}

// named deletes what a test has under a name.
func named(t testing.TB, raw rueidis.Client) string {
	t.Helper()
	name := redistest.Name(t)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(name).Build()) })
	return name
}

// rounds is redistest.Count, a third of it everyday on the embedded server: there scripts are Go, which the race detector
// slows down most.
func rounds(t testing.TB, everyday, soak int) int {
	t.Helper()
	if onEmbedded(t) {
		everyday = (everyday + 2) / 3
	}
	return redistest.Count(t, everyday, soak)
}

// onEmbedded is whether onServers runs the test on the embedded server, where a script of a thousand steps takes a
// slow machine seconds.
func onEmbedded(t testing.TB) bool { return strings.Contains(t.Name(), "/miniredis") }

func textCodec() codec.Codec[string] { return textCodecOf[string]() }

func textCodecOf[T any]() codec.Codec[T] { return codec.For[T](codec.Text) }

var textFamily = codec.Text

// touching is what maps have whose entries may end.
type touching interface {
	Touch(ctx context.Context, k string, opts ...PutOption) (bool, error)
	TTL(ctx context.Context, k string) (time.Duration, error)
}
