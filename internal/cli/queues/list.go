package queues

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/queue"
)

const queueListLong = `ls shows the elements, the head first, each on a line, and leaves them there. What has
something that is not printable, such as a newline, is quoted as Go does it. With
--delayed it shows what waits, the first to be due first: when it is due, a tab, and
the element. What cannot be decoded is told on standard error, the others are shown,
and the exit code is 69.

With --json an object in each line: {"value"}, with --delayed {"value", "due_ms"}: in
how long it is due.

See "rueidisson queue --help" for codecs and exit codes.`

func (c *queueCall) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls NAME",
		Short: "Show all elements",
		Long:  queueListLong,
		Example: `  rueidisson queue ls orders
  rueidisson queue ls orders --delayed --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(args[0], func(client *rueidisson.Client) error {
				if c.delayed {
					return c.listWaiting(cmd.Context(), client, args[0])
				}
				var told tool.Undecoded
				for text, err := range c.shelf(client, args[0]).Values(cmd.Context()) {
					if err == nil {
						err = c.row(args[0], text)
					}
					if err = told.Note(c.Tool, err); err != nil {
						return err
					}
				}
				return told.Last
			})
		},
	}
}

func (c *queueCall) listWaiting(ctx context.Context, client *rueidisson.Client, name string) error {
	var told tool.Undecoded
	for w, err := range c.delayedQueue(client, name).Waiting(ctx) {
		var v values.Value
		if err == nil {
			v, err = c.element(name, w.Value)
		}
		if err == nil {
			err = c.print(
				shownElement{Value: v.JSON(), Base64: v.Base64, DueMS: values.Milliseconds(max(time.Until(w.Due), 0))},
				fmt.Sprintf("%s\t%s", w.Due.UTC().Format("2006-01-02T15:04:05.000Z"), v.Line()))
		}
		if err = told.Note(c.Tool, err); err != nil {
			return err
		}
	}
	return told.Last
}

const queueDrainLong = `drain takes all elements, and shows each on a line. What cannot be decoded is told on
standard error and goes back to the head, and the exit code is 69. So does what
standard output does not take.

With --json an object in each line: {"value"}, or {"name", "found":false}.

Exit codes:
  1    the queue was empty
  see "rueidisson queue --help" for codecs and the others`

func (c *queueCall) drainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "drain NAME",
		Short:   "Take all elements, and show them",
		Long:    queueDrainLong,
		Example: "  rueidisson queue drain orders > orders.txt",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(args[0], func(client *rueidisson.Client) error {
				run.OutlivePipes()
				return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error { return c.drain(ctx, client, args[0]) })
			})
		},
	}
}

func (c *queueCall) drain(ctx context.Context, client *rueidisson.Client, name string) error {
	if err := c.checkKind(ctx, name); err != nil {
		return err
	}
	if err := c.moveDue(ctx, client, name); err != nil {
		return err
	}
	texts, err := c.shelf(client, name).Drain(ctx)
	if err == nil && len(texts) == 0 {
		return queue.ErrEmpty
	}
	var told tool.Undecoded
	var unseen []string
	var over error // nothing more is shown
	for _, text := range texts {
		one := over
		if one == nil {
			one = c.item(name, text)
		}
		if one != nil {
			unseen = append(unseen, text)
		}
		over = told.Note(c.Tool, one)
	}
	if len(unseen) > 0 {
		over = errors.Join(over, c.putBack(client, name, unseen...))
	}
	return errors.Join(told.Last, over, err)
}
