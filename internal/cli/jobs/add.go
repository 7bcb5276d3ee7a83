package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

const jobAddLong = `add adds a job for each BODY and prints the ids, one a line. A single - stands for the
lines of standard input: a job for each, without its line end, added as they come, many
at a time. BODY is a string, unless --as says otherwise: int, float, bool, json, or
base64 for bytes.

An id that was printed is that of a job which is there until it is done. If the end is
69, more may have been added: repeat it with --dedup.

--dedup and --unique are for one job at a time: KEY was used for another less than TTL
ago, or for one that is not done yet, which ends it with 1.

With --json an object in each line: {"name", "id"}, or {"name", "added":false, "error"}.

See "rueidisson job --help" for codecs and exit codes.`

// adding is what job add was asked to do.
type adding struct {
	*jobCall
	as            string
	delay, expiry time.Duration
	priority      int
	group, unique string
	dedup         string
	opts          []reliable.AddOption
}

func (j *jobCall) addCommand() *cobra.Command {
	a := &adding{jobCall: j}
	cmd := &cobra.Command{
		Use:                   "add NAME BODY... [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Add jobs",
		Long:                  jobAddLong,
		Example: `  rueidisson job add mails ann bob
  rueidisson job add mails ann --delay 10m --dedup ann=24h
  rueidisson job add imports - < files.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exit.Usagef("NAME and a BODY at least are needed, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.check(cmd, args[1:]); err != nil {
				return err
			}
			return a.with(args[0], func(q *jobs) error {
				return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error { return a.add(ctx, q, args[1:]) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.as, "as", "string", "BODY is a `TYPE`: string, int, float, bool, json, base64")
	f.DurationVar(&a.delay, "delay", 0, "nobody gets it for `D`")
	f.DurationVar(&a.expiry, "expiry", 0, "drop it if nobody has got it within `D`")
	f.IntVar(&a.priority, "priority", 0, "`N` of 0 to 255: it passes those of lower ones")
	f.StringVar(&a.group, "group", "", "the jobs of `G` are done one after the other")
	f.StringVar(&a.dedup, "dedup", "", "`KEY=TTL`: not if KEY was used less than TTL ago")
	f.StringVar(&a.unique, "unique", "", "not while another job of that `KEY` is not done")
	return cmd
}

// check reads the flags; what values they may have the library knows.
func (a *adding) check(cmd *cobra.Command, bodies []string) error {
	given := cmd.Flags().Changed
	if given("delay") {
		a.opts = append(a.opts, reliable.WithDelay(a.delay))
	}
	if given("expiry") {
		a.opts = append(a.opts, reliable.WithExpiry(a.expiry))
	}
	if given("priority") {
		a.opts = append(a.opts, reliable.WithPriority(a.priority))
	}
	if given("group") {
		a.opts = append(a.opts, reliable.WithGroup(a.group))
	}
	if given("unique") {
		a.opts = append(a.opts, reliable.WithUnique(a.unique))
	}
	if given("dedup") {
		at := strings.LastIndexByte(a.dedup, '=')
		ttl, err := usage.ParseDuration(a.dedup[at+1:])
		if at < 0 || err != nil {
			return exit.Usagef("--dedup %q is not KEY=TTL, such as ann=24h", a.dedup)
		}
		a.opts = append(a.opts, reliable.WithDedup(a.dedup[:at], ttl))
	}
	if (given("dedup") || given("unique")) && (len(bodies) > 1 || tool.AreLines(bodies)) {
		return exit.Usagef("--dedup and --unique are for one BODY")
	}
	return nil
}

func (a *adding) add(ctx context.Context, q *jobs, bodies []string) error {
	if tool.AreLines(bodies) {
		return a.EachBatch(ctx, func(lines []string) error { return a.addAll(ctx, q, lines) })
	}
	return a.addAll(ctx, q, bodies)
}

// addAll adds jobs, and prints the ids of those that were.
func (a *adding) addAll(ctx context.Context, q *jobs, bodies []string) error {
	all := make([]jobBody, len(bodies))
	for i, body := range bodies {
		var err error
		if all[i].bytes, err = values.Encode(a.bodies, body, a.as); err != nil {
			return err
		}
	}
	ids, err := q.AddAll(ctx, all, a.opts...)
	for _, id := range ids {
		if id != 0 {
			a.tellID(q.Name(), id)
		}
	}
	if errors.Is(err, reliable.ErrDuplicate) {
		return a.duplicate(q.Name(), err)
	}
	return err
}

// duplicate returns the ending of a job that was not added.
func (a *adding) duplicate(name string, err error) error {
	if !a.JSON {
		return &exit.Error{Code: exit.Refused, Err: err}
	}
	a.SayJSON(a.Stdout, struct {
		Name  string `json:"name"`
		Added bool   `json:"added"` // never
		Error string `json:"error"`
	}{name, false, err.Error()})
	return &exit.Error{Code: exit.Refused}
}

func (a *adding) tellID(name string, id int64) {
	if !a.JSON {
		fmt.Fprintln(a.Stdout, id)
		return
	}
	a.SayJSON(a.Stdout, struct {
		Name string `json:"name"`
		ID   int64  `json:"id"`
	}{name, id})
}
