package redistest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// verdictSpy notes how a test would have ended.
type verdictSpy struct {
	testing.TB
	verdict string
}

func (s *verdictSpy) Skipf(string, ...any)  { s.verdict = "skip" }
func (s *verdictSpy) Fatalf(string, ...any) { s.verdict = "fail" }
func (s *verdictSpy) Fatal(...any)          { s.verdict = "fail" }

func TestMissingServer(t *testing.T) {
	missing := func(name string, want string, env ...string) {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("PATH", t.TempDir())
			t.Setenv("REDIS_SERVER_7", "")
			t.Setenv("RUEIDISSON_REQUIRE_SERVERS", "")
			t.Setenv(env[0], env[1])
			spy := &verdictSpy{TB: t}
			require.Empty(t, need(spy, "7.0"))
			require.Equal(t, want, spy.verdict)
			require.Error(t, Missing("7.0"))
		})
	}
	missing("skips", "skip", "RUEIDISSON_REQUIRE_SERVERS", "0")
	missing("fails where servers are required", "fail", "RUEIDISSON_REQUIRE_SERVERS", "1")
	missing("fails where a variable names nothing", "fail", "REDIS_SERVER_7", "/no/such/server")
}

func TestMissingModule(t *testing.T) {
	server := need(t, "7.0")
	for required, want := range map[string]string{"0": "skip", "1": "fail"} {
		t.Run(want, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("REDIS_SERVER_7", server)
			t.Setenv("REJSON_MODULE", "")
			t.Setenv("RUEIDISSON_REQUIRE_SERVERS", required)
			spy := &verdictSpy{TB: t}
			require.Empty(t, options{json: true}.need(spy, "7.0"))
			require.Equal(t, want, spy.verdict)
			require.Equal(t, server, options{}.need(t, "7.0"))
		})
	}
}

func TestVariableThatNamesNoModule(t *testing.T) {
	server := need(t, "7.0")
	t.Setenv("REDIS_SERVER_7", server)
	t.Setenv("REJSON_MODULE", "no/such/module.so")
	spy := &verdictSpy{TB: t}
	require.False(t, NeedJSON(spy))
	require.Equal(t, "fail", spy.verdict)
	require.True(t, filepath.IsAbs(findJSON()), "a server has another directory")
}

func TestVariableNamesTheServer(t *testing.T) {
	t.Setenv("REDIS_SERVER_8", "/bin/sh")
	require.Equal(t, "/bin/sh", need(t, "8.0"))
	require.NoError(t, Missing("8.0"))
	require.ErrorContains(t, Missing("8.0", "1.0"), "unknown version")
}
