package queues

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/queue"
)

const queueLong = `queue works with the queues that a fleet shares, Java too (RQueue, RDeque,
RBlockingQueue; with --bounded RBoundedBlockingQueue, with --delayed --redisson
RDelayedQueue).

Elements are written by a codec. All clients of a queue have to use the same one.
--codec F is text, bytes, json, msgpack, kryo5, jackson[:CLASS] or
jackson-msgpack[:CLASS]; without it they are msgpack. An element that has no text is
shown as JSON, and bytes that are no UTF-8 in base64, which --json tells by
"base64":true.

A bounded queue needs --bounded in each command, and refuses --delayed. A ring buffer is written by programs
only: add, take and drain refuse it.

With --delayed, len and ls are about what waits, and take, peek and drain about the
queue that it comes into: what is due is moved there before. What waits has one of two
formats: add, len and ls are about that of --redisson, which Java shares, or else about
that of queue.Delayed. What is due is moved in both.

Exit codes of all:
  0    done
  1    the queue is empty; info, rm: there is no such queue
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else; what is
       there cannot be decoded, and is put back
  75   not in time; no room
  78   nobody has set the capacity of a bounded queue
  128+N  a signal came first, and nothing was taken`

const queueExample = `  rueidisson queue add orders 42 43 --as int
  rueidisson queue take orders --wait 1m
  rueidisson queue add orders 44 --as int --delayed --delay 15m
  rueidisson queue keep orders payments`

// Commands returns the command of queues.
func Commands(t *tool.Tool) []*cobra.Command {
	return []*cobra.Command{queueCommand(t)}
}

func queueCommand(t *tool.Tool) *cobra.Command {
	c := &queueCall{Tool: t}
	cmd := &cobra.Command{
		Use:     "queue",
		Short:   "Put elements into a queue, take them, look at them",
		Long:    queueLong,
		Example: queueExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after queue") },
	}
	cmd.PersistentFlags().StringVar(&c.codec, "codec", "msgpack", "`F` of the elements")
	cmd.PersistentFlags().BoolVar(&c.bounded, "bounded", false, "the queue is an RBoundedBlockingQueue: it holds so many elements at most")
	cmd.PersistentFlags().BoolVar(&c.delayed, "delayed", false, "elements wait before they come into the queue")
	cmd.PersistentFlags().BoolVar(&c.shared, "redisson", false, "with --delayed: what waits is in Redisson's format")
	cmd.AddCommand(c.addCommand(), c.takeCommand(), c.peekCommand(), c.lenCommand(), c.listCommand(), c.drainCommand(), c.keepCommand(),
		inspect.InfoCommand(c.Tool, queueObjects), c.removeWholeCommand())
	return cmd
}

// queueCall is one command of queue.
type queueCall struct {
	*tool.Tool
	codec            string
	bounded, delayed bool
	shared           bool // what waits is in Redisson's format
	last             bool
	wait             time.Duration
	elements         codec.Family
}

// shelf is what the kinds of queue have in common. Elements are bytes here: it is the
// command line that knows their codec.
type shelf interface {
	Offer(ctx context.Context, v ...string) (int64, error)
	Poll(ctx context.Context) (string, error)
	Peek(ctx context.Context) (string, error)
	Take(ctx context.Context) (string, error)
	Drain(ctx context.Context) ([]string, error)
	Values(ctx context.Context) iter.Seq2[string, error]
	Len(ctx context.Context) (int64, error)
}

func rawElements() queue.Option { return queue.WithCodec(codec.Bytes) }

// with runs do with a client, on the queue of that name.
func (c *queueCall) with(name string, do func(client *rueidisson.Client) error) (err error) {
	if c.bounded && c.delayed {
		return exit.Usagef("--bounded and --delayed exclude each other")
	}
	if c.shared && !c.delayed {
		return exit.Usagef("--redisson is for --delayed: other queues have one format")
	}
	if c.last && c.bounded {
		return exit.Usagef("--last is not for --bounded: such a queue has one end")
	}
	if c.elements, err = codec.ParseFamily(c.codec); err != nil {
		return exit.Usagef("--codec %s: %v", c.codec, err)
	}
	return c.WithClient(func(client *rueidisson.Client) error { return c.queueFailed(name, do(client)) })
}

// queueFailed returns the ending for what is an answer.
func (c *queueCall) queueFailed(name string, err error) error {
	switch {
	case errors.Is(err, queue.ErrEmpty):
		return c.Absent(tool.Missing{Name: name}, nil)
	case errors.Is(err, queue.ErrFull):
		return &exit.Error{Code: exit.NotAcquired, Err: err}
	case errors.Is(err, queue.ErrNoCapacity):
		return &exit.Error{Code: exit.NoRate, Err: err}
	}
	return err
}

