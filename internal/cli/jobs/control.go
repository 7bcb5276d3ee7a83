package jobs

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
)

const jobRedriveLong = `redrive has dead jobs tried again, with as many attempts as new ones: those of the IDs,
or all. It prints how many.

With --json: {"name", "redriven"}.

Exit codes:
  1    none was dead
  see "rueidisson job --help" for the others`

func (j *jobCall) redriveCommand() *cobra.Command {
	return j.deadAreTo(&cobra.Command{
		Use:   "redrive NAME [ID...]",
		Short: "Have dead jobs tried again",
		Long:  jobRedriveLong,
		Example: `  rueidisson job redrive mails
  rueidisson job redrive mails 1795356000123 1795356000124`,
	}, j.redrive)
}

const jobPurgeLong = `purge takes dead jobs out: those of the IDs, or all. It prints how many.

With --json: {"name", "purged"}.

Exit codes:
  1    none was dead
  see "rueidisson job --help" for the others`

func (j *jobCall) purgeCommand() *cobra.Command {
	return j.deadAreTo(&cobra.Command{
		Use:   "purge NAME [ID...]",
		Short: "Take dead jobs out",
		Long:  jobPurgeLong,
		Example: `  rueidisson job purge mails
  rueidisson job purge mails 1795356000123`,
	}, j.purge)
}

// deadAreTo has cmd do it to the dead jobs of a queue.
func (j *jobCall) deadAreTo(cmd *cobra.Command, do func(ctx context.Context, q *jobs, ids []int64) (n int64, report any, err error)) *cobra.Command {
	var ids []int64
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exit.Usagef("NAME is needed")
		}
		ids = nil
		for _, arg := range args[1:] {
			id, err := strconv.ParseInt(arg, 10, 64)
			if err != nil || id < 1 {
				return exit.Usagef("ID %q is not that of a job", arg)
			}
			ids = append(ids, id)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return j.with(args[0], func(q *jobs) error {
			n, report, err := do(cmd.Context(), q, ids)
			if err != nil {
				return err
			}
			if err := j.TellDone(report, "%d\n", n); err != nil || n > 0 {
				return err
			}
			return &exit.Error{Code: exit.Refused}
		})
	}
	return cmd
}

func (j *jobCall) redrive(ctx context.Context, q *jobs, ids []int64) (n int64, report any, err error) {
	if len(ids) == 0 {
		n, err = q.RedriveAll(ctx)
	} else {
		n, err = q.Redrive(ctx, ids...)
	}
	return n, struct {
		Name     string `json:"name"`
		Redriven int64  `json:"redriven"`
	}{q.Name(), n}, err
}

func (j *jobCall) purge(ctx context.Context, q *jobs, ids []int64) (n int64, report any, err error) {
	n, err = q.Purge(ctx, ids...)
	return n, struct {
		Name   string `json:"name"`
		Purged int64  `json:"purged"`
	}{q.Name(), n}, err
}

const jobPauseLong = `pause has no worker take a job of NAME until "job resume", or for the time that --for
says. Jobs are still added, and those that are under way go on.

With --json: {"name", "paused"}, and with --for "paused_ms".`

func (j *jobCall) pauseCommand() *cobra.Command {
	var d time.Duration
	cmd := &cobra.Command{
		Use:   "pause NAME",
		Short: "Have no worker take a job",
		Long:  jobPauseLong,
		Example: `  rueidisson job pause mails
  rueidisson job pause mails --for 10m`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("for") && d <= 0 {
				return exit.Usagef("--for %v is not positive", d)
			}
			return j.with(args[0], func(q *jobs) error { return j.pause(cmd.Context(), q, d) })
		},
	}
	cmd.Flags().DurationVar(&d, "for", 0, "end the pause after `D` (default: with resume)")
	return cmd
}

func (j *jobCall) pause(ctx context.Context, q *jobs, d time.Duration) error {
	if err := q.Pause(ctx, d); err != nil {
		return err
	}
	length := ""
	if d > 0 {
		length = fmt.Sprintf(" for %v", d)
	}
	return j.tellPaused(q, true, d, length)
}

const jobResumeLong = `resume ends a pause. It does nothing to a queue that is not paused.

With --json: {"name", "paused"}.`

func (j *jobCall) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "resume NAME",
		Short:   "End a pause",
		Long:    jobResumeLong,
		Example: "  rueidisson job resume mails",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.with(args[0], func(q *jobs) error {
				if err := q.Resume(cmd.Context()); err != nil {
					return err
				}
				return j.tellPaused(q, false, 0, "")
			})
		},
	}
}

func (j *jobCall) tellPaused(q *jobs, paused bool, d time.Duration, length string) error {
	word := "not paused"
	if paused {
		word = "paused" + length
	}
	return j.TellDone(struct {
		Name     string `json:"name"`
		Paused   bool   `json:"paused"`
		PausedMS int64  `json:"paused_ms,omitempty"`
	}{q.Name(), paused, d.Milliseconds()}, "%s: %s\n", q.Name(), word)
}
