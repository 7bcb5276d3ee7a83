package multimap

import (
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

var soon = redistest.Soon

// engineOn returns an engine on a client that somebody else closes.
var engineOn = enginetest.On

var onServers, named = redistest.OnServers, redistest.Named

var shortSends, through = enginetest.ShortSends, redistest.ThroughProxy

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

// textual is an option that all multimaps of texts take.
var textual = WithCodec(codec.Text)

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

func strOf(t testing.TB, raw rueidis.Client, cmd ...string) string {
	t.Helper()
	s, err := raw.Do(t.Context(), raw.B().Arbitrary(cmd[0]).Keys(cmd[1]).Args(cmd[2:]...).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "-"
	}
	require.NoError(t, err)
	return s
}
