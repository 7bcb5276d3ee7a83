package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestHelpOfSem(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"sem": {"sem", "--help"}}
	for _, command := range []string{"set", "acquire", "try", "release", "info", "rm"} {
		files["sem-"+command] = []string{"sem", command, "--help"}
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

func TestANumberBelowZeroIsNamed(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"sem set a -1":     "rueidisson: -1 is read as a flag; a number below 0 goes after --\nrueidisson: try: rueidisson sem set --help\n",
		"sem set a -1.5":   "rueidisson: -1.5 is read as a flag; a number below 0 goes after --\nrueidisson: try: rueidisson sem set --help\n",
		"sem set a -x":     "rueidisson: unknown shorthand flag: 'x' in -x\nrueidisson: try: rueidisson sem set --help\n",
		"sem set a --what": "rueidisson: unknown flag: --what\nrueidisson: try: rueidisson sem set --help\n",
	} {
		assert.Equal(t, said{code: exit.Usage, errors: want}, runHere(t, nil, strings.Fields(args)...), args)
	}
}

func TestSem(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	sem := func(args string) said {
		return runHere(t, []string{envRedis + "=" + server.URL()}, append([]string{"sem"}, strings.Fields(args)...)...)
	}
	for _, c := range []struct {
		args, out string
		code      int
	}{
		{"try a", "", exit.NoRate},
		{"release a", "", exit.NoRate},
		{"acquire a --wait 1s", "", exit.NoRate},
		{"info a", "", exit.Refused},
		{"set a 3", "3\n", 0},
		{"acquire a", "a: took 1\n", 0},
		{"acquire a 2 --wait 1m", "a: took 2\n", 0},
		{"try a", "", exit.NotAcquired},
		{"acquire a --wait 0", "", exit.NotAcquired},
		{"acquire a --wait 1s", "", exit.NotAcquired},
		{"release a 2", "a: released 2\n", 0},
		{"info a", "2\n", 0},
		{"info a --json", `{"name":"a","available":2}` + "\n", 0},
		{"try a 2 --json", `{"name":"a","taken":2}` + "\n", 0},
		{"release a --json", `{"name":"a","released":1}` + "\n", 0},
		{"set a 2 --json", `{"name":"a","available":2}` + "\n", 0},
		{"set a", "", exit.Usage},
		{"set a many", "", exit.Usage},
		{"set a -- -1", "", exit.Usage},
		{"try a 0", "", exit.Usage},
		{"try a b c", "", exit.Usage},
		{"try", "", exit.Usage},
		{"acquire a --wait -1s", "", exit.Usage},
		{"release a 2147483646", "", exit.Usage},
		{"take a", "", exit.Usage},
		{"", "", exit.Usage},
	} {
		got := sem(c.args)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.errors)
		require.Equal(t, c.out, got.out, c.args)
		require.Equal(t, c.code == 0 || c.code == exit.Refused, got.errors == "", "%s: %s", c.args, got.errors)
	}
	got := sem("try a 3 --json")
	var told struct {
		Error string
		Exit  int
	}
	require.NoError(t, json.Unmarshal([]byte(got.errors), &told))
	require.Equal(t, exit.NotAcquired, told.Exit)
	require.NotEmpty(t, told.Error)
}

// TestAWaitOfSemThatEndsHasTakenNothing: by the end of the context, as by a
// signal.
func TestAWaitOfSemThatEndsHasTakenNothing(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	env := []string{envRedis + "=" + server.URL()}
	require.Zero(t, runHere(t, env, "sem", "set", "a", "1").code)
	var out, errors strings.Builder
	require.NotZero(t, cli.Run(ctx, []string{"sem", "acquire", "a", "2"}, strings.NewReader(""), &out, &errors, env))
	require.Empty(t, out.String())
	require.Equal(t, "1\n", runHere(t, env, "sem", "info", "a").out)
}
