package synchronizers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/semaphore"
)

const permitLong = `permit works with semaphores whose permits have ids and leases, which a fleet
shares, Java too (RPermitExpirableSemaphore): what a process that died held comes
back when its lease ends. Those of "rueidisson sem" are others, of mere numbers; a
NAME is one or the other, and is refused here while it is a semaphore that "rueidisson
sem" or a program has set with this library, or a latch that was armed so.

Exit codes of all:
  0    done
  1    info, rm: there is none
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else
  75   not acquired, at once or in time
  76   the permit had ended
  78   no permits are set under NAME, with --wait; without, run waits for that`

const permitExample = `  rueidisson permit set reports 3
  rueidisson permit run reports --wait 1m -- ./report
  rueidisson permit info reports --json
  rueidisson permit release reports 285475da91524c8300d64ec1b30d2fa7`

func permitCommand(t *tool.Tool) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "permit",
		Short:   "Run commands under permits that come back if their machine dies",
		Long:    permitLong,
		Example: permitExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after permit") },
	}
	cmd.AddCommand(permitSetCommand(t), permitRunCommand(t), permitReleaseCommand(t), permitInfoCommand(t), permitRemoveCommand(t), inspect.ListCommand(t, permitObjects))
	return cmd
}

// withPermits runs do on the semaphore.
func withPermits(ctx context.Context, t *tool.Tool, name string, do func(*semaphore.PermitSemaphore) error) error {
	return t.WithClient(func(c *rueidisson.Client) error {
		if err := refuseOther(ctx, t, name, "latch", "semaphore"); err != nil {
			return err
		}
		return noPermits(do(c.PermitSemaphore(name)))
	})
}

// noPermits returns the ending for permits that nobody has set.
func noPermits(err error) error {
	if errors.Is(err, semaphore.ErrNotSet) {
		return &exit.Error{Code: exit.NoRate, Err: fmt.Errorf(`%w; see "rueidisson permit set --help"`, err)}
	}
	return err
}

const permitSetLong = `set sets how many permits of NAME there are, those that are held included. If more
are held, none is granted until enough have come back. The waiters are notified.

With --json: {"name", "permits"}.`

func permitSetCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "set NAME N",
		Short:   "Set how many permits there are",
		Long:    permitSetLong,
		Example: "  rueidisson permit set reports 3",
		Args:    twoArgs("NAME and N"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return exit.Usagef("N %q is not a number of permits", args[1])
			}
			return withPermits(cmd.Context(), t, args[0], func(s *semaphore.PermitSemaphore) error {
				if err := s.SetPermits(cmd.Context(), n); err != nil {
					return err
				}
				return t.TellDone(struct {
					Name    string `json:"name"`
					Permits int64  `json:"permits"`
				}{args[0], n}, "%d\n", n)
			})
		},
	}
}

func twoArgs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 2 {
			return exit.Usagef("%s are needed, not %d arguments", what, len(args))
		}
		return nil
	}
}

const permitRunLong = `run waits for a permit of NAME, runs CMD while holding it, and gives it back when CMD
ends. Everything after -- belongs to CMD.

Without --wait it waits until a permit is free, and says on standard error if none are
set yet; with --wait 0 it tries once. The permit is renewed for as long as CMD runs. --lease D fixes it instead: a CMD that
takes longer loses it after D.

A SIGSTOP to the tool stops the renewals, but not CMD: after --watchdog the permit is
another's, and CMD goes on without it, until the tool is continued and ends it. A
SIGSTOP to CMD alone keeps the permit. Ctrl-Z in a terminal stops both: the permit is
lost if they are not continued in time, and CMD is ended then.

At the moment when the permit can no longer be trusted, which is before the server
gives it to another, CMD gets SIGTERM, and SIGKILL if it is still there after
--grace. In this, in signals and in standard input and output it is like
"rueidisson lock".

Environment of CMD:
  RUEIDISSON_REDIS   the server's URL, without its password unless --export-password is
                     given; see "rueidisson --help"
  RUEIDISSON_PERMIT  the id of the permit, 32 hex digits

With --json one object follows on standard error when all is over, as of "lock".

Exit codes:
  CMD's own; 128+N if signal N ended it, or ended the wait
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses
  75   no permit within --wait; -E CODE sets another code
  76   the permit was lost while CMD ran, whatever became of CMD
  78   no permits are set under NAME, with --wait; without, it waits for that
  126  CMD cannot be executed
  127  CMD was not found`

