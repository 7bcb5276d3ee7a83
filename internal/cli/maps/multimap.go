package maps

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/multimap"
)

const multimapLong = `multimap works with the multimaps of lists and of sets that a fleet shares, Java too
(RListMultimap, RSetMultimap): a key has any number of values.

Keys and values are written by a codec, as those of "rueidisson map" are: all clients
of a multimap have to use the same one. --codec F is for both, --codec K,V sets them
apart. Without it keys are text and values msgpack.

Exit codes of all:
  0    done
  1    there is no such key, or no such multimap
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else; what is
       there cannot be decoded`

const multimapExample = `  rueidisson multimap ls
  rueidisson multimap put tags post:1 go redis --set
  rueidisson multimap get tags post:1
  rueidisson multimap info tags --json
  rueidisson multimap rm tags`

// multimapCall is one command of multimap.
type multimapCall struct {
	*tool.Tool
	codec        string
	keys, values codec.Family
	set          bool
}

func multimapCommand(t *tool.Tool) *cobra.Command {
	m := &multimapCall{Tool: t}
	cmd := &cobra.Command{
		Use:     "multimap",
		Short:   "Read, write, show and remove multimaps",
		Long:    multimapLong,
		Example: multimapExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after multimap") },
	}
	cmd.AddCommand(m.getCommand(), m.putCommand(), inspect.ListCommand(t, multimapObjects), inspect.InfoCommand(t, multimapObjects),
		inspect.RemoveCommand(t, multimapObjects, multimapHandle))
	return cmd
}

// getter is what the kinds of multimap have in common, in bytes.
type getter interface {
	Get(ctx context.Context, key string) ([]string, error)
}

// with runs do on the multimap, whose kind is that of what is there, or as new if nothing is.
func (m *multimapCall) with(ctx context.Context, name string, do func(c *rueidisson.Client, set bool, as multimap.Option) error) (err error) {
	if m.keys, m.values, err = values.Families(m.codec); err != nil {
		return err
	}
	kind, err := m.kindOf(ctx, name)
	if err != nil {
		return err
	}
	if m.set && kind == inspect.KindListMultimap {
		return &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("multimap %q: %w: it has lists: leave --set out", name, multimap.ErrWrongKind)}
	}
	return m.WithClient(func(c *rueidisson.Client) error {
		return do(c, m.set || kind == inspect.KindSetMultimap, multimap.WithCodecs(codec.Bytes, codec.Bytes))
	})
}

// kindOf returns the kind of a multimap, "" if there is none.
func (m *multimapCall) kindOf(ctx context.Context, name string) (string, error) {
	redis, err := m.Dial()
	if err != nil {
		return "", exit.Failed(err)
	}
	defer redis.Close()
	kind, err := (&inspect.Look{Tool: m.Tool, Redis: redis, Name: name, Brief: true}).Kind(ctx)
	if err != nil {
		return "", exit.Failed(fmt.Errorf("multimap %q: %w", name, err))
	}
	switch kind {
	case inspect.KindNone:
		return "", nil
	case inspect.KindListMultimap, inspect.KindSetMultimap:
		return kind, nil
	}
	return "", &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf(`multimap %q: %w; see "rueidisson inspect %s"`, name, multimap.ErrWrongKind, name)}
}

func (m *multimapCall) key(arg string) (string, error) {
	return codec.Encode(codec.KeyOf[string](m.keys), arg)
}

func (m *multimapCall) codecFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.codec, "codec", "text,msgpack", "`F` of keys and values, or K,V")
}

const multimapGetLong = `get shows the values of KEY, each on a line: of a list in their order. It ends with 1 if
there are none. What has something that is not printable is quoted as Go does it. What
cannot be decoded is told on standard error, the others are shown, and the exit code
is 69.

With --json an object in each line: {"value"}, or {"name", "key", "found":false}.

See "rueidisson multimap --help" for codecs and exit codes.`

func (m *multimapCall) getCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get NAME KEY",
		Short:   "Show the values of a key",
		Long:    multimapGetLong,
		Example: "  rueidisson multimap get tags post:1",
		Args:    usage.Exactly(2, "NAME and KEY are"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd.Context(), args[0], func(c *rueidisson.Client, set bool, as multimap.Option) error {
				var of getter = multimap.NewList[string, string](c, args[0], as)
				if set {
					of = multimap.NewSet[string, string](c, args[0], as)
				}
				return m.get(cmd.Context(), of, args[0], args[1])
			})
		},
	}
	m.codecFlag(cmd)
	return cmd
}

