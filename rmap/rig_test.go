package rmap

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// engineOn returns an engine on a client that somebody else closes.
var engineOn = enginetest.On

var onReal, onServers, named, miniredisClient = redistest.OnReal, redistest.OnServers, redistest.Named, redistest.MiniredisClient

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

// as returns options of one kind of map as those of another kind that takes all of them.
func as[To, From any](opts []From) []To {
	all := make([]To, len(opts))
	for i, o := range opts {
		all[i] = any(o).(To)
	}
	return all
}

// raws sends commands as another program would.
func raws(t testing.TB, raw rueidis.Client, cmds ...string) {
	t.Helper()
	for _, cmd := range cmds {
		words := strings.Fields(cmd)
		err := raw.Do(t.Context(), raw.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).Error()
		require.NoError(t, err, cmd)
	}
}

func intOf(t testing.TB, raw rueidis.Client, cmd, key string, args ...string) int64 {
	t.Helper()
	n, err := raw.Do(t.Context(), raw.B().Arbitrary(cmd).Keys(key).Args(args...).Build()).AsInt64()
	require.NoError(t, err)
	return n
}
