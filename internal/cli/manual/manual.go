package manual

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
)

const manLong = `man prints the manual page of a command, or of rueidisson without one, for man(1).
With --dir DIR it writes the pages of all commands into DIR, one a file: those are found
by man if DIR is the man1 of a folder of MANPATH.`

// Command writes the pages of the commands of a tree. Each page needs a tree of its own, which is rewritten for it.
func Command(t *tool.Tool, tree func() *cobra.Command, version string) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:                   "man [COMMAND]... [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Print or write manual pages",
		Long:                  manLong,
		Example: `  rueidisson man latch await | man -l -
  rueidisson man --dir /usr/local/share/man/man1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir != "" && len(args) > 0 {
				return exit.Usagef("--dir writes all pages: no COMMAND is needed")
			}
			if dir != "" {
				return Each(tree(), func(of *cobra.Command) error { return writeManual(of, version, dir) })
			}
			of, rest, err := tree().Find(args)
			if err != nil || len(rest) > 0 {
				return exit.Usagef("there is no command %q", strings.Join(args, " "))
			}
			return manual(of, version, t.Stdout)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages of all commands into `DIR`")
	return cmd
}

// Each calls do for all commands that have a page.
func Each(cmd *cobra.Command, do func(*cobra.Command) error) error {
	if cmd.Hidden || cmd.Name() == "help" {
		return nil
	}
	if err := do(cmd); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if err := Each(sub, do); err != nil {
			return err
		}
	}
	return nil
}

func writeManual(of *cobra.Command, version, dir string) error {
	f, err := os.Create(filepath.Join(dir, strings.ReplaceAll(of.CommandPath(), " ", "-")+".1"))
	if err != nil {
		return exit.Usagef("--dir: %w", err)
	}
	err = manual(of, version, f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// manual writes the page of a command. It rewrites the texts of the command.
func manual(of *cobra.Command, version string, to io.Writer) error {
	of.DisableAutoGenTag = true
	of.Long = Markdown(of.Long)
	return doc.GenMan(of, &doc.GenManHeader{
		Title: strings.ToUpper(strings.ReplaceAll(of.CommandPath(), " ", "-")), Section: "1",
		Source: "rueidisson " + version, Manual: "rueidisson",
	}, to)
}

// Markdown returns a text of the help as Markdown: lines that are indented stay as they are, and other ones are text.
func Markdown(text string) string {
	var b strings.Builder
	var fixed bool
	fence := func(now bool) {
		if fixed != now {
			fmt.Fprintln(&b, map[bool]string{true: "\n```text", false: "```\n"}[now])
		}
		fixed = now
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		indented := strings.HasPrefix(line, "  ")
		// An empty line between two that are indented is of the same block.
		inside := line == "" && fixed && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ")
		fence(indented || inside)
		if !fixed {
			line = Escape.Replace(line)
		}
		fmt.Fprintln(&b, line)
	}
	fence(false)
	return strings.TrimSpace(b.String())
}

// Escape has Markdown take a text as it is.
var Escape = func() *strings.Replacer {
	var pairs []string
	for _, c := range `\*_[]<>|#` + "`" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(slices.Clip(pairs)...)
}()
