package topics

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
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/topic"
)

const topicLong = `topic publishes messages to all who listen, Java too (RTopic; with --sharded
RShardedTopic, with --pattern RPatternTopic), and shows them. dead, redrive and purge are
about what durable names of a reliable topic have put aside.

publish and listen are about topics that store nothing. A reliable topic is published to
by programs: dead, redrive and purge are about such.

Messages are written by a codec. All clients of a topic have to use the same one.
--codec F is text, bytes, json, msgpack, kryo5, jackson[:CLASS] or
jackson-msgpack[:CLASS]; without it they are msgpack. A message that has no text is
shown as JSON, and bytes that are no UTF-8 in base64, which --json tells by
"base64":true.

Exit codes of all:
  0    done; listen: Ctrl-C, or --for is over
  1    redrive and purge: none was there for it
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses`

const topicExample = `  rueidisson topic listen prices
  rueidisson topic listen 'orders:*' --pattern --for 1m --json
  rueidisson topic publish prices 120 --as int`

// Commands returns the commands of topics and streams.
func Commands(t *tool.Tool) []*cobra.Command {
	return []*cobra.Command{topicCommand(t), streamCommand(t)}
}

func topicCommand(t *tool.Tool) *cobra.Command {
	c := &topicCall{Tool: t}
	cmd := &cobra.Command{
		Use:     "topic",
		Short:   "Publish messages to all who listen, and show them",
		Long:    topicLong,
		Example: topicExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after topic") },
	}
	cmd.PersistentFlags().StringVar(&c.codec, "codec", "msgpack", "`F` of the messages")
	cmd.PersistentFlags().BoolVar(&c.sharded, "sharded", false, "the topic is an RShardedTopic")
	cmd.AddCommand(c.publishCommand(), c.listenCommand())
	cmd.AddCommand(c.deadCommands()...)
	return cmd
}

// topicCall is one command of topic.
type topicCall struct {
	*tool.Tool
	codec    string
	sharded  bool
	pattern  bool
	length   time.Duration // 0: until it is interrupted
	messages codec.Family
}

func (c *topicCall) family() (err error) {
	if c.messages, err = codec.ParseFamily(c.codec); err != nil {
		return exit.Usagef("--codec %s: %v", c.codec, err)
	}
	return nil
}

// asBytes gives a topic of the command line a codec of bytes: the command line knows theirs.
func asBytes() topic.Option { return topic.WithCodec(codec.Bytes) }

const topicPublishLong = `publish sends MESSAGE to all who listen to NAME now, and prints how many
subscribers the server gave it to: processes, not listeners. MESSAGE is a string,
unless --as says otherwise: int, float, bool, json, or base64 for bytes. It is sent
once. A MESSAGE of - stands for the lines of standard input: a message for each, without
its line end, sent as they come, with a number for each.

With --json an object in each line: {"name", "receivers"}.

See "rueidisson topic --help" for codecs and exit codes.`

