package locks

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
)

const electLong = `elect waits until it is elected leader of NAME, runs CMD as that, and resigns when
CMD ends. Candidates lead in the order in which they asked, over all processes. With
--value it says what "rueidisson observe NAME" shows to all, such as the address of
CMD; without, the name of the host.

Without --wait it waits until it is elected; with --wait 0 it tries once. The term
is renewed for as long as CMD runs. --lease D fixes it instead: a CMD that takes
longer loses it after D.

At the moment when the term can no longer be trusted, which is before a successor
can be elected, CMD gets SIGTERM, and SIGKILL if it is still there after --grace. In
this, in signals and in standard input and output it is like "rueidisson lock".

Environment of CMD:
  RUEIDISSON_REDIS  the server's URL, without its password unless --export-password is
                    given; see "rueidisson --help"
  RUEIDISSON_FENCE  the fencing token of the term: a number, decimal, that is higher
                    than those of all terms before; what CMD writes to can refuse
                    lower ones

With --json one object follows on standard error when all is over, as of "lock".

Exit codes:
  CMD's own; 128+N if signal N ended it, or ended the wait
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses
  75   not elected within --wait; -E CODE sets another code
  76   the term was lost while CMD ran, whatever became of CMD
  126  CMD cannot be executed
  127  CMD was not found`

const electExample = `  rueidisson elect scheduler --value 10.0.0.7:8080 -- ./scheduler
  rueidisson elect nightly --wait 0 -- ./report.sh || [ $? = 75 ]
  rueidisson elect billing -- sh -c 'psql -v fence=$RUEIDISSON_FENCE -f bill.sql'`

func electCommand(t *tool.Tool) *cobra.Command {
	j := &run.Command{Tool: t, Noun: nounElection}
	value := ""
	cmd := &cobra.Command{
		Use:                   "elect NAME [flags] -- CMD [ARG]...",
		DisableFlagsInUseLine: true,
		Short:                 "Run a command as the elected leader",
		Long:                  electLong,
		Example:               electExample,
		Args:                  j.TakeArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !cmd.Flags().Changed("value"):
				value, _ = os.Hostname()
			case value == "":
				return exit.Usagef("--value is empty, as if nobody led")
			}
			j.Take = func(ctx context.Context, c *rueidisson.Client) (run.Holding, error) {
				return campaign(ctx, c, j, value)
			}
			return j.CheckAndRun(cmd.Context(), cmd.Flags())
		},
	}
	f := cmd.Flags()
	f.StringVar(&value, "value", "", "what observers are shown (default: the name of the host)")
	f.DurationVar(&j.Wait, "wait", 0, "give up after `D`, at once with 0 (default: wait until it is elected)")
	f.DurationVar(&j.Lease, "lease", 0, "lead for `D` at most, without renewal (default: as long as CMD runs)")
	f.DurationVar(&j.Watchdog, "watchdog", 30*time.Second, "renew a lease of `D`: so long a silent server is borne, and\na crashed leader has no successor")
	f.DurationVar(&j.Grace, "grace", 10*time.Second, "when the term is lost, wait for `D` between SIGTERM and SIGKILL")
	j.AddCommonFlags(f)
	f.BoolVar(&j.Embedded, "embedded", false, "use a server inside this process, which CMD can reach and which ends with it")
	return cmd
}

// campaign waits until this process is elected.
func campaign(ctx context.Context, c *rueidisson.Client, j *run.Command, value string) (run.Holding, error) {
	var opts []election.Option
	if j.Lease > 0 {
		opts = append(opts, election.WithLease(j.Lease))
	}
	if j.Try {
		opts = append(opts, election.WithWait(j.Wait))
	}
	term, err := c.Election(j.Name, opts...).Campaign(ctx, value)
	return reign{term}, err
}

// reign is a term as what CMD runs under.
type reign struct{ *election.Term }

// Env returns nothing: the fencing token says all about a term.
func (r reign) Env(context.Context) ([]string, error) { return nil, nil }

func (r reign) Fence() (fence.Token, bool) { return r.Term.Fence(), true }

func (r reign) Unlock(ctx context.Context) error { return r.Resign(ctx) }
