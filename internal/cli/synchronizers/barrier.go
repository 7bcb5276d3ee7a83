package synchronizers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/latch"
)

const barrierLong = `barrier works with barriers, at which so many parties wait for each other, again and
again: all of a generation pass, or none. Redisson has no such object.

Exit codes of all:
  0    done
  1    reset: nobody waited; info, rm: there is no such barrier
  64   the command line cannot be understood, or others wait there for another number of
       parties
  69   the server cannot be reached, or refuses; NAME is something else
  75   not in time
  76   the barrier broke: a party has left or died, or somebody has reset it`

const barrierExample = `  ./load shard-7 && rueidisson barrier await phase-1 12 --wait 10m && ./merge shard-7
  rueidisson barrier info phase-1 --json
  rueidisson barrier reset phase-1`

func barrierCommand(t *tool.Tool) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "barrier",
		Short:   "Wait at a barrier until all parties have arrived",
		Long:    barrierLong,
		Example: barrierExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after barrier") },
	}
	cmd.AddCommand(barrierAwaitCommand(t), barrierInfoCommand(t), barrierResetCommand(t), inspect.ListCommand(t, barrierObjects), inspect.RemoveCommand(t, barrierObjects, barrierHandle))
	return cmd
}

// withBarrier runs do on the barrier.
func withBarrier(t *tool.Tool, name string, parties int, do func(*latch.Barrier) error) error {
	return t.WithClient(func(c *rueidisson.Client) error { return do(c.Barrier(name, parties)) })
}

const barrierAwaitLong = `await arrives at NAME, waits until N parties have, and prints how many had arrived
before: 0 for the first. Without --wait it waits until a signal; --wait D gives up
after D. One that gives up breaks the barrier for all who wait.

With --json: {"name", "before"}.

Exit codes:
  75     not in time
  76     the barrier broke
  128+N  signal N ended the wait
  see "rueidisson barrier --help" for the others`

// errTooFew is the cause of a wait that --wait ended.
var errTooFew = errors.New("not all parties have arrived")

func barrierAwaitCommand(t *tool.Tool) *cobra.Command {
	var wait time.Duration
	var parties int
	cmd := &cobra.Command{
		Use:                   "await NAME N [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Wait until N parties have arrived",
		Long:                  barrierAwaitLong,
		Example:               "  rueidisson barrier await phase-1 12 --wait 10m",
		Args: func(_ *cobra.Command, args []string) (err error) {
			if len(args) != 2 {
				return exit.Usagef("NAME and N are needed, not %d arguments", len(args))
			}
			if parties, err = strconv.Atoi(args[1]); err != nil {
				return exit.Usagef("N %q is not a number of parties", args[1])
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "give up after `D` (default: never)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		limited := cmd.Flags().Changed("wait")
		if limited && wait <= 0 {
			return exit.Usagef("--wait %v is not positive", wait)
		}
		return withBarrier(t, args[0], parties, func(b *latch.Barrier) error {
			return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error {
				if limited {
					bounded, cancel := context.WithTimeoutCause(ctx, wait, errTooFew)
					defer cancel()
					ctx = bounded
				}
				return awaitBarrier(ctx, t, b)
			})
		})
	}
	return cmd
}

func awaitBarrier(ctx context.Context, t *tool.Tool, b *latch.Barrier) error {
	before, err := b.Await(ctx)
	switch {
	case errors.Is(err, errTooFew):
		return server.NotInTime(errTooFew, func(ctx context.Context) error {
			_, err := b.Waiting(ctx)
			return err
		})
	case errors.Is(err, latch.ErrBroken):
		return &exit.Error{Code: exit.Lost, Err: err}
	case err != nil:
		return err
	}
	return t.TellDone(struct {
		Name   string `json:"name"`
		Before int    `json:"before"`
	}{b.Name(), before}, "%d\n", before)
}

const barrierInfoLong = `info prints how many parties wait at NAME. One that died counts until its lease ends.
A barrier exists from its first arrival until 45 seconds after its last generation.

With --json: {"name", "waiting"}, or {"name", "found":false}.

Exit codes:
  1    there is no such barrier
  see "rueidisson barrier --help" for the others`

func barrierInfoCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "info NAME",
		Short:   "Show how many parties wait",
		Long:    barrierInfoLong,
		Example: "  rueidisson barrier info phase-1 --json",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBarrier(t, args[0], 1, func(b *latch.Barrier) error {
				n, err := b.Waiting(cmd.Context())
				if err == nil && n == 0 {
					err = absentUnless(cmd.Context(), t, args[0], args[0])
				}
				if err != nil {
					return err
				}
				return t.TellDone(struct {
					Name    string `json:"name"`
					Waiting int    `json:"waiting"`
				}{b.Name(), n}, "%d\n", n)
			})
		},
	}
}

const barrierResetLong = `reset breaks NAME for those who wait there. The next that arrives begins anew.

With --json: {"name", "reset"}.

Exit codes:
  1    nobody waited
  see "rueidisson barrier --help" for the others`

func barrierResetCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "reset NAME",
		Short:   "Break the barrier for those who wait",
		Long:    barrierResetLong,
		Example: "  rueidisson barrier reset phase-1",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBarrier(t, args[0], 1, func(b *latch.Barrier) error {
				did, err := b.Reset(cmd.Context())
				if err != nil {
					return err
				}
				text := map[bool]string{true: "reset", false: "nobody waits"}[did]
				err = t.TellDone(struct {
					Name  string `json:"name"`
					Reset bool   `json:"reset"`
				}{b.Name(), did}, "%s\n", fmt.Sprintf("%s: %s", b.Name(), text))
				if err == nil && !did {
					return &exit.Error{Code: exit.Refused}
				}
				return err
			})
		},
	}
}

var barrierObjects = inspect.Objects{
	Noun: "barrier", Plural: "barriers", Example: "phase",
	Kinds: []string{"barrier", "double barrier"}, Type: "hash",
	Removal: `
It breaks the barrier for the parties that wait, as reset does. The next party makes a
new barrier. Members of a double barrier stay members until they leave. A barrier also
expires without rm, 45 seconds after its last generation.
`,
}

func barrierHandle(c *rueidisson.Client, name string, _ inspect.Seen) tool.Removable {
	return c.Barrier(name, 1)
}
