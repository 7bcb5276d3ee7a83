package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/manual"
)

// TestHelpPageIsCurrent: docs/cli.md is what the commands say of themselves.
func TestHelpPageIsCurrent(t *testing.T) {
	t.Parallel()
	got := page(cli.Tree())
	file := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test ./cmd/rueidisson -run TestHelp -update writes it anew")
	for _, words := range []string{"## rueidisson latch await", "--armed", "| 75 |", "rueidisson latch await ready --armed"} {
		assert.Contains(t, got, words)
	}
}

// exitCodes are those of all commands. What a code means for a command is said there.
var exitCodes = [][2]string{
	{"0", "done"},
	{fmt.Sprint(exit.Refused), "an answer, not an error: absent key or member, empty queue, refused limit, nothing to remove, a job that failed for good under `--drain`"},
	{fmt.Sprint(exit.Usage), "the command line cannot be understood"},
	{fmt.Sprint(exit.Unavailable), "the server cannot be reached, or refuses; the name is another type; what cannot be decoded"},
	{fmt.Sprint(exit.NotAcquired), "not acquired, not in time, full"},
	{fmt.Sprint(exit.Lost), "lost: the lock, permit or job under CMD"},
	{fmt.Sprint(exit.NoRate), "not set up: no rate, no permits, no capacity, no filter"},
	{fmt.Sprintf("%d, %d", exit.NotExecutable, exit.NotFound), "CMD cannot be executed, or was not found"},
	{fmt.Sprintf("%d+N", exit.Signal), "signal N ended it"},
}

// page returns the page of all commands.
func page(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The command line tool\n\n<!-- Written by go test ./cmd/rueidisson -run TestHelp -update: change the commands instead. -->\n\n")
	fmt.Fprintf(&b, "    go install github.com/rueidisson/rueidisson/cmd/rueidisson@latest\n\n%s\n\n## Exit codes\n\n| code | meaning |\n| --- | --- |\n", manual.Markdown(root.Long))
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "| %s | %s |\n", c[0], c[1])
	}
	fmt.Fprintf(&b, "\n## Flags of all commands\n\n%s\n## Commands\n\n| command | what it does |\n| --- | --- |\n", flagTable(root.PersistentFlags()))
	_ = manual.Each(root, func(cmd *cobra.Command) error {
		if cmd != root {
			fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", cmd.CommandPath(), strings.ReplaceAll(cmd.CommandPath(), " ", "-"), manual.Escape.Replace(cmd.Short))
		}
		return nil
	})
	_ = manual.Each(root, func(cmd *cobra.Command) error {
		if cmd == root {
			return nil
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n", cmd.CommandPath(), manual.Escape.Replace(cmd.Short))
		if !cmd.HasSubCommands() {
			fmt.Fprintf(&b, "```text\n%s\n```\n\n", cmd.UseLine())
		}
		fmt.Fprintf(&b, "%s\n\n", manual.Markdown(cmd.Long))
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				own.AddFlag(f)
			}
		})
		if own.HasAvailableFlags() {
			fmt.Fprint(&b, flagTable(own), "\n")
		}
		if cmd.Example != "" {
			fmt.Fprintf(&b, "```sh\n%s\n```\n", unindent(cmd.Example))
		}
		return nil
	})
	return strings.TrimSpace(b.String()) + "\n"
}

func unindent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

func flagTable(flags *pflag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| flag | what it does |\n| --- | --- |\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, about := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		if !strings.Contains(about, "(default") && f.DefValue != "" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "false" && f.DefValue != "[]" {
			about += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), manual.Escape.Replace(about))
	})
	return b.String()
}
