package collections

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
)

const counterLong = `counter works with the counters that a fleet shares, Java too (RAtomicLong): an integer
of 64 bits. One that is not there is 0.

A NAME that is an object of another kind, such as a rate limiter, is refused. A
semaphore or a latch that Java has made is a number like a counter's, and nothing tells
them apart.

Exit codes of all:
  0    done
  64   the command line cannot be understood, or the sum would be out of range
  69   the server cannot be reached, or refuses; NAME is something else`

const counterExample = `  rueidisson counter add hits
  rueidisson counter add stock -- -3
  rueidisson counter get hits --json`

func counterCommand(t *tool.Tool) *cobra.Command {
	c := &counterCall{Tool: t}
	return noun("counter", "Add to a counter, read it, set it", counterLong, counterExample, c.addCommand(), c.getCommand(), c.setCommand())
}

// counterCall is one command of counter.
type counterCall struct {
	*tool.Tool
	n     int64
	force bool
}

// with runs do on a counter, unless NAME is betrayed to be something else, and shows the number that it returns.
func (c *counterCall) with(ctx context.Context, name string, do func(of *counter.Counter) (int64, error)) error {
	return c.WithClient(func(client *rueidisson.Client) error {
		if err := c.checkKind(ctx, client, name); err != nil {
			return exit.Failed(fmt.Errorf("counter %q: %w", name, err))
		}
		n, err := do(counter.New(client, name))
		if err != nil {
			return err
		}
		return c.TellDone(struct {
			Name  string `json:"name"`
			Value int64  `json:"value"`
		}{name, n}, "%d\n", n)
	})
}

// checkKind refuses a name that is something else.
func (c *counterCall) checkKind(ctx context.Context, client *rueidisson.Client, name string) error {
	if c.force {
		return nil
	}
	return looks(ctx, c.Tool, client, func(redis rueidis.Client) error {
		kind, err := (&inspect.Look{Tool: c.Tool, Redis: redis, Name: name, Brief: true}).Kind(ctx)
		if err == nil && !mayCount(kind) {
			err = fmt.Errorf(`%w: it is a %s; see "rueidisson inspect %s"`, rueidisson.ErrWrongKind, kind, name)
		}
		return err
	})
}

// mayCount reports whether an object of that kind may be a counter. What no object has is for the counter to refuse.
func mayCount(kind string) bool {
	return kind == inspect.KindNone || kind == inspect.KindUnknown || kind == inspect.AmbiguousNumber
}

// number reads the number that is argument i.
func (c *counterCall) number(args []string, i int) (err error) {
	if c.n, err = strconv.ParseInt(args[i], 10, 64); err != nil {
		return exit.Usagef("N %q is no integer of 64 bits", args[i])
	}
	return nil
}

const counterAddLong = `add adds N, 1 by default, to a counter, and prints the sum. A number below 0 goes after
--. It is sent once: if the end is 69, it may have been added.

With --json: {"name", "value"}.

See "rueidisson counter --help" for exit codes.`

func (c *counterCall) addCommand() *cobra.Command {
	return &cobra.Command{
		Use:                   "add NAME [N] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Add to a counter",
		Long:                  counterAddLong,
		Example: `  rueidisson counter add hits
  rueidisson counter add stock 12
  rueidisson counter add stock -- -3`,
		Args: func(_ *cobra.Command, args []string) error {
			switch c.n = 1; len(args) {
			case 1:
				return nil
			case 2:
				return c.number(args, 1)
			}
			return exit.Usagef("one NAME is needed, and N at the most, not %d arguments", len(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), args[0], func(of *counter.Counter) (int64, error) { return of.Add(cmd.Context(), c.n) })
		},
	}
}

const counterGetLong = `get prints the number of a counter, 0 if there is none.

With --json: {"name", "value"}.

See "rueidisson counter --help" for exit codes.`

func (c *counterCall) getCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "get NAME",
		Short:   "Show the number of a counter",
		Long:    counterGetLong,
		Example: "  rueidisson counter get hits",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), args[0], func(of *counter.Counter) (int64, error) { return of.Get(cmd.Context()) })
		},
	}
}

