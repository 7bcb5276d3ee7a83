package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

const jobQueuesLong = `queues shows the names of the reliable queues that there are, one a line, in no order.
It looks through the keys of Redis, of all masters of a cluster, by SCAN. A name that
has something which is not printable is quoted as Go does it.

With --json an object in each line: {"name"}. The exit code is 0 also if there are none.`

func (j *jobCall) queuesCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "queues",
		Short:   "Show the names of the queues",
		Long:    jobQueuesLong,
		Example: "  rueidisson job queues",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Usagef("queues has no arguments, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error {
				return j.WithClient(func(c *rueidisson.Client) error { return j.queues(ctx, c) })
			})
		},
	}
}

func (j *jobCall) queues(ctx context.Context, c *rueidisson.Client) error {
	for name, err := range reliable.Queues(ctx, c) {
		if err != nil {
			return err
		}
		if j.JSON {
			j.SayJSON(j.Stdout, struct {
				Name string `json:"name"`
			}{name})
			continue
		}
		fmt.Fprintln(j.Stdout, values.Printable(name))
	}
	return nil
}
