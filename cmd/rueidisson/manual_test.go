package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/manual"
)

func TestHelpOfCompletionAndMan(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"completion", "man"} {
		got := runHere(t, nil, command, "--help")
		assert.Zero(t, got.code)
		file := filepath.Join("testdata", "help", command+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got.out), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), got.out, "go test -update writes it anew")
	}
}

// TestMan: a page for each command, with its flags, and tables line by line.
func TestMan(t *testing.T) {
	t.Parallel()
	got := runHere(t, nil, "man", "latch", "await")
	require.Zero(t, got.code, got.errors)
	assert.Contains(t, got.out, `.TH "RUEIDISSON-LATCH-AWAIT" "1"`)
	assert.Contains(t, got.out, `\fB--armed\fP`)
	assert.Contains(t, got.out, "\n  75     not in time\n  128+N  signal N ended the wait\n")
	assert.Contains(t, got.out, `{"name", "count"}`)
	assert.NotContains(t, got.out, "```")
	assert.Contains(t, runHere(t, nil, "man").out, `.TH "RUEIDISSON" "1"`)

	dir := t.TempDir()
	require.Equal(t, said{}, runHere(t, nil, "man", "--dir", dir))
	var want []string
	require.NoError(t, manual.Each(cli.Tree(), func(cmd *cobra.Command) error {
		want = append(want, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		return nil
	}))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	assert.ElementsMatch(t, want, names)
	assert.Greater(t, len(want), 60)
	text, err := os.ReadFile(filepath.Join(dir, "rueidisson-latch-await.1"))
	require.NoError(t, err)
	assert.Equal(t, got.out, string(text))

	assert.Equal(t, exit.Usage, runHere(t, nil, "man", "nosuch").code)
	assert.Equal(t, exit.Usage, runHere(t, nil, "man", "latch", "nosuch").code)
	assert.Equal(t, exit.Usage, runHere(t, nil, "man", "latch", "--dir", dir).code)
	assert.Equal(t, exit.Usage, runHere(t, nil, "man", "--dir", filepath.Join(dir, "nosuch")).code)
}
