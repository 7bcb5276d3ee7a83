package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/collections"
	"github.com/rueidisson/rueidisson/internal/cli/completion"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/jobs"
	"github.com/rueidisson/rueidisson/internal/cli/limits"
	"github.com/rueidisson/rueidisson/internal/cli/locks"
	"github.com/rueidisson/rueidisson/internal/cli/manual"
	"github.com/rueidisson/rueidisson/internal/cli/maps"
	"github.com/rueidisson/rueidisson/internal/cli/queues"
	"github.com/rueidisson/rueidisson/internal/cli/synchronizers"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/topics"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
)

// Run does what args say and returns the exit code. ctx ends it: a wait at
// once, a command that runs under a lock as if the lock were lost.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	t := &tool.Tool{Stdin: stdin, Stdout: &tool.Output{To: stdout}, Stderr: stderr, Env: env}
	root := rootCommand(t)
	root.SetArgs(append([]string{}, args...)) // nil would mean the arguments of the process
	root.SetIn(stdin)
	root.SetOut(t.Stdout)
	root.SetErr(stderr)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completion.Register(t, root)
	}
	at, err := root.ExecuteContextC(ctx)
	return finish(t, at, err)
}

// finish says what went wrong and returns the exit code.
func finish(t *tool.Tool, at *cobra.Command, err error) int {
	unsaid := t.Stdout.Failed()
	if err == nil && unsaid == nil {
		return 0
	}
	var end *exit.Error
	switch said := errors.As(err, &end); {
	case unsaid != nil && (!said || end.Code == exit.Refused || end.Code == exit.Unavailable): // the answer is lost
		end = &exit.Error{Code: exit.Unavailable, Err: unsaid}
	case !said: // cobra's own: what was typed cannot be understood
		end = &exit.Error{Code: exit.Usage, Err: err}
	}
	if end.Code == exit.Unavailable && unsaid == nil {
		end = &exit.Error{Code: end.Code, Err: t.Naming(end.Err), Report: end.Report}
	}
	switch {
	case end.Err == nil && end.Report == nil: // all was said
	case t.JSON:
		t.SayJSON(t.Stderr, end.JSON())
	case end.Err != nil:
		t.Say("%v", end.Err)
	}
	if end.Code == exit.Usage && !t.JSON {
		t.Say("try: %s --help", at.CommandPath())
	}
	return end.Code
}

const rootLong = `rueidisson works with the locks that Go services share through rueidisson, and
Java services through Redisson, on one Redis or Valkey; with the rate limits, the
semaphores, latches, maps, queues, topics, counters, Bloom filters and sets of both; with
barriers and elections; with queues of jobs; and with all keys by a pattern.

ls shows names of semaphores, permits, latches, barriers, elections, streams and
multimaps; of a map, a queue, a set and a queue of jobs it shows what is inside. No command
lists locks, maps or queues: "rueidisson keys ls PATTERN" lists keys of any type, and
"rueidisson inspect NAME" knows the kinds of many.

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

// Tree returns the tree of all commands, for those who read it.
func Tree() *cobra.Command { return rootCommand(&tool.Tool{}) }

// rootCommand returns the tree of all commands.
func rootCommand(t *tool.Tool) *cobra.Command {
	root := &cobra.Command{
		Use:           "rueidisson",
		Short:         "Locks, rate limits, semaphores, latches, maps, queues, topics, jobs, counters, filters and sets that a fleet shares, from the shell",
		Long:          rootLong,
		Version:       Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage.NoSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true // completion.Command is in its place
	root.SetFlagErrorFunc(usage.BadFlag)
	t.AddFlags(root.PersistentFlags(), t.Env)
	root.PersistentFlags().BoolVar(&t.JSON, "json", false, "results and errors as JSON, one object in a line")
	for _, commands := range []func(*tool.Tool) []*cobra.Command{
		inspect.Commands, locks.Commands, limits.Commands, synchronizers.Commands, maps.Commands, queues.Commands, topics.Commands, jobs.Commands,
		collections.Commands,
	} {
		root.AddCommand(commands(t)...)
	}
	root.AddCommand(versionCommand(t), completion.Command(t), manual.Command(t, Tree, Version()))
	usage.AcceptSeconds(root)
	usage.SuggestOtherWords(root)
	usage.LetSwitchesStandFirst(root, slices.Concat([]string{"embedded", "export", "export-password", "redisson", "native", "cache", "sharded", "pattern", "bounded", "delayed", "all", "set", "incr", "lowest", "yes"}, locks.Switches(), limits.Switches, jobs.Switches))
	return root
}
