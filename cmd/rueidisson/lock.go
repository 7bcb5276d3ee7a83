package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rueidisson/rueidisson"
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

// what CMD may run under
const (
	nounLock     = "lock"
	nounElection = "election"
)

// job is what lock was asked to do, or elect.
type job struct {
	*tool
	noun           string
	take           func(ctx context.Context, c *rueidisson.Client) (holding, error)
	name           string
	argv           []string
	try            bool // --wait was given
	wait           time.Duration
	lease          time.Duration // 0: renewed
	label          string        // of a permit
	watchdog       time.Duration // 0: the library's default
	grace          time.Duration
	embedded       bool
	exportPassword bool
	conflict       int // the exit code when it was not acquired
	export         bool
	kind           lockFlag // which lock of the name
}

func (t *tool) lockCommand() *cobra.Command {
	j := &job{tool: t, noun: nounLock}
	j.take = j.lock
	cmd := &cobra.Command{
		Use:                   "lock NAME [flags] -- CMD [ARG]...",
		DisableFlagsInUseLine: true,
		Short:                 "Run a command while holding a lock",
		Long:                  lockLong,
		Example:               lockExample,
		Args:                  j.takeArgs,
		RunE:                  j.checkAndRun,
	}
	f := cmd.Flags()
	f.DurationVar(&j.wait, "wait", 0, "give up after `D`, at once with 0 (default: wait until it is free)")
	f.DurationVar(&j.lease, "lease", 0, "hold for `D` at most, without renewal (default: as long as CMD runs)")
	f.DurationVar(&j.watchdog, "watchdog", 30*time.Second, "renew a lease of `D`: so long a silent server is borne, and\na crashed holder keeps the lock")
	f.DurationVar(&j.grace, "grace", 10*time.Second, "when the lock is lost, wait for `D` between SIGTERM and SIGKILL")
	j.addCommonFlags(f)
	f.BoolVar(&j.embedded, "embedded", false, "use a server inside this process, which CMD can reach and which ends with it")
	addLockFlags(f)
	f.BoolVar(&j.export, "export", false, "let CMD join the hold: sets RUEIDISSON_TOKEN")
	return cmd
}

// takeArgs splits the arguments at the dashes. They are required, since flags of
// CMD would be taken for ours without them.
func (j *job) takeArgs(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case dash < 0:
		return usage("-- is needed between NAME and CMD")
	case dash != 1:
		return usage("one NAME is needed before --, not %d", dash)
	case len(args) < 2 || args[1] == "":
		return usage("a CMD is needed after --")
	}
	j.name, j.argv = args[0], args[1:]
	return nil
}

func (j *job) checkAndRun(cmd *cobra.Command, _ []string) error {
	f := cmd.Flags()
	given := func(name string) bool { is, _ := f.GetBool(name); return is }
	var err error
	j.kind, err = chosen(lockFlags, given)
	switch {
	case err != nil:
		return err
	case j.export && !j.kind.export:
		return usage("--export and --%s exclude each other: nobody can take part in such a hold", j.kind.name)
	}
	return j.checkRest(cmd.Context(), f)
}

// addCommonFlags adds the flags of all who run one CMD. flock(1) has -E under the same name.
func (j *job) addCommonFlags(f *pflag.FlagSet) {
	addExportFlag(f, &j.exportPassword)
	f.IntVarP(&j.conflict, "conflict-exit-code", "E", exitNotAcquired, "end with `CODE` when --wait is over")
}

// checkRest checks the flags that lock and elect have in common, and goes on.
func (j *job) checkRest(ctx context.Context, f *pflag.FlagSet) error {
	j.try = f.Changed("wait")
	switch {
	case j.wait < 0:
		return usage("--wait %v is negative", j.wait)
	case f.Changed("lease") && j.lease <= 0:
		return usage("--lease %v is not positive", j.lease)
	case j.conflict < 0 || j.conflict > mostCode:
		return usage("-E %d is not between 0 and %d", j.conflict, mostCode)
	case j.grace < 0:
		return usage("--grace %v is negative", j.grace)
	case j.embedded && f.Changed("redis"):
		return usage("--embedded and --redis exclude each other")
	case j.embedded && j.exportPassword:
		return usage("--embedded and --export-password exclude each other: that server has no password")
	}
	if _, err := j.envOfCMD(nil, j.exportPassword); err != nil {
		return err
	}
	return j.run(ctx)
}

// lock takes the lock that is meant.
func (j *job) lock(ctx context.Context, c *rueidisson.Client) (holding, error) {
	var lease []lock.LockOption
	if j.lease > 0 {
		lease = append(lease, lock.WithLease(j.lease))
	}
	l := j.kind.of(c, j.name)
	if !j.try {
		return l.Lock(ctx, lease...)
	}
	opts := []lock.TryOption{lock.WithWait(j.wait)}
	for _, o := range lease {
		opts = append(opts, o)
	}
	return l.TryLock(ctx, opts...)
}

func (j *job) options() []rueidisson.Option {
	return []rueidisson.Option{rueidisson.WithWatchdogTimeout(j.watchdog)}
}