const permitRunExample = `  rueidisson permit run reports -- ./report
  rueidisson permit run downloads --wait 0 -- curl -O https://example.com/a || [ $? = 75 ]`

// nounPermit is what CMD may run under.
const nounPermit = "permit"

// permitRun is what permit run was asked to do.
type permitRun struct {
	*run.Command
	label string
}

func permitRunCommand(t *tool.Tool) *cobra.Command {
	j := &permitRun{Command: &run.Command{Tool: t, Noun: nounPermit}}
	j.Take = j.acquire
	cmd := &cobra.Command{
		Use:                   "run NAME [flags] -- CMD [ARG]...",
		DisableFlagsInUseLine: true,
		Short:                 "Run a command while holding a permit",
		Long:                  permitRunLong,
		Example:               permitRunExample,
		Args:                  j.TakeArgs,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return j.CheckAndRun(cmd.Context(), cmd.Flags()) },
	}
	f := cmd.Flags()
	f.DurationVar(&j.Wait, "wait", 0, "give up after `D`, at once with 0 (default: wait until one is free)")
	f.DurationVar(&j.Lease, "lease", 0, "hold for `D` at most, without renewal (default: as long as CMD runs)")
	f.DurationVar(&j.Watchdog, "watchdog", 30*time.Second, "renew a lease of `D`: so long a silent server is borne, and\na permit of a machine that died stays away")
	j.AddCommonFlags(f)
	f.StringVar(&j.label, "label", "", "say `TEXT` of the permit in \"permit info\", such as who holds it")
	f.DurationVar(&j.Grace, "grace", 10*time.Second, "when the permit is lost, wait for `D` between SIGTERM and SIGKILL")
	return cmd
}

// acquire takes a permit.
func (j *permitRun) acquire(ctx context.Context, c *rueidisson.Client) (run.Holding, error) {
	var lease []semaphore.PermitOption
	if j.Lease > 0 {
		lease = append(lease, semaphore.WithLease(j.Lease))
	}
	if j.label != "" {
		lease = append(lease, semaphore.WithLabel(j.label))
	}
	if err := refuseOther(ctx, j.Tool, j.Name, "latch", "semaphore"); err != nil {
		return nil, err
	}
	s := c.PermitSemaphore(j.Name)
	if !j.Try {
		tellUnset(ctx, j.Tool, j.Name, "permit set")
		p, err := s.Acquire(ctx, lease...)
		return permitHeld{p}, err
	}
	opts := []semaphore.TryPermitOption{semaphore.WithWait(j.Wait)}
	for _, o := range lease {
		opts = append(opts, o)
	}
	p, err := s.TryAcquire(ctx, opts...)
	return permitHeld{p}, noPermits(err)
}

// permitHeld is a permit as what CMD runs under.
type permitHeld struct{ *semaphore.Permit }

// Env returns the id of the permit.
func (p permitHeld) Env(context.Context) ([]string, error) {
	return []string{run.EnvPermit + "=" + p.ID()}, nil
}

func (p permitHeld) Fence() (fence.Token, bool) { return fence.Token{}, false }

func (p permitHeld) Unlock(ctx context.Context) error { return p.Release(ctx) }

const permitReleaseLong = `release gives the permit of that id back, also one of another process. Its holder is
not asked: it learns of it at its next renewal, ten seconds later by default.

With --json: {"name", "released"}, the id.`

func permitReleaseCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "release NAME ID",
		Short:   "Give a permit back",
		Long:    permitReleaseLong,
		Example: "  rueidisson permit release reports 285475da91524c8300d64ec1b30d2fa7",
		Args:    twoArgs("NAME and ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withPermits(cmd.Context(), t, args[0], func(s *semaphore.PermitSemaphore) error {
				err := s.ReleaseID(cmd.Context(), args[1])
				if errors.Is(err, semaphore.ErrLost) && !errors.Is(err, semaphore.ErrNotSet) {
					err = &exit.Error{Code: exit.Lost, Err: fmt.Errorf("nobody holds a permit of %q with the id %s: it was given back, or its lease ended", args[0], args[1])}
				}
				if err != nil {
					return err
				}
				return t.TellDone(struct {
					Name     string `json:"name"`
					Released string `json:"released"`
				}{args[0], args[1]}, "%s: released %s\n", args[0], args[1])
			})
		},
	}
}

