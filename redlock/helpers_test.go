package redlock_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Main(m, redistest.Children{"holder of a red lock": holdRedAndLook})
}

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

func connect(addr string, opts ...rueidisson.Option) (*rueidisson.Client, error) {
	return rueidisson.New(locktest.Single(addr), opts...)
}

// script matches the calls of a script of the reentrant lock for one name.
func script(t testing.TB, name, key string) redistest.Match {
	t.Helper()
	body, err := os.ReadFile("../lock/lua/" + name + ".lua")
	require.NoError(t, err)
	return redistest.All(redistest.MatchScript(string(body)), redistest.Arg(key))
}

// sent is what the client has said to the server, keep-alives apart.
func sent(p *redistest.Proxy) (commands []string) {
	for _, cmd := range p.Log() {
		if !strings.EqualFold(cmd[0], "PING") {
			commands = append(commands, strings.Join(cmd, " "))
		}
	}
	return commands
}
