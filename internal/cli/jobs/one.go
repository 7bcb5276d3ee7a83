package jobs

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

const jobCancelLong = `cancel takes jobs out, whatever their state. A worker that has one ends its CMD. It
prints how many were there.

With --json: {"name", "cancelled"}.

Exit codes:
  1    none was there
  see "rueidisson job --help" for the others`

func (j *jobCall) cancelCommand() *cobra.Command {
	return j.takeOutCommand(&cobra.Command{
		Use:     "cancel NAME ID...",
		Short:   "Take jobs out, also those that a worker has",
		Long:    jobCancelLong,
		Example: "  rueidisson job cancel mails 1795356000123",
	}, (*jobs).Cancel, func(name string, n int64) any {
		return struct {
			Name      string `json:"name"`
			Cancelled int64  `json:"cancelled"`
		}{name, n}
	})
}

const jobRmLong = `rm takes jobs out that no worker has ever had; nobody will have them. Others it leaves
as they are. It prints how many it took out.

With --json: {"name", "removed"}.

Exit codes:
  1    there was none, or a worker has had each of them
  see "rueidisson job --help" for the others`

func (j *jobCall) rmCommand() *cobra.Command {
	return j.takeOutCommand(&cobra.Command{
		Use:     "rm NAME ID...",
		Short:   "Take jobs out that no worker has had",
		Long:    jobRmLong,
		Example: "  rueidisson job rm mails 1795356000123",
	}, (*jobs).Remove, func(name string, n int64) any {
		return struct {
			Name    string `json:"name"`
			Removed int64  `json:"removed"`
		}{name, n}
	})
}

// takeOutCommand takes jobs out one after the other.
func (j *jobCall) takeOutCommand(cmd *cobra.Command, take func(*jobs, context.Context, int64) error, report func(name string, n int64) any) *cobra.Command {
	cmd = j.deadAreTo(cmd, func(ctx context.Context, q *jobs, ids []int64) (n int64, told any, err error) {
		for _, id := range ids {
			switch err := take(q, ctx, id); {
			case err == nil:
				n++
			case !errors.Is(err, reliable.ErrNotFound) && !errors.Is(err, reliable.ErrTaken):
				return n, report(q.Name(), n), err
			}
		}
		return n, report(q.Name(), n), nil
	})
	named := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return exit.Usagef("an ID is needed after NAME")
		}
		return named(cmd, args)
	}
	return cmd
}

// nameAndID returns the arguments of what is about one job.
func nameAndID(id *int64) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) (err error) {
		if len(args) != 2 {
			return exit.Usagef("NAME and an ID are needed, not %d arguments", len(args))
		}
		if *id, err = strconv.ParseInt(args[1], 10, 64); err != nil || *id < 1 {
			return exit.Usagef("ID %q is not that of a job", args[1])
		}
		return nil
	}
}

// answered makes an answer of what there is no such job for.
func (j *jobCall) answered(q *jobs, id int64, err error) error {
	for _, answer := range []error{reliable.ErrNotFound, reliable.ErrTaken, reliable.ErrBuried, reliable.ErrPending} {
		if errors.Is(err, answer) {
			return j.Absent(tool.Missing{Name: q.Name(), ID: id}, err)
		}
	}
	return err
}

const jobFindLong = `find shows one job, in a line or an object as "job ls" does. A job that is done is shown
for as long as "job terms --keep-done" says: its state is done, and --json has "done_ms".
With --json {"name", "id", "found":false, "error"} says that there is none.

Exit codes:
  1    there is none of that ID, or no more
  see "rueidisson job --help" for the others`

func (j *jobCall) findCommand() *cobra.Command {
	var id int64
	return &cobra.Command{
		Use:     "find NAME ID",
		Short:   "Show one job",
		Long:    jobFindLong,
		Example: "  rueidisson job find mails 1795356000123 --json",
		Args:    nameAndID(&id),
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.with(args[0], func(q *jobs) error {
				info, err := q.Find(cmd.Context(), id)
				if err == nil {
					j.tellInfo(q, &info)
				}
				return j.answered(q, id, err)
			})
		},
	}
}

const jobResultLong = `result prints what a job was acknowledged with, as it is kept: text and a newline, or
with --json {"name", "id", "result"}, in base64 with "base64":true if it is no text.
--wait D waits for the end of the job for up to D. With --json {"name", "id",
"found":false, "error"} says that there is no result.

Exit codes:
  1    there is no result: the job is not done, is dead, is unknown, or had none
  75   the job is not done in time
  see "rueidisson job --help" for the others`

