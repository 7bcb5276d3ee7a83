package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// eachCommand calls do with root and all commands below it.
func eachCommand(root *cobra.Command, do func(*cobra.Command)) {
	do(root)
	for _, sub := range root.Commands() {
		eachCommand(sub, do)
	}
}

// TestDurationFlagsAcceptSeconds: of all commands, as flock and timeout do.
func TestDurationFlagsAcceptSeconds(t *testing.T) {
	t.Parallel()
	flags := 0
	eachCommand(cli.Tree(), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "duration" {
				return
			}
			flags++
			for text, want := range map[string]string{"5": "5s", "1.5": "1.5s", ".5": "500ms", "0": "0s", "-2": "-2s", "5m": "5m0s", "250ms": "250ms"} {
				require.NoError(t, f.Value.Set(text), "%s --%s %s", cmd.CommandPath(), f.Name, text)
				assert.Equal(t, want, f.Value.String(), "%s --%s %s", cmd.CommandPath(), f.Name, text)
			}
			for _, bad := range []string{"", "soon", "5 s", "5e1", "1:30", "."} {
				assert.Error(t, f.Value.Set(bad), "%s --%s %q", cmd.CommandPath(), f.Name, bad)
			}
		})
	})
	assert.Greater(t, flags, 40)
}

func TestOtherDurationsAcceptSeconds(t *testing.T) {
	t.Parallel()
	env := []string{envRedis + "=" + rueidissontest.NewServer(t).URL()}
	got := runHere(t, env, "limit", "set", "l", "--rate", "10/60")
	assert.Contains(t, got.out, "l: 10/m burst 10\n", got.errors)
	require.Zero(t, runHere(t, env, "job", "add", "j", "a", "--dedup", "a=60").code)
	assert.Equal(t, exit.Refused, runHere(t, env, "job", "add", "j", "a", "--dedup", "a=60").code)
}

// TestConflictExitCode: a hold that was not acquired ends with the code of -E, and nothing else does.
func TestConflictExitCode(t *testing.T) {
	t.Parallel()
	s := rueidissontest.NewServer(t)
	c, env := s.NewClient(t), []string{envRedis + "=" + s.URL()}
	hold, err := c.Lock("x").Lock(t.Context())
	require.NoError(t, err)
	defer hold.Unlock(t.Context())
	term, err := c.Election("x-lead").Campaign(t.Context(), "v")
	require.NoError(t, err)
	defer term.Resign(t.Context())
	require.NoError(t, c.PermitSemaphore("x-permits").SetPermits(t.Context(), 1))
	permit, err := c.PermitSemaphore("x-permits").Acquire(t.Context())
	require.NoError(t, err)
	defer permit.Release(t.Context())
	for _, held := range [][]string{{"lock", "x"}, {"elect", "x-lead"}, {"permit", "run", "x-permits"}} {
		tried := func(more ...string) said { return runHere(t, env, append(append(held, "--wait", "0"), more...)...) }
		assert.Equal(t, exit.NotAcquired, tried("--", "true").code, held)
		assert.Equal(t, 3, tried("-E", "3", "--", "true").code, held)
		got := tried("--conflict-exit-code", "0", "--json", "--", "true")
		assert.Zero(t, got.code, held)
		assert.Contains(t, got.errors, `"outcome":"not_acquired","exit":0`, held)
		assert.Equal(t, exit.NotFound, tried("-E", "3", "--", "no-such-command-here").code, held)
	}
	assert.Equal(t, 7, runHere(t, env, "lock", "free", "-E", "3", "--", "sh", "-c", "exit 7").code)
	got := runHere(t, []string{envRedis + "=redis://127.0.0.1:1"}, "lock", "x", "--wait", "0", "-E", "3", "--", "true")
	assert.Equal(t, exit.Unavailable, got.code)
}
