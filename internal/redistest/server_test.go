package redistest

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

func TestStartRunsEachVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"7.0": "redis_version:7.", "8.0": "redis_version:8.", "valkey-8.1": "valkey_version:8."} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Version(version))
			c := s.Client(t)
			text, err := c.Do(t.Context(), c.B().Info().Section("server").Build()).ToString()
			require.NoError(t, err)
			require.Contains(t, text, want)
		})
	}
}

// TestJSONLoadsTheModule into each version, in a server of its own; the shared server without it is another one.
func TestJSONLoadsTheModule(t *testing.T) {
	t.Parallel()
	OnReal(t, func(t *testing.T, raw rueidis.Client) {
		require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary("JSON.SET").Keys(Name(t)).Args("$", "1").Build()).Error())
	}, JSON())
	plain := Shared(t).Client(t)
	require.ErrorContains(t, plain.Do(t.Context(), plain.B().Arbitrary("JSON.GET").Keys(Name(t)).Build()).Error(), "unknown command")
}

func TestUnknownVersionIsAnError(t *testing.T) {
	t.Parallel()
	_, err := find("6.2")
	require.ErrorContains(t, err, "6.2")
}

func TestRestartKeepsPortAndPersistedData(t *testing.T) {
	t.Parallel()
	s := Start(t, Config("appendonly", "yes"), Config("appendfsync", "always"))
	addr, pid := s.Addr(), s.PID()
	_, err := s.ask("SET", "k", "v")
	require.NoError(t, err)

	s.Kill()
	require.Zero(t, s.PID())
	_, err = s.ask("PING")
	require.Error(t, err)

	s.Restart()
	require.Equal(t, addr, s.Addr())
	require.NotEqual(t, pid, s.PID())
	value, err := s.ask("GET", "k")
	require.NoError(t, err)
	require.Equal(t, "v", value)
}

func TestRestartWithoutPersistenceIsEmpty(t *testing.T) {
	t.Parallel()
	s := Start(t)
	_, err := s.ask("SET", "k", "v")
	require.NoError(t, err)
	s.Restart()
	value, err := s.ask("GET", "k")
	require.NoError(t, err)
	require.Nil(t, value)
}

func TestPausedServerIsSilentUntilResumed(t *testing.T) {
	t.Parallel()
	s := Start(t)
	c := s.Client(t)
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.Do(ctx, c.B().Ping().Build()).Error(), context.DeadlineExceeded)
	s.Resume()
	require.NoError(t, c.Do(t.Context(), c.B().Ping().Build()).Error())
}

func TestPausedServerCanBeKilled(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.Pause()
	s.Kill()
	require.Zero(t, s.PID())
}

func TestLaunchTakesAnotherPortWhenItsOwnIsTaken(t *testing.T) {
	t.Parallel()
	other := Start(t)
	tries := 0
	p, err := launch(need(t, "7.0"), t.TempDir(), func(int) ([]setting, error) {
		tries++
		if tries == 1 {
			return []setting{{"port", other.Addr()[len("127.0.0.1:"):]}}, nil
		}
		return nil, nil
	})
	require.NoError(t, err)
	t.Cleanup(p.kill)
	require.GreaterOrEqual(t, tries, 2) // somebody may take the next one as well
}

func TestLaunchReportsTheLogOfABrokenConfiguration(t *testing.T) {
	t.Parallel()
	_, err := launch(need(t, "7.0"), t.TempDir(), func(int) ([]setting, error) {
		return []setting{{"appendonly", "perhaps"}}, nil
	})
	require.ErrorIs(t, err, errExited)
}

func TestConnectionsAreThoseOfOthers(t *testing.T) {
	t.Parallel()
	s := Start(t)
	require.Zero(t, s.Connections(t))
	dial(t, s.Addr()).do("PING")
	require.Equal(t, 1, s.Connections(t))
	_, err := net.Dial("tcp", NobodyThere(t))
	require.Error(t, err)
}

func TestStatsCountCommands(t *testing.T) {
	t.Parallel()
	s := Start(t)
	_, err := s.ask("EVAL", "return redis.call('INCR', KEYS[1])", "1", "k")
	require.NoError(t, err)
	s.ResetStats()
	require.Zero(t, s.ScriptCalls(t))
	for range 2 {
		_, err = s.ask("EVAL", "return redis.call('INCR', KEYS[1])", "1", "k")
		require.NoError(t, err)
	}
	_, err = s.ask("EVALSHA", scriptSum("return redis.call('INCR', KEYS[1])"), "1", "k")
	require.NoError(t, err)
	require.EqualValues(t, 3, s.ScriptCalls(t))
	require.EqualValues(t, 1, s.CommandCalls(t, "EvalSha"))
	require.EqualValues(t, 4, s.CommandCalls(t, "evalsha", "incr"))
	require.GreaterOrEqual(t, s.CommandCalls(t), int64(6))

	s.FlushScripts()
	_, err = s.ask("EVALSHA", scriptSum("return redis.call('INCR', KEYS[1])"), "1", "k")
	require.ErrorContains(t, err, "NOSCRIPT")
}

func TestSharedServerIsOneAndCannotBeHarmed(t *testing.T) {
	t.Parallel()
	a, b := Shared(t), Shared(t)
	require.Equal(t, a.Addr(), b.Addr())
	spy := &errorSpy{TB: t}
	shared := &Server{t: spy, process: a.process, shared: true}
	for _, harm := range []func(){shared.Kill, shared.Pause, shared.Restart} {
		harm()
	}
	require.Equal(t, 3, spy.errors)
	_, err := a.ask("PING")
	require.NoError(t, err)
}

type errorSpy struct {
	testing.TB
	errors int
}

func (s *errorSpy) Errorf(string, ...any) { s.errors++ }

func TestNamesAreUniqueAndPlain(t *testing.T) {
	t.Parallel()
	t.Run("with {braces}/and: spaces", func(t *testing.T) {
		t.Parallel()
		a, b := Name(t), Name(t)
		require.NotEqual(t, a, b)
		require.False(t, strings.ContainsAny(a, "{}:/ "), a)
	})
}

func TestMiniredisExpiresInRealTime(t *testing.T) {
	t.Parallel()
	m := Miniredis(t)
	_, err := ask(m.Addr(), "SET", "k", "v")
	require.NoError(t, err)
	value, err := ask(m.Addr(), "GET", "k")
	require.NoError(t, err)
	require.Equal(t, "v", value)
	_, err = ask(m.Addr(), "PEXPIRE", "k", "60") // only now: the answer may take longer than that
	require.NoError(t, err)
	await(t, "expiry", func() error {
		value, err := ask(m.Addr(), "GET", "k")
		if err == nil && value != nil {
			return context.DeadlineExceeded
		}
		return err
	})
}
