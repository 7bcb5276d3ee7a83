package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// run does what args say and returns the exit code. ctx ends it: a wait at
// once, a command that runs under a lock as if the lock were lost.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	t := &tool{stdin: stdin, stdout: &output{to: stdout}, stderr: stderr, env: env}
	root := rootCommand(t)
	root.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the process
	root.SetIn(stdin)
	root.SetOut(t.stdout)
	root.SetErr(stderr)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completes(t, root)
	}
	at, err := root.ExecuteContextC(ctx)
	return finish(t, at, err)
}

// finish says what went wrong and returns the exit code.
func finish(t *tool, at *cobra.Command, err error) int {
	unsaid := t.stdout.failed()
	if err == nil && unsaid == nil {
		return 0
	}
	var end *ending
	switch said := errors.As(err, &end); {
	case unsaid != nil && (!said || end.code == exitRefused || end.code == exitUnavailable): // the answer is lost
		end = &ending{code: exitUnavailable, err: unsaid}
	case !said: // cobra's own: what was typed cannot be understood
		end = &ending{code: exitUsage, err: err}
	}
	if end.code == exitUnavailable && unsaid == nil {
		end = &ending{code: end.code, err: t.naming(end.err), report: end.report}
	}
	switch {
	case end.err == nil && end.report == nil: // all was said
	case t.json:
		t.sayJSON(t.stderr, end.json())
	case end.err != nil:
		t.say("%v", end.err)
	}
	if end.code == exitUsage && !t.json {
		t.say("try: %s --help", at.CommandPath())
	}
	return end.code
}

const rootLong = `rueidisson works with the locks that Go services share through rueidisson, and
Java services through Redisson, on one Redis or Valkey; with the rate limits, the
semaphores, latches, maps, queues and topics of both; with barriers and elections; and
with queues of jobs.

ls shows names of semaphores, permits, latches, barriers, elections, streams and
multimaps; of a map, a queue and a queue of jobs it shows what is inside. No command
lists locks, maps or queues: "rueidisson inspect NAME" knows the kind of each.

Flags may stand before the command or after NAME. A duration D is a number with a unit,
such as 500ms, 1.5s, 2m or 1h30m. A number alone is in seconds.

Environment:
  RUEIDISSON_REDIS          the server, where --redis is not given
  RUEIDISSON_PASSWORD       its password, where the URL has none
  RUEIDISSON_PASSWORD_FILE, RUEIDISSON_CACERT, RUEIDISSON_CERT, RUEIDISSON_KEY,
  RUEIDISSON_INSECURE       defaults of --password-file, --cacert, --cert, --key and
                            --insecure
A password in the arguments is seen by all users of this machine: a variable or a file
is better. A CMD that the tool starts gets these variables, also the name of the password's file,
but no password. With --export-password it gets RUEIDISSON_PASSWORD, too.

Exit codes:
  0    done
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; standard output cannot be written
  see "rueidisson lock --help" and "rueidisson limit --help" for those of theirs`

// commandTree returns the tree of all commands, for those who read it.
func commandTree() *cobra.Command { return rootCommand(&tool{}) }

// rootCommand returns the tree of all commands.
func rootCommand(t *tool) *cobra.Command {
	root := &cobra.Command{
		Use:           "rueidisson",
		Short:         "Locks, rate limits, semaphores, latches, maps, queues, topics and jobs that a fleet shares, from the shell",
		Long:          rootLong,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true // completionCommand is in its place
	root.SetFlagErrorFunc(badFlag)
	t.addFlags(root.PersistentFlags(), t.env)
	root.PersistentFlags().BoolVar(&t.json, "json", false, "results and errors as JSON, one object in a line")
	for _, commands := range []func(*tool) []*cobra.Command{
		inspectCommands, lockCommands, limitCommands, synchronizerCommands, mapCommands, queueCommands, topicCommands, jobCommands,
	} {
		root.AddCommand(commands(t)...)
	}
	root.AddCommand(versionCommand(t), completionCommand(t), manCommand(t, commandTree, version()))
	acceptSeconds(root)
	suggestOtherWords(root)
	letSwitchesStandFirst(root, slices.Concat([]string{"embedded", "export", "export-password", "redisson", "native", "cache", "sharded", "pattern", "bounded", "delayed", "all", "set"}, lockFlagNames(), limitSwitches, jobSwitches))
	return root
}
