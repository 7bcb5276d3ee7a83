package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

const observeLong = `observe shows who leads NAME: a line with the value of the leader, the present one
first, then one for each change; an empty line is for none. Ctrl-C ends it, or
--for, both with exit code 0; so does an error, with its code. Standard error has a line
when the server is lost, and one when it is back. If --for is over while it is away, the
exit code is 69.

With --json an object in each line: {"time", "value", "fence", "owner", "gap"}. The
fencing token "fence" is 0 if nobody leads; "owner" is the id of the leader's client;
"gap" says that there were others before it, who were gone when this one looked. A
value that is no UTF-8 is in base64, with "base64":true.`

const observeExample = `  rueidisson observe scheduler
  rueidisson observe scheduler --for 1m --json >> leaders.jsonl`

// observing is what observe was asked to do.
type observing struct {
	*tool.Tool
	length time.Duration // 0: until it is interrupted
}

func observeCommand(t *tool.Tool) *cobra.Command {
	o := &observing{Tool: t}
	cmd := &cobra.Command{
		Use:     "observe NAME",
		Short:   "Show who leads, and each change",
		Long:    observeLong,
		Example: observeExample,
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("for") && o.length <= 0 {
				return exit.Usagef("--for %v is not positive", o.length)
			}
			return o.WithClient(func(c *rueidisson.Client) error {
				waiting, stop := run.Interruptible(cmd.Context())
				defer stop()
				return run.UnlessOver(waiting, o.Present(waiting, func(p *tool.Presence) error { return o.observe(waiting, p, c.Election(args[0])) }))
			})
		},
	}
	cmd.Flags().DurationVar(&o.length, "for", 0, "end after `D` (default: go on until Ctrl-C)")
	return cmd
}

var errObserved = errors.New("it was observed for as long as was asked")

func (o *observing) observe(ctx context.Context, p *tool.Presence, el *election.Election) error {
	if o.length > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, o.length, errObserved)
		defer cancel()
		ctx = bounded
	}
	for leader, err := range el.Observe(ctx) {
		switch {
		case errors.Is(err, errObserved):
			return p.Over()
		case p.Noticed(err):
			continue
		case err != nil:
			return err
		}
		o.show(leader)
	}
	return nil
}

// shown is a leader in JSON.
type shown struct {
	Time   time.Time `json:"time"`
	Value  string    `json:"value"`
	Base64 bool      `json:"base64,omitempty"`
	Fence  int64     `json:"fence"`
	Owner  string    `json:"owner"`
	Gap    bool      `json:"gap"`
}

func (o *observing) show(l election.Leader) {
	s := shown{Time: time.Now().UTC(), Fence: l.Fence.Number(), Owner: l.Fence.Owner(), Gap: l.Gap}
	s.Value, s.Base64 = values.Readable(l.Value)
	if o.JSON {
		o.SayJSON(o.Stdout, s)
		return
	}
	fmt.Fprintln(o.Stdout, values.Printable(s.Value))
}
