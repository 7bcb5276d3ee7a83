package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
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
	*tool
	length time.Duration // 0: until it is interrupted
}

func observeCommand(t *tool) *cobra.Command {
	o := &observing{tool: t}
	cmd := &cobra.Command{
		Use:     "observe NAME",
		Short:   "Show who leads, and each change",
		Long:    observeLong,
		Example: observeExample,
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("for") && o.length <= 0 {
				return usage("--for %v is not positive", o.length)
			}
			return o.withClient(func(c *rueidisson.Client) error {
				waiting, stop := interruptible(cmd.Context())
				defer stop()
				return unlessOver(waiting, o.present(waiting, func(p *presence) error { return o.observe(waiting, p, c.Election(args[0])) }))
			})
		},
	}
	cmd.Flags().DurationVar(&o.length, "for", 0, "end after `D` (default: go on until Ctrl-C)")
	return cmd
}

var errObserved = errors.New("it was observed for as long as was asked")

func (o *observing) observe(ctx context.Context, p *presence, el *election.Election) error {
	if o.length > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, o.length, errObserved)
		defer cancel()
		ctx = bounded
	}
	for leader, err := range el.Observe(ctx) {
		switch {
		case errors.Is(err, errObserved):
			return p.over()
		case p.noticed(err):
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
	s.Value, s.Base64 = readable(l.Value)
	if o.json {
		o.sayJSON(o.stdout, s)
		return
	}
	fmt.Fprintln(o.stdout, printable(s.Value))
}