const counterSetLong = `set sets the number of a counter, prints it, and removes a time to live. What NAME holds
has to be a counter's: a key that is something else, also a text that is no number, is
refused, unless --force is given.

With --json: {"name", "value"}.

See "rueidisson counter --help" for exit codes.`

func (c *counterCall) setCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "set NAME N",
		Short:   "Set the number of a counter",
		Long:    counterSetLong,
		Example: "  rueidisson counter set stock 100",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Usagef("NAME and N are needed, not %d arguments", len(args))
			}
			return c.number(args, 1)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), args[0], func(of *counter.Counter) (int64, error) {
				if !c.force {
					if _, err := of.Get(cmd.Context()); err != nil {
						return 0, fmt.Errorf("%w: --force replaces it", err)
					}
				}
				return c.n, of.Set(cmd.Context(), c.n)
			})
		},
	}
	cmd.Flags().BoolVar(&c.force, "force", false, "replace whatever NAME holds")
	return cmd
}

const idLong = `id hands out integers, each only once over all processes, Java too (RIdGenerator).

A NAME that is a number without the block size of a generator is refused: it is a counter.

Exit codes of all:
  0    done
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else; the ids are
       exhausted`

func idCommand(t *tool.Tool) *cobra.Command {
	return noun("id", "Take ids that nobody else gets", idLong, "  rueidisson id next orders -n 3", idNextCommand(t))
}

const idNextLong = `next prints an id that nobody else gets, or with -n N so many in a row, one a line.

Each run takes a block of ids from the server, or more where N is more, and leaves the rest
of it unused. A block has 5,000 ids, unless the generator was made with others by a program.
So -n N is the way to have many without gaps.

With --json an object in each line: {"id"}.

See "rueidisson id --help" for exit codes.`

func idNextCommand(t *tool.Tool) *cobra.Command {
	var n int64
	cmd := &cobra.Command{
		Use:   "next NAME",
		Short: "Print ids",
		Long:  idNextLong,
		Example: `  rueidisson id next orders
  rueidisson id next orders -n 100 > ids.txt`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return exit.Usagef("-n %d: at least 1", n)
			}
			return t.WithClient(func(c *rueidisson.Client) error {
				if err := notCounter(cmd.Context(), t, c, args[0]); err != nil {
					return exit.Failed(fmt.Errorf("id generator %q: %w", args[0], err))
				}
				return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error {
					return tellIDs(ctx, t, counter.NewIDs(c, args[0]), n)
				})
			})
		},
	}
	cmd.Flags().Int64VarP(&n, "number", "n", 1, "print `N` ids")
	return cmd
}

// notCounter refuses a number that is there without the second key of a generator: a counter. Other types are for the generator to refuse.
func notCounter(ctx context.Context, t *tool.Tool, c *rueidisson.Client, name string) error {
	return looks(ctx, t, c, func(redis rueidis.Client) error {
		b := redis.B()
		got := redis.DoMulti(ctx, b.Type().Key(name).Build(), b.Exists().Key(inspect.Companion(name, "allocation")).Build())
		is, err := got[0].ToString()
		if err != nil {
			return err
		}
		allocated, err := got[1].AsInt64()
		if err == nil && is == "string" && allocated == 0 {
			err = fmt.Errorf(`%w: it has no block size, as a counter; see "rueidisson inspect %s"`, rueidisson.ErrWrongKind, name)
		}
		return err
	})
}

func tellIDs(ctx context.Context, t *tool.Tool, ids *counter.IDs, n int64) error {
	from, to, err := ids.Range(ctx, n)
	if err != nil {
		return err
	}
	for id := from; id < to && t.Stdout.Failed() == nil; id++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if t.JSON {
			t.SayJSON(t.Stdout, struct {
				ID int64 `json:"id"`
			}{id})
			continue
		}
		fmt.Fprintln(t.Stdout, id)
	}
	return nil
}