func (c *topicCall) publishCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "publish NAME MESSAGE",
		Short: "Send a message",
		Long:  topicPublishLong,
		Example: `  rueidisson topic publish prices 120 --as int
  rueidisson topic publish orders '{"id":42}' --as json --codec json
  tail -f app.log | rueidisson topic publish log -`,
		Args: usage.Exactly(2, "NAME and MESSAGE are"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.family(); err != nil {
				return err
			}
			if tool.AreLines(args[1:]) {
				return c.WithClient(func(client *rueidisson.Client) error {
					return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error {
						return c.EachLine(ctx, func(line string) error { return c.publishAs(ctx, client, args[0], line, as) })
					})
				})
			}
			if _, err := values.Encode(c.messages, args[1], as); err != nil {
				return err
			}
			return c.WithClient(func(client *rueidisson.Client) error {
				return c.publishAs(cmd.Context(), client, args[0], args[1], as)
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", "string", "MESSAGE is a `TYPE`: string, int, float, bool, json, base64")
	return cmd
}

func (c *topicCall) publishAs(ctx context.Context, client *rueidisson.Client, name, text, as string) error {
	message, err := values.Encode(c.messages, text, as)
	if err != nil {
		return err
	}
	var n int64
	if c.sharded {
		n, err = topic.NewSharded[string](client, name, asBytes()).Publish(ctx, message)
	} else {
		n, err = topic.New[string](client, name, asBytes()).Publish(ctx, message)
	}
	switch {
	case err != nil:
		return err
	case c.JSON:
		c.SayJSON(c.Stdout, struct {
			Name      string `json:"name"`
			Receivers int64  `json:"receivers"`
		}{name, n})
	default:
		fmt.Fprintln(c.Stdout, n)
	}
	return nil
}

const topicListenLong = `listen shows each message to NAME on a line, from when it has subscribed until
Ctrl-C, or --for is over, both with exit code 0. What has something that is not
printable, such as a newline, is quoted as Go does it. With --pattern NAME is a glob,
and a line is the channel, a tab, and the message. Standard error has a line when the
server is lost, and one when it is back: messages may be missing between them. It also
tells of messages that are missing since this end is too slow, and of those that do not
decode. If --for is over while the server is away, the exit code is 69.

With --json an object in each line: {"time", "channel", "message"}, or {"missed":N}
for a gap, -1 where nobody knows how many.

See "rueidisson topic --help" for codecs and exit codes.`

func (c *topicCall) listenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "listen NAME",
		Short: "Show messages as they come",
		Long:  topicListenLong,
		Example: `  rueidisson topic listen prices
  rueidisson topic listen 'orders:*' --pattern --for 1m --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("for") && c.length <= 0:
				return exit.Usagef("--for %v is not positive", c.length)
			case c.pattern && c.sharded:
				return exit.Usagef("--pattern and --sharded do not go together: no pattern hears a sharded topic")
			}
			if err := c.family(); err != nil {
				return err
			}
			return c.WithClient(func(client *rueidisson.Client) error {
				waiting, stop := run.Interruptible(cmd.Context())
				defer stop()
				return run.UnlessOver(waiting, c.Present(waiting, func(p *tool.Presence) error { return c.listen(waiting, p, client, args[0]) }))
			})
		},
	}
	cmd.Flags().BoolVar(&c.pattern, "pattern", false, "NAME is a glob, and all topics that match are shown")
	cmd.Flags().DurationVar(&c.length, "for", 0, "end after `D` (default: go on until Ctrl-C)")
	return cmd
}

var errListened = errors.New("it was listened to for as long as was asked")

func (c *topicCall) listen(ctx context.Context, p *tool.Presence, client *rueidisson.Client, name string) error {
	if c.length > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, c.length, errListened)
		defer cancel()
		ctx = bounded
	}
	for m, err := range c.heard(ctx, client, name) {
		var lagged *topic.LaggedError
		switch {
		case errors.Is(err, errListened):
			return p.Over()
		case p.Noticed(err):
			if c.JSON && errors.Is(err, topic.ErrInterrupted) {
				c.gap(-1, err)
			}
		case errors.As(err, &lagged):
			c.gap(lagged.Missed, err)
		case errors.Is(err, topic.ErrInterrupted):
			c.gap(-1, err)
		case err != nil:
			return err
		default:
			c.show(name, m)
		}
	}
	return nil
}

// heard returns the messages of a topic of any kind.
func (c *topicCall) heard(ctx context.Context, client *rueidisson.Client, name string) iter.Seq2[topic.Message[string], error] {
	if c.pattern {
		return topic.NewPattern[string](client, name, asBytes()).Subscribe(ctx)
	}
	all := topic.New[string](client, name, asBytes()).Subscribe(ctx)
	if c.sharded {
		all = topic.NewSharded[string](client, name, asBytes()).Subscribe(ctx)
	}
	return func(yield func(topic.Message[string], error) bool) {
		for text, err := range all {
			if !yield(topic.Message[string]{Channel: name, Value: text}, err) {
				return
			}
		}
	}
}

// gap tells of messages that were missed, -1 if nobody knows how many.
func (c *topicCall) gap(missed int64, err error) {
	if !c.JSON {
		c.Say("%v", err)
		return
	}
	c.SayJSON(c.Stdout, struct {
		Missed int64 `json:"missed"`
	}{missed})
}

func (c *topicCall) show(name string, m topic.Message[string]) {
	v, err := values.Decode(c.messages, m.Value)
	switch {
	case err != nil:
		c.Say("%v", &codec.DecodeError{Name: name, Key: m.Channel, Bytes: []byte(m.Value), Cause: err})
	case c.JSON:
		c.SayJSON(c.Stdout, struct {
			Time    time.Time `json:"time"`
			Channel string    `json:"channel"`
			Message any       `json:"message"`
			Base64  bool      `json:"base64,omitempty"`
		}{time.Now().UTC(), m.Channel, v.JSON(), v.Base64})
	case c.pattern:
		fmt.Fprintf(c.Stdout, "%s\t%s\n", values.Printable(m.Channel), v.Line())
	default:
		fmt.Fprintln(c.Stdout, v.Line())
	}
}
