package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// jobStates are the states of messages, as the command line calls them, in the order in
// which they are shown.
var jobStates = []struct {
	name string
	is   reliable.State
}{
	{"leased", reliable.Running}, {"ready", reliable.Ready}, {"behind", reliable.Behind},
	{"due", reliable.Delayed}, {"dead", reliable.Dead},
}

const jobListLong = `ls shows the jobs, each on a line with tabs between: the id, its state, how many
attempts have failed, the body, and why the last attempt did. The state is "ready",
"due" (delayed, or to be tried again), "behind" (it waits for another of its group),
"leased" or "dead". --state S shows those in one state, in its order. What comes and
goes meanwhile may be passed over, or be shown twice. A body that does not decode is
shown as its bytes. A body or a cause that has something which is not printable, such
as a tab or a newline, is quoted as Go does it. Then come, of a leased job, pid@host of the process that has it, and, if a worker has
said it, how far the job is, as JSON.

With --json an object in each line: {"id", "state", "body", "attempts", "error",
"added_ms", "due_ms", "dead_ms", "lease_ms", "delivery", "client", "pid", "host",
"group", "priority", "progress"}; the times are since 1970, due_ms is there while a job is due,
dead_ms if it is dead, error if an attempt has failed. Of a leased job lease_ms is when
its lease ends, delivery is the number that CMD has as RUEIDISSON_DELIVERY, and client,
pid and host are those of its worker.

See "rueidisson job --help" for codecs and exit codes.`

func (j *jobCall) listCommand() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "ls NAME",
		Short: "Show the jobs",
		Long:  jobListLong,
		Example: `  rueidisson job ls mails
  rueidisson job ls mails --state due --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error { return j.listed(cmd.Context(), args[0], state) },
	}
	cmd.Flags().StringVar(&state, "state", "", "only `S`: ready, due, behind, leased or dead")
	return cmd
}

const jobDeadLong = `dead shows the jobs that were buried: their attempts are over, or they could not be
read. It is "ls --state dead".

See "rueidisson job ls --help" for what is shown.`

func (j *jobCall) deadCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "dead NAME",
		Short:   "Show the dead jobs",
		Long:    jobDeadLong,
		Example: "  rueidisson job dead mails --json",
		Args:    usage.OneName,
		RunE:    func(cmd *cobra.Command, args []string) error { return j.listed(cmd.Context(), args[0], "dead") },
	}
}

func (j *jobCall) listed(ctx context.Context, name, state string) error {
	var states []reliable.State
	var names []string
	for _, s := range jobStates {
		names = append(names, s.name)
		if state == "" || state == s.name {
			states = append(states, s.is)
		}
	}
	if len(states) == 0 {
		return exit.Usagef("--state %q is none of %s", state, strings.Join(names, ", "))
	}
	return j.with(name, func(q *jobs) error {
		return run.UnlessInterrupted(ctx, func(ctx context.Context) error { return j.list(ctx, q, states) })
	})
}

func (j *jobCall) list(ctx context.Context, q *jobs, states []reliable.State) error {
	for _, state := range states {
		for info, err := range q.Messages(ctx, state) {
			if err != nil {
				return err
			}
			j.tellInfo(q, &info)
		}
	}
	return nil
}

func (j *jobCall) tellInfo(q *jobs, info *reliable.Info) {
	body, err := q.Decode(*info)
	if err != nil {
		body.shown = values.OfBytes(info.Body)
	}
	state := nameOf(info.State)
	if !j.JSON {
		owner := ""
		if o := info.Owner; o.Client != "" {
			owner = "\t" + values.Printable(fmt.Sprintf("%d@%s", o.PID, o.Host))
		}
		progress := ""
		if info.Progress != nil {
			progress = "\t" + values.Printable(string(info.Progress))
		}
		fmt.Fprintf(j.Stdout, "%d\t%s\t%d\t%s\t%s%s%s\n", info.ID, state, info.Attempts, values.Printable(body.shown.Text), values.Printable(info.Cause), owner, progress)
		return
	}
	told := struct {
		ID       int64  `json:"id"`
		State    string `json:"state"`
		Body     any    `json:"body"`
		Base64   bool   `json:"base64,omitempty"`
		Attempts int    `json:"attempts"`
		Error    string `json:"error,omitempty"`
		AddedMS  int64  `json:"added_ms"`
		DueMS    int64  `json:"due_ms,omitempty"`
		DeadMS   int64  `json:"dead_ms,omitempty"`
		DoneMS   int64  `json:"done_ms,omitempty"`
		LeaseMS  int64  `json:"lease_ms,omitempty"`
		Delivery int64  `json:"delivery,omitempty"`
		Client   string `json:"client,omitempty"`
		PID      int    `json:"pid,omitempty"`
		Host     string `json:"host,omitempty"`
		Group    string `json:"group,omitempty"`
		Priority int    `json:"priority"`

		Progress json.RawMessage `json:"progress,omitempty"`
	}{
		ID: info.ID, State: state, Body: body.shown.JSON(), Base64: body.shown.Base64, Attempts: info.Attempts,
		Error: info.Cause, AddedMS: sinceEpoch(info.AddedAt), Group: info.Group, Priority: info.Priority,
		Delivery: info.Delivery, Client: info.Owner.Client, PID: info.Owner.PID, Host: info.Owner.Host,
		Progress: info.Progress,
	}
	switch info.State {
	case reliable.Delayed:
		told.DueMS = sinceEpoch(info.When)
	case reliable.Running:
		told.LeaseMS = sinceEpoch(info.When)
	case reliable.Done:
		told.DoneMS = sinceEpoch(info.When)
	case reliable.Dead:
		told.DeadMS = sinceEpoch(info.When)
	}
	j.SayJSON(j.Stdout, told)
}

func nameOf(state reliable.State) string {
	for _, s := range jobStates {
		if s.is == state {
			return s.name
		}
	}
	return string(state)
}

// sinceEpoch returns 0 for a time that nobody knows.
func sinceEpoch(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