// checkKind refuses a bounded queue without --bounded, and a ring buffer: what goes past the number of their free
// places changes their capacity for good.
func (c *queueCall) checkKind(ctx context.Context, name string) error {
	if c.bounded {
		return nil
	}
	redis, err := c.Dial()
	if err != nil {
		return exit.Failed(err)
	}
	defer redis.Close()
	kind, err := (&inspect.Look{Tool: c.Tool, Redis: redis, Name: name}).Kind(ctx)
	if err != nil {
		return nil // the command says why
	}
	switch kind {
	case inspect.KindBounded:
		if c.delayed {
			return exit.Failed(fmt.Errorf("queue %q: %w: it is a bounded queue, and what waits would come into it past its capacity", name, rueidisson.ErrWrongKind))
		}
		return exit.Failed(fmt.Errorf("queue %q: %w: it is a bounded queue: give --bounded", name, rueidisson.ErrWrongKind))
	case inspect.KindRing:
		return exit.Failed(fmt.Errorf("queue %q: %w: it is a ring buffer, which only programs write", name, rueidisson.ErrWrongKind))
	}
	return nil
}

// shelf returns the queue that elements are taken from.
func (c *queueCall) shelf(client *rueidisson.Client, name string) shelf {
	if c.bounded {
		return queue.NewBounded[string](client, name, rawElements())
	}
	return queue.New[string](client, name, rawElements())
}

func (c *queueCall) delayedQueue(client *rueidisson.Client, name string) *queue.Delayed[string] {
	if c.shared {
		return queue.NewDelayed[string](client, name, rawElements(), queue.WithRedissonFormat())
	}
	return queue.NewDelayed[string](client, name, rawElements())
}

const queueLenLong = `len shows how many elements there are; with --delayed, how many wait.

With --json: {"name", "size"}.

See "rueidisson queue --help" for exit codes.`

func (c *queueCall) lenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "len NAME",
		Short: "Show how many elements there are",
		Long:  queueLenLong,
		Example: `  rueidisson queue len orders
  rueidisson queue len orders --delayed`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(args[0], func(client *rueidisson.Client) error {
				n, err := c.count(cmd.Context(), client, args[0])
				if err != nil {
					return err
				}
				return c.tellSize(args[0], n)
			})
		},
	}
}

// count returns how many elements there are, or with --delayed wait.
func (c *queueCall) count(ctx context.Context, client *rueidisson.Client, name string) (int64, error) {
	if c.delayed {
		return c.delayedQueue(client, name).Len(ctx)
	}
	return c.shelf(client, name).Len(ctx)
}

func (c *queueCall) tellSize(name string, n int64) error {
	return c.TellDone(struct {
		Name string `json:"name"`
		Size int64  `json:"size"`
	}{name, n}, "%d\n", n)
}

const queueKeepLong = `keep moves what is due in delayed queues, until Ctrl-C, or --for is over, both with
exit code 0. A fleet needs it whose producers come and go, and whose consumers take
from the plain queue: what is due is moved by clients only. Any number may keep at
once, Java too: each element is moved once. Standard error has a line when the server is
lost, and one when it is back. If --for is over while it is away, the exit code is 69.

See "rueidisson queue --help" for exit codes.`

func (c *queueCall) keepCommand() *cobra.Command {
	var length time.Duration
	cmd := &cobra.Command{
		Use:     "keep NAME...",
		Short:   "Move what is due in delayed queues, as long as it runs",
		Long:    queueKeepLong,
		Example: "  rueidisson queue keep orders payments",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("a NAME is needed")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("for") && length <= 0:
				return exit.Usagef("--for %v is not positive", length)
			case c.bounded:
				return exit.Usagef("--bounded is not for keep: it moves what is due in delayed queues")
			}
			return c.with(args[0], func(client *rueidisson.Client) error {
				waiting, stop := run.Interruptible(cmd.Context())
				defer stop()
				return run.UnlessOver(waiting, c.Present(waiting, func(p *tool.Presence) error { return c.keepAll(waiting, p, client, args, length) }))
			})
		},
	}
	cmd.Flags().DurationVar(&length, "for", 0, "end after `D` (default: go on until Ctrl-C)")
	return cmd
}

var errKept = errors.New("they were kept for as long as was asked")

// keepAll keeps queues until one of them cannot be kept, or it is over.
func (c *queueCall) keepAll(ctx context.Context, p *tool.Presence, client *rueidisson.Client, names []string, length time.Duration) error {
	keeping, cancel := context.WithCancel(ctx)
	defer cancel()
	if length > 0 {
		bounded, cancel := context.WithTimeoutCause(keeping, length, errKept)
		defer cancel()
		keeping = bounded
	}
	ended := make(chan error, len(names))
	for _, name := range names {
		go func() { ended <- c.delayedQueue(client, name).Keep(keeping) }() // ends with keeping
	}
	var first error
	for range names {
		err := <-ended
		if first == nil {
			first = err
		}
		cancel()
	}
	if errors.Is(first, errKept) {
		return p.Over()
	}
	return first
}
