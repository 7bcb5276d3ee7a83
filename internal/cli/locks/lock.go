package locks

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/lock"
)

const lockLong = `lock waits for the lock NAME, runs CMD while holding it, and releases it when CMD
ends. Everything after -- belongs to CMD, as do standard input, output and error;
what the tool itself has to say goes to standard error.

Without --wait it waits until the lock is free; with --wait 0 it tries once. The
hold is renewed for as long as CMD runs. --lease D fixes it instead: a CMD that
takes longer loses the lock after D.

Which lock. NAME is a plain lock, or with --fair a fair one. All clients that
share a fair lock have to use it as a fair one. Its waiters get it in the order in
which they were queued, in any process, Java included.

Losing the lock. The server may go away, or somebody may use force-unlock. At the
moment when the hold can no longer be trusted, which is before the server gives
the lock to another, CMD gets SIGTERM, and SIGKILL if it is still there after
--grace. The server waits for neither: choose --grace 0 for a CMD that must not
run a moment longer. A force-unlock is noticed at the next renewal, after a third
of --watchdog.

Signals (INT, TERM, HUP, QUIT, USR1, USR2) end the wait, USR1 and USR2 apart, and
are passed on to CMD while it runs. Without a controlling terminal CMD gets a
process group of its own, and signals go to all of it. On a terminal it stays in
the terminal's, so that Ctrl-C, Ctrl-Z and reading work as usual: a Ctrl-C has
reached it already and is not passed on again, and SIGTERM and SIGKILL go to CMD
alone. On Linux CMD is killed if the tool is; on other systems, and while the tool
is stopped (SIGSTOP, Ctrl-Z stops both), nobody watches over it. What CMD has left
in the background is not waited for. The tool ends within a second of CMD: if the
server is silent, it leaves the lock to its lease.

The lock is not passed down: inside CMD another "rueidisson lock NAME" of the same
name waits for this one, for ever unless --wait says otherwise.

--fenced takes the fenced lock of NAME: each hold has a number that is higher than
those of all before, and what CMD writes to can refuse lower ones.

Environment of CMD:
  RUEIDISSON_LOCK   NAME
  RUEIDISSON_REDIS  the server's URL, without its password unless --export-password is
                    given; see "rueidisson --help"
  RUEIDISSON_TOKEN  with --export: lets a program join the hold (lock.ParseToken,
                    Lock.Join); what it has not unlocked when CMD ends stays locked
  RUEIDISSON_FENCE  with --fenced: the number, decimal

With --json one object follows on standard error when all is over: {"name",
"outcome" (done, not_acquired, lost, interrupted, failed), "exit", "waited_ms",
"held_ms", "error"}.

Exit codes:
  CMD's own; 128+N if signal N ended it, or ended the wait
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses
  75   not acquired within --wait; -E CODE sets another code
  76   the lock was lost while CMD ran, whatever became of CMD
  126  CMD cannot be executed
  127  CMD was not found`

const lockExample = `  rueidisson lock nightly-report -- ./report.sh --all
  rueidisson lock orders --wait 0 -- ./import || { [ $? = 75 ] && echo "runs elsewhere"; }
  rueidisson lock --fair deploy -- ./deploy.sh
  rueidisson lock backup --wait 5 -E 0 -- ./backup
  rueidisson --redis redis://10.0.0.5:6379 lock orders --wait 1m --grace 30s -- ./job
  rueidisson lock orders --fenced -- sh -c 'psql -v fence=$RUEIDISSON_FENCE -f bill.sql'
  rueidisson lock demo --embedded -- sh -c 'rueidisson inspect demo'`

// Commands returns the commands of locks and elections.
func Commands(t *tool.Tool) []*cobra.Command {
	return []*cobra.Command{lockCommand(t), electCommand(t), observeCommand(t), electionCommand(t), forceUnlockCommand(t)}
}

// What CMD may run under.
const (
	nounLock     = "lock"
	nounElection = "election"
)

// locking is what lock was asked to do.
type locking struct {
	*run.Command
	export bool
	kind   lockFlag // which lock of the name
}

func lockCommand(t *tool.Tool) *cobra.Command {
	j := &locking{Command: &run.Command{Tool: t, Noun: nounLock}}
	j.Take = j.lock
	cmd := &cobra.Command{
		Use:                   "lock NAME [flags] -- CMD [ARG]...",
		DisableFlagsInUseLine: true,
		Short:                 "Run a command while holding a lock",
		Long:                  lockLong,
		Example:               lockExample,
		Args:                  j.TakeArgs,
		RunE:                  j.chooseAndRun,
	}
	f := cmd.Flags()
	f.DurationVar(&j.Wait, "wait", 0, "give up after `D`, at once with 0 (default: wait until it is free)")
	f.DurationVar(&j.Lease, "lease", 0, "hold for `D` at most, without renewal (default: as long as CMD runs)")
	f.DurationVar(&j.Watchdog, "watchdog", 30*time.Second, "renew a lease of `D`: so long a silent server is borne, and\na crashed holder keeps the lock")
	f.DurationVar(&j.Grace, "grace", 10*time.Second, "when the lock is lost, wait for `D` between SIGTERM and SIGKILL")
	j.AddCommonFlags(f)
	f.BoolVar(&j.Embedded, "embedded", false, "use a server inside this process, which CMD can reach and which ends with it")
	addLockFlags(f)
	f.BoolVar(&j.export, "export", false, "let CMD join the hold: sets RUEIDISSON_TOKEN")
	return cmd
}

func (j *locking) chooseAndRun(cmd *cobra.Command, _ []string) error {
	f := cmd.Flags()
	given := func(name string) bool { is, _ := f.GetBool(name); return is }
	var err error
	j.kind, err = chosen(lockFlags, given)
	switch {
	case err != nil:
		return err
	case j.export && !j.kind.export:
		return exit.Usagef("--export and --%s exclude each other: nobody can take part in such a hold", j.kind.name)
	}
	return j.CheckAndRun(cmd.Context(), f)
}

// lock takes the lock that is meant.
func (j *locking) lock(ctx context.Context, c *rueidisson.Client) (run.Holding, error) {
	var lease []lock.LockOption
	if j.Lease > 0 {
		lease = append(lease, lock.WithLease(j.Lease))
	}
	l := j.kind.of(c, j.Name)
	if !j.Try {
		hold, err := l.Lock(ctx, lease...)
		return lockHeld{hold, j}, err
	}
	opts := []lock.TryOption{lock.WithWait(j.Wait)}
	for _, o := range lease {
		opts = append(opts, o)
	}
	hold, err := l.TryLock(ctx, opts...)
	return lockHeld{hold, j}, err
}

// lockHeld is a hold of a lock as what CMD runs under.
type lockHeld struct {
	*lock.Hold
	by *locking
}

// Env returns the name of the lock, and with --export the token by which CMD can join the hold.
func (h lockHeld) Env(ctx context.Context) ([]string, error) {
	env := []string{run.EnvLock + "=" + h.by.Name}
	if !h.by.export {
		return env, nil
	}
	token, err := h.Token(ctx)
	if err != nil {
		return nil, err
	}
	return append(env, run.EnvToken+"="+token.String()), nil
}
