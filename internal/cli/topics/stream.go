package topics

import (
	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/stream"
)

const streamLong = `stream works with what groups of streams that a fleet shares, Java too (RStream), have
put aside.

Fields and values are written by a codec. All clients of a stream have to use the same
one. --codec F is for both, --codec K,V sets them apart; F is text, bytes, json, msgpack,
kryo5, jackson[:CLASS] or jackson-msgpack[:CLASS]. Without it fields are text and values
msgpack. A value that has no text is shown as JSON, and bytes that are no UTF-8 in base64,
which --json tells by "base64":true.

Exit codes of all:
  0    done
  1    redrive and purge: none was there for it
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else; what is
       there cannot be decoded`

const streamExample = `  rueidisson stream dead orders billing
  rueidisson stream redrive orders billing`

func streamCommand(t *tool.Tool) *cobra.Command {
	c := &streamCall{Tool: t}
	cmd := &cobra.Command{
		Use:     "stream",
		Short:   "Look at what groups of a stream have put aside, and have it come again",
		Long:    streamLong,
		Example: streamExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after stream") },
	}
	cmd.PersistentFlags().StringVar(&c.codec, "codec", "text,msgpack", "`F` of fields and values, or K,V")
	cmd.AddCommand(inspect.ListCommand(t, streamObjects), inspect.InfoCommand(t, streamObjects), inspect.RemoveCommand(t, streamObjects, streamHandle))
	cmd.AddCommand(deadCommands(t, deadKind{
		command: "stream", by: "GROUP", whose: "a group of a stream", what: "entries", example: "orders billing",
		of:     c.ofGroup,
		keys:   func() codec.Family { return c.fields },
		values: func() codec.Family { return c.values },
	})...)
	return cmd
}

// streamCall is one command of stream.
type streamCall struct {
	*tool.Tool
	codec          string
	fields, values codec.Family
}

func (c *streamCall) ofGroup(cmd *cobra.Command, name, by string, do func(putAside) error) (err error) {
	if c.fields, c.values, err = values.Families(c.codec); err != nil {
		return err
	}
	return c.WithClient(func(client *rueidisson.Client) error {
		g := stream.New[string, string](client, name, stream.WithCodec(codec.Bytes)).Group(by)
		return do(putAside{name: name, by: by, redrive: g.Redrive, purge: g.PurgeDead, all: func(yield func(deadEntry, error) bool) {
			for it, err := range g.Dead(cmd.Context()) {
				if !yield(deadEntry{it.ID, it.Attempts, it.Cause, it.Buried, it.Fields}, err) {
					return
				}
			}
		}})
	})
}

var streamObjects = inspect.Objects{Noun: "stream", Plural: "streams", Example: "orders", Kinds: []string{"stream"}, Type: "stream"}

func streamHandle(c *rueidisson.Client, name string, _ inspect.Seen) tool.Removable {
	return stream.New[string, string](c, name)
}
