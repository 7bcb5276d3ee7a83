package synchronizers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
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

const latchLong = `latch works with countdown latches: a count under NAME, which a fleet shares, Java
too (RCountDownLatch). Some count it down, and others wait until nothing is left.
A latch that was never armed is open.

A NAME is refused while it is a semaphore whose permits this library has set, or whose
permits have ids and are held. One that Java has set is a number like a latch's, and
nothing tells them apart: "latch down" takes a permit of it.

Exit codes of all:
  0    done
  1    set: armed already; info, rm: it is not armed
  64   the command line cannot be understood, or NAME cannot be used
  69   the server cannot be reached, or refuses; NAME is something else
  75   not in time`

const latchExample = `  rueidisson latch set ready 12
  ./load shard-7 && rueidisson latch down ready --party shard-7
  rueidisson latch await ready --armed --wait 10m && ./start
  rueidisson latch info ready --json`

func latchCommand(t *tool.Tool) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "latch",
		Short:   "Arm a countdown latch, count it down, wait for it",
		Long:    latchLong,
		Example: latchExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after latch") },
	}
	cmd.AddCommand(latchSetCommand(t), latchDownCommand(t), latchAwaitCommand(t), latchInfoCommand(t), latchRemoveCommand(t), inspect.ListCommand(t, latchObjects))
	return cmd
}

// withLatch runs do on the latch.
func withLatch(ctx context.Context, t *tool.Tool, name string, do func(*latch.Latch) error) error {
	return t.WithClient(func(c *rueidisson.Client) error {
		if err := refuseOther(ctx, t, name, "semaphore", "permit semaphore"); err != nil {
			return err
		}
		return do(c.Latch(name))
	})
}

const latchSetLong = `set arms the latch with N count downs, unless it is armed already. Parties that have
counted down may do so again. With --ttl D it opens by itself after D.

With --json: {"name", "count", "armed"}.

Exit codes:
  1    it is armed already; its count stays
  see "rueidisson latch --help" for the others`

func latchSetCommand(t *tool.Tool) *cobra.Command {
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
		return withLatch(cmd.Context(), t, args[0], func(of *latch.Latch) error { return armLatch(cmd.Context(), t, of, n, opts) })
	}
	return cmd
}

func armLatch(ctx context.Context, t *tool.Tool, of *latch.Latch, n int64, opts []latch.SetOption) error {
	armed, err := of.TrySetCount(ctx, n, opts...)
	if err == nil && !armed {
		n, err = of.Count(ctx)
	}
	if err != nil {
		return err
	}
	err = t.TellDone(struct {
		Name  string `json:"name"`
		Count int64  `json:"count"`
		Armed bool   `json:"armed"`
	}{of.Name(), n, armed}, "%d\n", n)
	if err == nil && !armed {
		return &exit.Error{Code: exit.Refused}
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
				return exit.Usagef("N %q is not a number of count downs", args[1])
			}
		case needed:
			return exit.Usagef("NAME and N are needed, not %d arguments", len(args))
		default:
			return exit.Usagef("one NAME is needed, and N at the most, not %d arguments", len(args))
		}
		return nil
	}
}

const latchDownLong = `down counts down N times, once by default, and prints what is left. With --party P it
counts once for that party since the latch was armed, however often it is said.

With --json: {"name", "count"}.`

func latchDownCommand(t *tool.Tool) *cobra.Command {
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
			return exit.Usagef("a party counts once, not %d times", n)
		}
		return withLatch(cmd.Context(), t, args[0], func(of *latch.Latch) (err error) {
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
			return tellCount(t, of.Name(), left)
		})
	}
	return cmd
}

const latchAwaitLong = `await waits until nothing is left to count down. Without --wait it waits until a
signal; --wait D gives up after D, and --wait 0 looks once.

A latch that was never armed is open, so a wait that begins before the latch is armed
ends at once. With --armed such a latch is not open: await waits until it is armed, and
then until it opens. A latch that opened at most 45 seconds ago was armed, unless
Redisson opened it or its --ttl ended: then the next arming is waited for.

With --json: {"name", "count"}.

Exit codes:
  75     not in time
  128+N  signal N ended the wait
  see "rueidisson latch --help" for the others`

// latchWait is how latch await waits.
type latchWait struct {
	armed   bool // a latch that was never armed is not open
	limited bool
	wait    time.Duration
}

func latchAwaitCommand(t *tool.Tool) *cobra.Command {
	var w latchWait
	cmd := &cobra.Command{
		Use:                   "await NAME [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Wait until the latch is open",
		Long:                  latchAwaitLong,
		Example: `  rueidisson latch await ready
  rueidisson latch await ready --armed --wait 10m`,
		Args: usage.OneName,
	}
	cmd.Flags().BoolVar(&w.armed, "armed", false, "wait until the latch is armed, too, if it is not yet")
	cmd.Flags().DurationVar(&w.wait, "wait", 0, "give up after `D`; 0: at once (default: never)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w.limited = cmd.Flags().Changed("wait")
		if w.wait < 0 {
			return exit.Usagef("--wait %v is negative", w.wait)
		}
		return withLatch(cmd.Context(), t, args[0], func(of *latch.Latch) error {
			return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error { return awaitLatch(ctx, t, of, w) })
		})
	}
	return cmd
}

var (
	// errStillClosed is the cause of a wait that --wait ended.
	errStillClosed = errors.New("the latch is not open")
	// errNotArmed is that of a wait for a latch that nobody has armed.
	errNotArmed = errors.New("the latch was not armed")
)

