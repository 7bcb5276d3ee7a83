package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/latch"
)

const latchLong = `latch works with countdown latches: a count under NAME, which a fleet shares, Java
too (RCountDownLatch). Some count it down, and others wait until nothing is left.
A latch that was never armed is open.

Exit codes of all:
  0    done
  1    set: armed already; rm: it was not armed
  64   the command line cannot be understood, or NAME cannot be used
  69   the server cannot be reached, or refuses; NAME is something else
  75   not in time`

const latchExample = `  rueidisson latch set ready 12
  ./load shard-7 && rueidisson latch down ready --party shard-7
  rueidisson latch await ready --wait 10m && ./start
  rueidisson latch info ready --json`

func (t *tool) latchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "latch",
		Short:   "Arm a countdown latch, count it down, wait for it",
		Long:    latchLong,
		Example: latchExample,
		Args:    noSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return usage("a command is needed behind latch") },
	}
	cmd.AddCommand(t.latchSetCommand(), t.latchDownCommand(), t.latchAwaitCommand(), t.latchInfoCommand(), t.latchRemoveCommand())
	return cmd
}

// withLatch runs do on the latch.
func (t *tool) withLatch(name string, do func(*latch.Latch) error) error {
	return t.withClient(func(c *rueidisson.Client) error { return do(c.Latch(name)) })
}

const latchSetLong = `set arms the latch with N count downs, unless it is armed already. Parties that have
counted down may do so again. With --ttl D it opens by itself after D.

With --json: {"name", "count", "armed"}.

Exit codes:
  1    it is armed already; its count stays
  see "rueidisson latch --help" for the others`

func (t *tool) latchSetCommand() *cobra.Command {
	var n int64
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:                   "set NAME N [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Arm the latch with N count downs",
		Long:                  latchSetLong,
		Example: `  rueidisson latch set ready 12
  rueidisson latch set ready 12 --ttl 1h`,
		Args: latchNumber(&n, true),
	}
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "open by itself after `D` (default: never)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var opts []latch.SetOption
		if cmd.Flags().Changed("ttl") {
			opts = append(opts, latch.WithTTL(ttl))
		}
		return t.withLatch(args[0], func(of *latch.Latch) error { return t.armLatch(cmd.Context(), of, n, opts) })
	}
	return cmd
}

func (t *tool) armLatch(ctx context.Context, of *latch.Latch, n int64, opts []latch.SetOption) error {
	armed, err := of.TrySetCount(ctx, n, opts...)
	if err == nil && !armed {
		n, err = of.Count(ctx)
	}
	if err != nil {
		return err
	}
	err = t.tellDone(struct {
		Name  string `json:"name"`
		Count int64  `json:"count"`
		Armed bool   `json:"armed"`
	}{of.Name(), n, armed}, "%d\n", n)
	if err == nil && !armed {
		return &ending{code: exitRefused}
	}
	return err
}

// latchNumber returns the arguments NAME and N, which may be left out unless it is
// needed.
func latchNumber(n *int64, needed bool) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) (err error) {
		*n = 1
		switch {
		case len(args) == 1 && !needed:
		case len(args) == 2:
			if *n, err = strconv.ParseInt(args[1], 10, 64); err != nil || *n < 1 {
				return usage("N %q is not a number of count downs", args[1])
			}
		case needed:
			return usage("NAME and N are needed, not %d arguments", len(args))
		default:
			return usage("one NAME is needed, and N at the most, not %d arguments", len(args))
		}
		return nil
	}
}

const latchDownLong = `down counts down N times, once by default, and prints what is left. With --party P it
counts once for that party since the latch was armed, however often it is said.

With --json: {"name", "count"}.`

