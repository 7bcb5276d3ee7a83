package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rueidissontest"
	"github.com/rueidisson/rueidisson/semaphore"
)

func TestHelpOfPermit(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"permit": {"permit", "--help"}}
	for _, command := range []string{"set", "run", "release", "info", "rm"} {
		files["permit-"+command] = []string{"permit", command, "--help"}
	}
	for name, args := range files {
		got := runHere(t, nil, args...)
		assert.Zero(t, got.code)
		file := filepath.Join("testdata", "help", name+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got.out), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), got.out, "go test -update writes it anew")
	}
}

func TestPermit(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	permit := func(args string) said {
		return runHere(t, env, append([]string{"permit"}, strings.Fields(args)...)...)
	}
	const nobody = "00112233445566778899aabbccddeeff"
	for _, c := range []struct {
		args, out string
		code      int
	}{
		{"release a " + nobody, "", exit.NoRate},
		{"run a --wait 3s -- true", "", exit.NoRate},
		{"info a", "", exit.Refused},
		{"set a 2", "2\n", 0},
		{"info a", "2\n", 0},
		{"info a --json", `{"name":"a","available":2,"permits":[]}` + "\n", 0},
		{"set a 3 --json", `{"name":"a","permits":3}` + "\n", 0},
		{"release a " + nobody, "", exit.Lost},
		{"release a 1", "", exit.Usage},
		{"release a", "", exit.Usage},
		{"set a", "", exit.Usage},
		{"set a many", "", exit.Usage},
		{"set a -- -1", "", exit.Usage},
		{"run a --wait -1s -- true", "", exit.Usage},
		{"run a --lease 1ms -- true", "", exit.Usage},
		{"run a", "", exit.Usage},
		{"run a -- no-such-program", "", exit.NotFound},
		{"take a", "", exit.Usage},
		{"", "", exit.Usage},
	} {
		got := permit(c.args)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.errors)
		require.Equal(t, c.out, got.out, c.args)
		require.Equal(t, c.code == 0 || c.code == exit.Refused, got.errors == "", "%s: %s", c.args, got.errors)
	}
}

func TestAPermitUnderACommand(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	c := server.NewClient(t)
	s := c.PermitSemaphore("a")
	require.NoError(t, s.SetPermits(t.Context(), 1))
	got := runHere(t, env, "permit", "run", "a", "--", "sh", "-c", "echo $RUEIDISSON_PERMIT $RUEIDISSON_LOCK; exit 3")
	require.Equal(t, 3, got.code, got.errors)
	require.Len(t, strings.TrimSpace(got.out), 32)
	free, err := s.Available(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, free)

	p, err := s.Acquire(t.Context(), semaphore.WithLease(time.Hour))
	require.NoError(t, err)
	require.Equal(t, exit.NotAcquired, runHere(t, env, "permit", "run", "a", "--wait", "0", "--", "true").code)
	var info struct {
		Available int64
		Permits   []permitFoundJSON
	}
	require.NoError(t, json.Unmarshal([]byte(runHere(t, env, "permit", "info", "a", "--json").out), &info))
	require.Zero(t, info.Available)
	require.Equal(t, p.ID(), info.Permits[0].ID)
	require.False(t, info.Permits[0].Own)
	require.Contains(t, runHere(t, env, "permit", "info", "a").out, p.ID())
	require.Equal(t, exit.Unavailable, runHere(t, env, "sem", "info", "a").code, "it is none of mere numbers")
	require.Equal(t, exit.Unavailable, runHere(t, env, "sem", "set", "a", "4").code)
	require.Zero(t, runHere(t, env, "permit", "release", "a", p.ID()).code)
	require.Equal(t, said{code: exit.Lost, errors: `rueidisson: nobody holds a permit of "a" with the id ` + p.ID() + ": it was given back, or its lease ended\n"},
		runHere(t, env, "permit", "release", "a", p.ID()))
	require.ErrorIs(t, p.Release(t.Context()), semaphore.ErrLost)
	require.Equal(t, exit.Lost, runHere(t, env, "permit", "run", "a", "--lease", "300ms", "--grace", "0", "--", "sleep", "60").code)
}

// TestLabelOfAPermit: info shows it while the command runs.
func TestLabelOfAPermit(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	require.Zero(t, runHere(t, env, "permit", "set", "a", "2").code)
	end := filepath.Join(t.TempDir(), "end")
	done := make(chan said, 1)
	go func() { // ends with the file
		done <- runHere(t, env, "permit", "run", "a", "--label", "nightly\tjob", "--", "sh", "-c", "until [ -e "+end+" ]; do sleep 0.01; done")
	}()
	redistest.Eventually(t, func() bool {
		return strings.Contains(runHere(t, env, "permit", "info", "a").out, `  "nightly\tjob"`)
	}, redistest.Soon, 10*time.Millisecond)
	require.Contains(t, runHere(t, env, "permit", "info", "a", "--json").out, `"label":"nightly\tjob"`)
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	require.Zero(t, redistest.Done(t, done).code)
	require.Equal(t, "2\n", runHere(t, env, "permit", "info", "a").out)
	require.Equal(t, exit.Usage, runHere(t, env, "permit", "run", "a", "--label", strings.Repeat("x", 300), "--", "true").code)
}

// TestSemOfPermitsWithIDs: the commands of plain permits refuse the name, also when the
// leases of all permits have ended, and change nothing.
func TestSemOfPermitsWithIDs(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	s := server.NewClient(t).PermitSemaphore("a")
	require.NoError(t, s.SetPermits(t.Context(), 3))
	p, err := s.Acquire(t.Context(), semaphore.WithLease(200*time.Millisecond))
	require.NoError(t, err)
	refused := func() {
		t.Helper()
		for _, args := range []string{"set a 4", "acquire a", "acquire a --wait 0", "try a", "release a", "info a", "rm a"} {
			got := runHere(t, env, append([]string{"sem"}, strings.Fields(args)...)...)
			require.Equal(t, exit.Unavailable, got.code, "%s: %s%s", args, got.out, got.errors)
			require.Contains(t, got.errors, "permits with ids", args)
		}
	}
	refused()
	redistest.Done(t, p.Lost())
	redistest.Eventually(t, func() bool {
		free, err := s.Available(t.Context())
		return err == nil && free == 3
	}, redistest.Soon, time.Millisecond, "its lease ends")
	refused()
	free, err := s.Available(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, free)
}