func (j *jobCall) resultCommand() *cobra.Command {
	var id int64
	var wait time.Duration
	cmd := &cobra.Command{
		Use:     "result NAME ID",
		Short:   "Show the result of a job",
		Long:    jobResultLong,
		Example: "  rueidisson job result sums 1795356000123 --wait 1m",
		Args:    nameAndID(&id),
		RunE: func(cmd *cobra.Command, args []string) error {
			if wait < 0 {
				return exit.Usagef("--wait %v is negative", wait)
			}
			return j.with(args[0], func(q *jobs) error {
				return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error { return j.result(ctx, q, id, wait) })
			})
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait for up to `D`")
	return cmd
}

func (j *jobCall) result(ctx context.Context, q *jobs, id int64, wait time.Duration) error {
	text, err := q.Result(ctx, id)
	if wait > 0 && errors.Is(err, reliable.ErrPending) {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		text, err = q.Await(waiting, id)
		if err != nil && waiting.Err() != nil && ctx.Err() == nil {
			return server.NotInTime(err, func(ctx context.Context) error {
				if _, err := q.Result(ctx, id); !errors.Is(err, reliable.ErrPending) {
					return j.answered(q, id, err)
				}
				return nil
			})
		}
	}
	if err != nil {
		return j.answered(q, id, err)
	}
	shown := values.OfBytes(text)
	return j.TellDone(struct {
		Name   string `json:"name"`
		ID     int64  `json:"id"`
		Result any    `json:"result"`
		Base64 bool   `json:"base64,omitempty"`
	}{q.Name(), id, shown.JSON(), shown.Base64}, "%s\n", shown.Text)
}

const jobRescheduleLong = `reschedule has a job that no worker has come at another time, or with another priority.
--now ends its delay; it is ready after those that are.

With --json: {"name", "id"}, or {"name", "id", "found":false, "error"}.

Exit codes:
  1    there is no such job, a worker has it, or it is dead
  see "rueidisson job --help" for the others`

// rescheduling is what job reschedule was asked to do.
type rescheduling struct {
	*jobCall
	id       int64
	delay    time.Duration
	at       string
	now      bool
	priority int
}

func (j *jobCall) rescheduleCommand() *cobra.Command {
	r := &rescheduling{jobCall: j}
	cmd := &cobra.Command{
		Use:   "reschedule NAME ID",
		Short: "Have a job come at another time, or with another priority",
		Long:  jobRescheduleLong,
		Example: `  rueidisson job reschedule mails 1795356000123 --delay 10m
  rueidisson job reschedule mails 1795356000123 --at 2027-01-01T00:00:00Z
  rueidisson job reschedule mails 1795356000123 --now --priority 9`,
		Args: nameAndID(&r.id),
		RunE: func(cmd *cobra.Command, args []string) error {
			do, err := r.check(cmd)
			if err != nil {
				return err
			}
			return r.with(args[0], func(q *jobs) error {
				if cmd.Flags().Changed("priority") {
					if err := q.SetPriority(cmd.Context(), r.id, r.priority); err != nil {
						return r.answered(q, r.id, err)
					}
				}
				if err := do(cmd.Context(), q); err != nil {
					return r.answered(q, r.id, err)
				}
				return r.TellDone(struct {
					Name string `json:"name"`
					ID   int64  `json:"id"`
				}{q.Name(), r.id}, "%d\n", r.id)
			})
		},
	}
	f := cmd.Flags()
	f.DurationVar(&r.delay, "delay", 0, "in `D`")
	f.StringVar(&r.at, "at", "", "at `T`, such as 2027-01-01T00:00:00Z")
	f.BoolVar(&r.now, "now", false, "at once")
	f.IntVar(&r.priority, "priority", 0, "`N` of 0 to 255: it passes those of lower ones")
	return cmd
}

// check reads the flags, and returns what is to be done about the time.
func (r *rescheduling) check(cmd *cobra.Command) (do func(ctx context.Context, q *jobs) error, err error) {
	times := 0
	do = func(context.Context, *jobs) error { return nil }
	if cmd.Flags().Changed("delay") {
		times++
		do = func(ctx context.Context, q *jobs) error { return q.Reschedule(ctx, r.id, reliable.WithDelay(r.delay)) }
	}
	if cmd.Flags().Changed("at") {
		times++
		at, err := time.Parse(time.RFC3339, r.at)
		if err != nil {
			return nil, exit.Usagef("--at %q is no time such as 2027-01-01T00:00:00Z", r.at)
		}
		do = func(ctx context.Context, q *jobs) error { return q.Reschedule(ctx, r.id, reliable.WithAt(at)) }
	}
	if r.now {
		times++
		do = func(ctx context.Context, q *jobs) error { return q.RunNow(ctx, r.id) }
	}
	if times > 1 || times == 0 && !cmd.Flags().Changed("priority") {
		return nil, exit.Usagef("one of --delay, --at and --now is needed, or --priority")
	}
	return do, nil
}