func (t *tool) latchDownCommand() *cobra.Command {
	var n int64
	var party string
	cmd := &cobra.Command{
		Use:                   "down NAME [N] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Count the latch down",
		Long:                  latchDownLong,
		Example: `  rueidisson latch down ready
  rueidisson latch down ready --party shard-7`,
		Args: latchNumber(&n, false),
	}
	cmd.Flags().StringVar(&party, "party", "", "count once for the party `P`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		once := cmd.Flags().Changed("party")
		if once && n > 1 {
			return usage("a party counts once, not %d times", n)
		}
		return t.withLatch(args[0], func(of *latch.Latch) (err error) {
			left := int64(1)
			switch {
			case once:
				left, err = of.CountDownOnce(cmd.Context(), party)
			default:
				for ; n > 0 && left > 0 && err == nil; n-- {
					left, err = of.CountDown(cmd.Context())
				}
			}
			if err != nil {
				return err
			}
			return t.tellCount(of.Name(), left)
		})
	}
	return cmd
}

const latchAwaitLong = `await waits until nothing is left to count down. Without --wait it waits until a
signal; --wait D gives up after D, and --wait 0 looks once.

With --json: {"name", "count"}.

Exit codes:
  75     not in time
  128+N  signal N ended the wait
  see "rueidisson latch --help" for the others`

func (t *tool) latchAwaitCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:                   "await NAME [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Wait until the latch is open",
		Long:                  latchAwaitLong,
		Example: `  rueidisson latch await ready
  rueidisson latch await ready --wait 10m`,
		Args: oneName,
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "give up after `D`; 0: at once (default: never)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		limited := cmd.Flags().Changed("wait")
		if wait < 0 {
			return usage("--wait %v is negative", wait)
		}
		return t.withLatch(args[0], func(of *latch.Latch) error {
			waiting, stop := interruptible(cmd.Context())
			defer stop()
			err := t.awaitLatch(waiting, of, limited, wait)
			if sig, ok := interruptedBy(waiting); ok && err != nil {
				return &ending{code: signalCode(sig), err: context.Cause(waiting)}
			}
			return err
		})
	}
	return cmd
}

// errStillClosed is the cause of a wait that --wait ended.
var errStillClosed = errors.New("the latch is not open")

func (t *tool) awaitLatch(ctx context.Context, of *latch.Latch, limited bool, wait time.Duration) error {
	var err error
	switch {
	case limited && wait == 0:
		var left int64
		if left, err = of.Count(ctx); err == nil && left > 0 {
			err = errStillClosed
		}
	case limited:
		bounded, cancel := context.WithTimeoutCause(ctx, wait, errStillClosed)
		defer cancel()
		err = of.Await(bounded)
	default:
		err = of.Await(ctx)
	}
	switch {
	case limited && wait > 0 && errors.Is(err, errStillClosed):
		open := false
		err = notInTime(errStillClosed, func(ctx context.Context) error {
			left, err := of.Count(ctx)
			open = err == nil && left == 0
			return err
		})
		if !open {
			return err
		}
	case errors.Is(err, errStillClosed):
		return &ending{code: exitNotAcquired, err: errStillClosed}
	case err != nil:
		return err
	}
	return t.tellCount(of.Name(), 0)
}

const latchRemoveLong = `rm removes the latch. Who waits passes.

With --json: {"name", "removed"}.

Exit codes:
  1    it was not armed
  see "rueidisson latch --help" for the others`

func (t *tool) latchRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove the latch, which lets those pass who wait",
		Long:    latchRemoveLong,
		Example: "  rueidisson latch rm ready",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.withLatch(args[0], func(of *latch.Latch) error { return t.tellRemoved(cmd.Context(), of) })
		},
	}
}

const latchInfoLong = `info prints what is left to count down: 0 if the latch is open.

With --json: {"name", "count"}.`

func (t *tool) latchInfoCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "info NAME",
		Short:   "Show what is left to count down",
		Long:    latchInfoLong,
		Example: "  rueidisson latch info ready --json",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.withLatch(args[0], func(of *latch.Latch) error {
				left, err := of.Count(cmd.Context())
				if err != nil {
					return err
				}
				return t.tellCount(args[0], left)
			})
		},
	}
}

func (t *tool) tellCount(name string, n int64) error {
	return t.tellDone(struct {
		Name  string `json:"name"`
		Count int64  `json:"count"`
	}{name, n}, "%d\n", n)
}