const permitRemoveLong = `rm removes NAME with its permits, those that are held included: their holders learn of
it at their next renewals. The waiters go on waiting
until permits are set anew.

With --json: {"name", "removed"}.

Exit codes:
  1    there was none
  see "rueidisson permit --help" for the others`

func permitRemoveCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove a semaphore with its permits",
		Long:    permitRemoveLong,
		Example: "  rueidisson permit rm reports",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withPermits(cmd.Context(), t, args[0], func(s *semaphore.PermitSemaphore) error { return t.TellRemoved(cmd.Context(), s) })
		},
	}
}

const permitInfoLong = `info prints how many permits are free, and then of each that is held its id, how
long its lease lasts without another renewal, and its label if it has one.

With --json: {"name", "available", "permits": [{"id", "remaining_ms" (-1: without an
end), "own", "label"}]}; own says that it is held by this very process. If there is
none, {"name", "found":false}.

Exit codes:
  1    no permits are set under NAME
  see "rueidisson permit --help" for the others`

func permitInfoCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "info NAME",
		Short:   "Show how many permits are free, and those that are held",
		Long:    permitInfoLong,
		Example: "  rueidisson permit info reports --json",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withPermits(cmd.Context(), t, args[0], func(s *semaphore.PermitSemaphore) error { return tellPermits(cmd.Context(), t, s) })
		},
	}
}

type permitFound struct {
	ID          string `json:"id"`
	RemainingMS int64  `json:"remaining_ms"`
	Own         bool   `json:"own"`
	Label       string `json:"label,omitempty"`
}

func tellPermits(ctx context.Context, t *tool.Tool, s *semaphore.PermitSemaphore) error {
	free, err := s.Available(ctx)
	if err == nil && free == 0 {
		err = absentUnless(ctx, t, s.Name(), s.Name(), inspect.Companion(s.Name(), "timeout"))
	}
	if err != nil {
		return err
	}
	all := []permitFound{}
	for p, err := range s.Permits(ctx) {
		if err != nil {
			return err
		}
		left := p.Remaining.Milliseconds()
		if p.Remaining < 0 {
			left = -1
		}
		all = append(all, permitFound{p.ID, left, p.Own, p.Label})
	}
	if t.JSON {
		t.SayJSON(t.Stdout, struct {
			Name      string        `json:"name"`
			Available int64         `json:"available"`
			Permits   []permitFound `json:"permits"`
		}{s.Name(), free, all})
		return nil
	}
	fmt.Fprintln(t.Stdout, free)
	for _, p := range all {
		left := "without an end"
		if p.RemainingMS >= 0 {
			left = (time.Duration(p.RemainingMS) * time.Millisecond).String()
		}
		if p.Label != "" {
			left += "  " + values.Printable(p.Label)
		}
		fmt.Fprintf(t.Stdout, "%s  %s\n", values.Printable(p.ID), left)
	}
	return nil
}

// refusePermits returns an error if NAME is that of permits with ids, which their leases
// betray, also those that have ended.
func refusePermits(ctx context.Context, t *tool.Tool, name string) error {
	redis, err := t.Dial()
	if err != nil {
		return err
	}
	defer redis.Close()
	n, err := redis.Do(ctx, redis.B().Exists().Key(inspect.Companion(name, "timeout")).Build()).AsInt64()
	if err == nil && n > 0 {
		err = &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf(`%q has permits with ids; see "rueidisson permit --help"`, name)}
	}
	return err
}

var permitObjects = inspect.Objects{
	Noun: "permit", Plural: "semaphores whose permits have ids", Example: "reports",
	Kinds: []string{"permit semaphore", inspect.AmbiguousNumber}, Type: "string", Hint: inspect.HintNumbers,
}