func awaitLatch(ctx context.Context, t *tool.Tool, of *latch.Latch, w latchWait) error {
	look := latchLook{of: of}
	var err error
	if w.armed {
		if look.redis, err = t.Dial(); err != nil {
			return err
		}
		defer look.redis.Close()
	}
	if w.limited && w.wait == 0 {
		armed, open, err := look.state(ctx)
		switch {
		case err != nil:
			return err
		case open && (armed || !w.armed):
			return tellCount(t, of.Name(), 0)
		case open:
			return &exit.Error{Code: exit.NotAcquired, Err: errNotArmed}
		}
		return &exit.Error{Code: exit.NotAcquired, Err: errStillClosed}
	}
	if w.limited {
		bounded, cancel := context.WithTimeoutCause(ctx, w.wait, errStillClosed)
		defer cancel()
		ctx = bounded
	}
	armed := !w.armed
	if w.armed {
		err = look.untilArmed(ctx)
		armed = err == nil
	}
	if armed {
		err = of.Await(ctx)
	}
	if w.limited && errors.Is(err, errStillClosed) {
		why, isOpen := errStillClosed, false
		late := server.NotInTime(errStillClosed, func(ctx context.Context) error {
			was, open, err := look.state(ctx)
			armed = armed || was
			isOpen = err == nil && open && armed
			return err
		})
		if !armed {
			why = errNotArmed
		}
		var end *exit.Error
		switch {
		case isOpen:
			err = nil
		case errors.As(late, &end):
			return &exit.Error{Code: end.Code, Err: why}
		default:
			return late
		}
	}
	if err != nil {
		return err
	}
	return tellCount(t, of.Name(), 0)
}

// latchLook looks at a latch.
type latchLook struct {
	redis rueidis.Client // nil: whether it was armed does not matter
	of    *latch.Latch
}

// state reports whether the latch is known to have been armed, and whether it is open.
func (l latchLook) state(ctx context.Context) (armed, open bool, err error) {
	left, err := l.of.Count(ctx)
	if err != nil || left > 0 || l.redis == nil {
		return left > 0, err == nil && left == 0, err
	}
	armed, err = l.redis.Do(ctx, l.redis.B().Exists().Key(inspect.Prefixed("rueidisson_opened", l.of.Name())).Build()).AsBool()
	return armed, true, err
}

// armedEvery is how often untilArmed looks whether the latch was armed.
const armedEvery = time.Second

// borneFor is how long untilArmed waits for a server that does not answer, as waits of the library do.
const borneFor = 30 * time.Second

// untilArmed returns when the latch was armed. It hears the messages of the latch, and looks every second in case one
// was lost.
func (l latchLook) untilArmed(ctx context.Context) error {
	listening, stop := context.WithCancel(ctx)
	said := make(chan struct{}, 1)
	var done sync.WaitGroup
	done.Go(func() { // ends with listening
		for listening.Err() == nil {
			_ = l.redis.Receive(listening, l.redis.B().Subscribe().Channel(latchChannel(l.of.Name())).Build(), func(rueidis.PubSubMessage) {
				select {
				case said <- struct{}{}:
				default:
				}
			})
			select { // the connection was lost
			case <-time.After(armedEvery):
			case <-listening.Done():
			}
		}
	})
	defer done.Wait()
	defer stop()
	for answered := time.Now(); ; {
		armed, _, err := l.state(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("await latch %q: %w", l.of.Name(), context.Cause(ctx))
		case armed:
			return nil
		case err == nil:
			answered = time.Now()
		case !server.Unreached(err) || time.Since(answered) > borneFor:
			return err
		}
		select {
		case <-said: // 1: it was armed; 0: it has opened, so it was
			return nil
		case <-time.After(armedEvery):
		case <-ctx.Done():
		}
	}
}

// latchChannel returns the channel on which a latch is said to be armed, and to open.
func latchChannel(name string) string { return "redisson_countdownlatch__channel__{" + name + "}" }

const latchRemoveLong = `rm removes the latch. Its waiters pass.

With --json: {"name", "removed"}.

Exit codes:
  1    it was not armed
  see "rueidisson latch --help" for the others`

func latchRemoveCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove the latch, which lets those pass who wait",
		Long:    latchRemoveLong,
		Example: "  rueidisson latch rm ready",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLatch(cmd.Context(), t, args[0], func(of *latch.Latch) error { return t.TellRemoved(cmd.Context(), of) })
		},
	}
}

const latchInfoLong = `info prints what is left to count down. It ends with 1 if the latch is not armed, and so
open: in Redis one that has opened is as one that never was.

With --json: {"name", "count"}, or {"name", "found":false}.

Exit codes:
  1    it is not armed
  see "rueidisson latch --help" for the others`

func latchInfoCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "info NAME",
		Short:   "Show what is left to count down",
		Long:    latchInfoLong,
		Example: "  rueidisson latch info ready --json",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withLatch(cmd.Context(), t, args[0], func(of *latch.Latch) error {
				left, err := of.Count(cmd.Context())
				if err == nil && left == 0 {
					err = t.Absent(tool.Missing{Name: args[0]}, nil)
				}
				if err != nil {
					return err
				}
				return tellCount(t, args[0], left)
			})
		},
	}
}

func tellCount(t *tool.Tool, name string, n int64) error {
	return t.TellDone(struct {
		Name  string `json:"name"`
		Count int64  `json:"count"`
	}{name, n}, "%d\n", n)
}

var latchObjects = inspect.Objects{
	Noun: "latch", Plural: "latches that are armed", Example: "ready",
	Kinds: []string{"latch", inspect.AmbiguousNumber}, Type: "string", Hint: inspect.HintNumbers,
}
