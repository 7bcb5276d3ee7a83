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
	"github.com/rueidisson/rueidisson/semaphore"
)

const semLong = `sem works with semaphores: a number of permits under NAME, which a fleet shares,
Java too (RSemaphore). Permits have no owner: what "sem acquire" takes stays taken
when the tool ends, until somebody releases as many.

A NAME of permits with ids is refused while ids stand there, held ones or such whose
leases have ended. Where none does, nothing tells the kinds apart: use "rueidisson
permit" for such a NAME, since "sem release" mints permits there, too. A NAME is also
refused while it is a latch that this library has armed; one that Java has armed is a
number like a semaphore's, and nothing tells them apart.

Exit codes of all:
  0    done
  1    info, rm: there is none
  64   the command line cannot be understood, or there would be too many permits
  69   the server cannot be reached, or refuses; NAME is something else
  75   not acquired, at once or in time
  78   no permits are set under NAME, with --wait; without, acquire waits for that`

const semExample = `  rueidisson sem set reports 3
  rueidisson sem acquire reports --wait 1m && { ./report; rueidisson sem release reports; }
  rueidisson sem try stock:42 2 || echo "sold out"
  rueidisson sem info reports --json`

// Commands returns the commands of semaphores, latches and barriers.
func Commands(t *tool.Tool) []*cobra.Command {
	return []*cobra.Command{semCommand(t), permitCommand(t), latchCommand(t), barrierCommand(t)}
}

func semCommand(t *tool.Tool) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sem",
		Short:   "Set, take and release the permits of a semaphore",
		Long:    semLong,
		Example: semExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after sem") },
	}
	cmd.AddCommand(semSetCommand(t), semAcquireCommand(t), semTryCommand(t), semReleaseCommand(t), semInfoCommand(t), semRemoveCommand(t), inspect.ListCommand(t, semObjects))
	return cmd
}

// semCall is one command of sem: NAME, and a number of permits where it takes
// one.
type semCall struct {
	*tool.Tool
	n int64
}

// numbered returns the arguments NAME and N, which may be left out unless it is
// needed.
func (s *semCall) numbered(needed bool) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) (err error) {
		s.n = 1
		switch {
		case len(args) == 1 && !needed:
		case len(args) == 2:
			if s.n, err = strconv.ParseInt(args[1], 10, 64); err != nil {
				return exit.Usagef("N %q is not a number of permits", args[1])
			}
		case needed:
			return exit.Usagef("NAME and N are needed, not %d arguments", len(args))
		default:
			return exit.Usagef("one NAME is needed, and N at the most, not %d arguments", len(args))
		}
		return nil
	}
}

// with runs do on the semaphore, unless NAME is betrayed to be that of permits with ids.
func (s *semCall) with(ctx context.Context, name string, do func(*semaphore.Semaphore) error) error {
	return s.WithClient(func(c *rueidisson.Client) error {
		if err := refusePermits(ctx, s.Tool, name); err != nil {
			return err
		}
		if err := refuseOther(ctx, s.Tool, name, "latch"); err != nil {
			return err
		}
		err := do(c.Semaphore(name))
		if errors.Is(err, semaphore.ErrNotSet) {
			return &exit.Error{Code: exit.NoRate, Err: fmt.Errorf(`%w; see "rueidisson sem set --help"`, err)}
		}
		return err
	})
}

// runs has cmd do it to the semaphore that is named.
func (s *semCall) runs(cmd *cobra.Command, do func(ctx context.Context, of *semaphore.Semaphore) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return s.with(cmd.Context(), args[0], func(of *semaphore.Semaphore) error { return do(cmd.Context(), of) })
	}
	return cmd
}

const semSetLong = `set makes N permits of NAME free, whatever there was: those that are taken are not
counted. The waiters are notified.

With --json: {"name", "available"}.`

func semSetCommand(t *tool.Tool) *cobra.Command {
	s := &semCall{Tool: t}
	return s.runs(&cobra.Command{
		Use:     "set NAME N",
		Short:   "Make N permits free",
		Long:    semSetLong,
		Example: "  rueidisson sem set reports 3",
		Args:    s.numbered(true),
	}, s.set)
}

func (s *semCall) set(ctx context.Context, of *semaphore.Semaphore) error {
	if err := of.SetPermits(ctx, s.n); err != nil {
		return err
	}
	return s.tellFree(of.Name(), s.n)
}

const semAcquireLong = `acquire waits until N permits are free, one by default, and takes them: all, or
none. Without --wait it waits until a signal; --wait D gives up after D, and
--wait 0 tries once. A wait that a signal ends has taken nothing. If no permits are
set, a wait without an end says so on standard error, and goes on until they are.

With --json: {"name", "taken"}.

Exit codes:
  75     not acquired in time
  128+N  signal N ended the wait
  see "rueidisson sem --help" for the others`

