package enginetest

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Rig is what the tests of an object have in addition to it: its engine, and a client that looks at its keys.
type Rig struct {
	T   testing.TB
	Raw rueidis.Client
	E   *locking.Engine
}

// NewRig returns one whose engine is on the client that looks.
func NewRig(t testing.TB, raw rueidis.Client, change ...func(*core.Config)) Rig {
	t.Helper()
	return Rig{t, raw, On(t, raw, change...)}
}

// FaultyRig returns one whose engine is on a proxy, and whose client is not.
func FaultyRig(t testing.TB, change ...func(*core.Config)) (Rig, *redistest.Proxy) {
	t.Helper()
	server := redistest.Shared(t)
	through, proxy := redistest.ThroughProxy(t, server)
	return Rig{t, server.Client(t), On(t, through, change...)}, proxy
}

// Ask returns the answer to a command, which is no error.
func (r Rig) Ask(args ...string) rueidis.RedisMessage {
	r.T.Helper()
	return redistest.Do(r.T, r.Raw, args...)
}

// Number returns the answer to a command, which is a number or a text of one.
func (r Rig) Number(args ...string) int64 {
	r.T.Helper()
	msg := r.Ask(args...)
	n, err := msg.AsInt64()
	require.NoError(r.T, err)
	return n
}

// SentFor matches the calls of a script with that key among its keys and arguments.
func SentFor(s *scripts.Script, key string) redistest.Match {
	return redistest.All(redistest.MatchScript(s.Body()), redistest.Arg(key))
}