func (m *multimapCall) get(ctx context.Context, of getter, name, arg string) error {
	key, err := m.key(arg)
	if err != nil {
		return err
	}
	texts, err := of.Get(ctx, key)
	switch {
	case err != nil:
		return err
	case len(texts) == 0:
		return m.Absent(tool.Missing{Name: name, Key: arg}, nil)
	}
	var told tool.Undecoded
	for _, text := range texts {
		v, err := values.Decode(m.values, text)
		if err != nil {
			err = &codec.DecodeError{Name: name, Key: key, Bytes: []byte(text), Cause: err}
		}
		switch {
		case err != nil:
			_ = told.Note(m.Tool, err)
		case m.JSON:
			m.SayJSON(m.Stdout, struct {
				Value  any  `json:"value"`
				Base64 bool `json:"base64,omitempty"`
			}{v.JSON(), v.Base64})
		default:
			fmt.Fprintln(m.Stdout, v.Line())
		}
	}
	return told.Last
}

const multimapPutLong = `put adds each VALUE to those of KEY: of a list at its end, of a set unless it is there,
and prints how many were added. VALUE is a string, unless --as says otherwise: int,
float, bool, json, or base64 for bytes. It is sent once. A single - stands for the
lines of standard input: a value for each, without its line end.

A new multimap has lists, or with --set sets. Of one that is there the kind is known.

With --json: {"name", "key", "added"}.

See "rueidisson multimap --help" for codecs and exit codes.`

func (m *multimapCall) putCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "put NAME KEY VALUE...",
		Short: "Add values to a key",
		Long:  multimapPutLong,
		Example: `  rueidisson multimap put tags post:1 go redis --set
  rueidisson multimap put visits user:42 1795356000 --as int
  rueidisson multimap put tags post:2 - < tags.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 3 {
				return exit.Usagef("NAME, KEY and a VALUE are needed, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd.Context(), args[0], func(c *rueidisson.Client, set bool, opt multimap.Option) error {
				return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error {
					return m.put(ctx, adder(c, args[0], set, opt), args, as)
				})
			})
		},
	}
	m.codecFlag(cmd)
	cmd.Flags().BoolVar(&m.set, "set", false, "a new multimap has sets")
	cmd.Flags().StringVar(&as, "as", "string", "VALUE is a `TYPE`: string, int, float, bool, json, base64")
	return cmd
}

// adder returns what adds values, and says how many were not there.
func adder(c *rueidisson.Client, name string, set bool, opt multimap.Option) func(ctx context.Context, key string, values []string) (int64, error) {
	if set {
		to := multimap.NewSet[string, string](c, name, opt)
		return func(ctx context.Context, key string, values []string) (int64, error) {
			return to.PutAll(ctx, key, values...)
		}
	}
	to := multimap.NewList[string, string](c, name, opt)
	return func(ctx context.Context, key string, values []string) (int64, error) {
		return int64(len(values)), to.PutAll(ctx, key, values...)
	}
}

func (m *multimapCall) put(ctx context.Context, add func(context.Context, string, []string) (int64, error), args []string, as string) error {
	key, err := m.key(args[1])
	if err != nil {
		return err
	}
	var added int64
	put := func(arguments []string) error {
		texts := make([]string, len(arguments))
		for i, arg := range arguments {
			var err error
			if texts[i], err = values.Encode(m.values, arg, as); err != nil {
				return err
			}
		}
		n, err := add(ctx, key, texts)
		added += n
		return err
	}
	if tool.AreLines(args[2:]) {
		err = m.EachBatch(ctx, put)
	} else {
		err = put(args[2:])
	}
	if err != nil {
		return err
	}
	return m.TellDone(struct {
		Name  string `json:"name"`
		Key   string `json:"key"`
		Added int64  `json:"added"`
	}{args[0], args[1], added}, "%d\n", added)
}

func multimapHandle(c *rueidisson.Client, name string, seen inspect.Seen) tool.Removable {
	if seen.Kind == inspect.KindSetMultimap {
		return multimap.NewSet[string, string](c, name)
	}
	return multimap.NewList[string, string](c, name)
}

var multimapObjects = inspect.Objects{
	Noun: "multimap", Plural: "multimaps", Example: "tags",
	Kinds: []string{inspect.KindListMultimap, inspect.KindSetMultimap}, Type: "hash",
}