func semAcquireCommand(t *tool.Tool) *cobra.Command {
	s := &semCall{Tool: t}
	var wait time.Duration
	cmd := &cobra.Command{
		Use:                   "acquire NAME [N] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Take permits, or wait for them",
		Long:                  semAcquireLong,
		Example: `  rueidisson sem acquire reports
  rueidisson sem acquire reports 2 --wait 30s`,
		Args: s.numbered(false),
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "give up after `D`; 0: at once (default: never)")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if wait < 0 {
			return exit.Usagef("--wait %v is negative", wait)
		}
		return nil
	}
	return s.runs(cmd, func(ctx context.Context, of *semaphore.Semaphore) error {
		return run.UnlessInterrupted(ctx, func(ctx context.Context) error {
			return s.acquire(ctx, of, cmd.Flags().Changed("wait"), wait)
		})
	})
}

func (s *semCall) acquire(ctx context.Context, of *semaphore.Semaphore, limited bool, wait time.Duration) error {
	var err error
	if limited {
		err = of.TryAcquire(ctx, s.n, semaphore.WithWait(wait))
		if wait > 0 && errors.Is(err, semaphore.ErrNotAcquired) && !errors.Is(err, semaphore.ErrNotSet) {
			err = server.NotInTime(err, s.Asks(of.Name())) // the last refusal may be from before an outage
		}
	} else {
		tellUnset(ctx, s.Tool, of.Name(), "sem set")
		err = of.Acquire(ctx, s.n)
	}
	if err != nil {
		return err
	}
	return s.tellTaken(of.Name())
}

const semTryLong = `try takes N permits, one by default, if they are free now: all, or none.

With --json: {"name", "taken"}.`

func semTryCommand(t *tool.Tool) *cobra.Command {
	s := &semCall{Tool: t}
	return s.runs(&cobra.Command{
		Use:     "try NAME [N]",
		Short:   "Take permits if they are free",
		Long:    semTryLong,
		Example: `  rueidisson sem try stock:42 || echo "sold out"`,
		Args:    s.numbered(false),
	}, func(ctx context.Context, of *semaphore.Semaphore) error { return s.acquire(ctx, of, true, 0) })
}

const semReleaseLong = `release gives N permits back, one by default. Nothing checks that they were taken. A
NAME whose permits have ids and are held is refused, as by all commands of sem.

With --json: {"name", "released"}.`

func semReleaseCommand(t *tool.Tool) *cobra.Command {
	s := &semCall{Tool: t}
	return s.runs(&cobra.Command{
		Use:     "release NAME [N]",
		Short:   "Give permits back",
		Long:    semReleaseLong,
		Example: "  rueidisson sem release reports",
		Args:    s.numbered(false),
	}, s.release)
}

func (s *semCall) release(ctx context.Context, of *semaphore.Semaphore) error {
	if err := of.Release(ctx, s.n); err != nil {
		return err
	}
	return s.TellDone(struct {
		Name     string `json:"name"`
		Released int64  `json:"released"`
	}{of.Name(), s.n}, "%s: released %d\n", of.Name(), s.n)
}

const semInfoLong = `info prints how many permits are free: 0 if all are taken.

With --json: {"name", "available"}, or {"name", "found":false}.

Exit codes:
  1    no permits are set under NAME
  see "rueidisson sem --help" for the others`

func semInfoCommand(t *tool.Tool) *cobra.Command {
	s := &semCall{Tool: t}
	return s.runs(&cobra.Command{
		Use:     "info NAME",
		Short:   "Show how many permits are free",
		Long:    semInfoLong,
		Example: "  rueidisson sem info reports --json",
		Args:    usage.OneName,
	}, s.info)
}

func (s *semCall) info(ctx context.Context, of *semaphore.Semaphore) error {
	n, err := of.Available(ctx)
	if err == nil && n == 0 {
		err = absentUnless(ctx, s.Tool, of.Name(), of.Name())
	}
	if err != nil {
		return err
	}
	return s.tellFree(of.Name(), n)
}

const semRemoveLong = `rm removes NAME with its permits, also if some are taken. The waiters go on
waiting until permits are set anew.

With --json: {"name", "removed"}.

Exit codes:
  1    there was none
  see "rueidisson sem --help" for the others`

func semRemoveCommand(t *tool.Tool) *cobra.Command {
	s := &semCall{Tool: t}
	return s.runs(&cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove a semaphore",
		Long:    semRemoveLong,
		Example: "  rueidisson sem rm reports",
		Args:    usage.OneName,
	}, func(ctx context.Context, of *semaphore.Semaphore) error { return t.TellRemoved(ctx, of) })
}

func (s *semCall) tellFree(name string, n int64) error {
	return s.TellDone(struct {
		Name      string `json:"name"`
		Available int64  `json:"available"`
	}{name, n}, "%d\n", n)
}

func (s *semCall) tellTaken(name string) error {
	return s.TellDone(struct {
		Name  string `json:"name"`
		Taken int64  `json:"taken"`
	}{name, s.n}, "%s: took %d\n", name, s.n)
}

var semObjects = inspect.Objects{
	Noun: "sem", Plural: "semaphores", Example: "reports",
	Kinds: []string{"semaphore", inspect.AmbiguousNumber}, Type: "string", Hint: inspect.HintNumbers,
}
