package queues

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/queue"
)

const queueAddLong = `add puts each VALUE at the tail, or with --first at the head, the last one in front
of all, and prints how many elements there are then. VALUE is a string, unless --as
says otherwise: int, float, bool, json, or base64 for bytes. It is sent once. A single -
stands for the lines of standard input: an element for each, without its line end, put
as they come, many at a time.

With --bounded each VALUE waits until there is room, until a signal comes, or for
--wait D; --wait 0 tries once. What was put before there was none stays. D is for all
VALUEs together, and for each line of standard input.

With --delayed it comes into the queue after --delay D, if somebody moves it then:
a program that offers, takes or keeps there, such as "rueidisson queue keep". The
number is that of those who wait.

With --json: {"name", "size"}.

See "rueidisson queue --help" for codecs and exit codes.`

// queueAdd is what add was asked to do.
type queueAdd struct {
	as        string
	first     bool
	delay     time.Duration
	hasWait   bool
	hasDelay  bool
	name      string
	arguments []string
}

func (c *queueCall) addCommand() *cobra.Command {
	var a queueAdd
	cmd := &cobra.Command{
		Use:   "add NAME VALUE...",
		Short: "Put elements into a queue",
		Long:  queueAddLong,
		Example: `  rueidisson queue add orders 42 43 --as int
  rueidisson queue add orders '{"id":42}' --as json --codec json
  rueidisson queue add orders 44 --bounded --wait 1m
  rueidisson queue add orders 45 --delayed --delay 15m
  rueidisson queue add orders - < orders.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exit.Usagef("NAME and a VALUE are needed, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.name, a.arguments = args[0], args[1:]
			a.hasWait, a.hasDelay = cmd.Flags().Changed("wait"), cmd.Flags().Changed("delay")
			if err := c.fits(a); err != nil {
				return err
			}
			return c.with(a.name, func(client *rueidisson.Client) error {
				return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error { return c.add(ctx, client, a) })
			})
		},
	}
	cmd.Flags().StringVar(&a.as, "as", "string", "VALUE is a `TYPE`: string, int, float, bool, json, base64")
	cmd.Flags().BoolVar(&a.first, "first", false, "put it at the head")
	cmd.Flags().DurationVar(&a.delay, "delay", 0, "let it come into the queue after `D`")
	cmd.Flags().DurationVar(&c.wait, "wait", 0, "give up after `D` without room (default: wait until a signal comes)")
	return cmd
}

// fits refuses flags that do not go together.
func (c *queueCall) fits(a queueAdd) error {
	switch {
	case a.hasWait && !c.bounded:
		return exit.Usagef("--wait is for --bounded: other queues have room")
	case c.wait < 0:
		return exit.Usagef("--wait %v is negative", c.wait)
	case a.hasDelay != c.delayed:
		return exit.Usagef("--delayed and --delay D go together")
	case a.delay < 0:
		return exit.Usagef("--delay %v is negative", a.delay)
	case a.first && (c.bounded || c.delayed):
		return exit.Usagef("--first is for plain queues")
	}
	return nil
}

func (c *queueCall) add(ctx context.Context, client *rueidisson.Client, a queueAdd) error {
	if err := c.checkKind(ctx, a.name); err != nil {
		return err
	}
	var size int64
	put := func(arguments []string) error {
		elements := make([]string, len(arguments))
		for i, arg := range arguments {
			var err error
			if elements[i], err = values.Encode(c.elements, arg, a.as); err != nil {
				return err
			}
		}
		var err error
		size, err = c.offer(ctx, client, a, elements)
		return err
	}
	var err error
	switch {
	case !tool.AreLines(a.arguments):
		err = put(a.arguments)
	case c.bounded: // --wait is for each line
		err = c.EachLine(ctx, func(line string) error { return put([]string{line}) })
	default:
		err = c.EachBatch(ctx, put)
	}
	if err == nil && size == 0 { // standard input had no line
		size, err = c.count(ctx, client, a.name)
	}
	if err != nil {
		return err
	}
	return c.tellSize(a.name, size)
}

func (c *queueCall) offer(ctx context.Context, client *rueidisson.Client, a queueAdd, values []string) (n int64, err error) {
	switch {
	case c.bounded:
		return c.offerBounded(ctx, queue.NewBounded[string](client, a.name, rawElements()), a, values)
	case c.delayed:
		to := c.delayedQueue(client, a.name)
		for _, v := range values {
			if n, err = to.Offer(ctx, v, a.delay); err != nil {
				return n, err
			}
		}
		return n, nil
	case a.first:
		return queue.New[string](client, a.name, rawElements()).OfferFirst(ctx, values...)
	}
	return c.shelf(client, a.name).Offer(ctx, values...)
}

// offerBounded puts values where there may be no room, one after the other.
func (c *queueCall) offerBounded(ctx context.Context, to *queue.Bounded[string], a queueAdd, values []string) (n int64, err error) {
	until := time.Now().Add(c.wait)
	for _, v := range values {
		if a.hasWait {
			n, err = to.TryOffer(ctx, v, queue.WithWait(max(time.Until(until), 0)))
		} else {
			n, err = to.Offer(ctx, v)
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
