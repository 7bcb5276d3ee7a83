package maps

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
	"github.com/rueidisson/rueidisson/internal/cli/scan"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/rmap"
)

const mapLong = `map works with the maps that a fleet shares, Java too (RMap; with --cache RMapCache,
with --native RMapCacheNative), and Go's own sharded maps (--sharded).

Keys and values are written by a codec. All clients of a map have to use the same
one. --codec F is for both, --codec K,V sets them apart; F is text, bytes, json,
msgpack, kryo5, jackson[:CLASS] or jackson-msgpack[:CLASS]. Without it keys are text
and values msgpack. A value that has no text is shown as JSON, and bytes that are no
UTF-8 in base64, which --json tells by "base64":true.

A NAME that is an object of another kind, such as a cache without --cache, is refused
unless --force is given.

Exit codes of all:
  0    done
  1    there is no such entry, or no such map; redrive and purge: none was there for it
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else; what is
       there cannot be decoded`

const mapExample = `  rueidisson map put prices apple 120 --as int
  rueidisson map get prices apple
  rueidisson map ls prices --match 'a*' --json
  rueidisson map get orders 42 --codec 'text,jackson:com.acme.Order'`

// Commands returns the commands of maps and multimaps.
func Commands(t *tool.Tool) []*cobra.Command {
	return []*cobra.Command{mapCommand(t), multimapCommand(t)}
}

func mapCommand(t *tool.Tool) *cobra.Command {
	m := &mapCall{Tool: t}
	cmd := &cobra.Command{
		Use:     "map",
		Short:   "Read and write the entries of a map",
		Long:    mapLong,
		Example: mapExample,
		Args:    usage.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after map") },
	}
	cmd.PersistentFlags().StringVar(&m.codec, "codec", "text,msgpack", "`F` of keys and values, or K,V")
	cmd.PersistentFlags().BoolVar(&m.cache, "cache", false, "the map is an RMapCache: entries may have an end and an idle time")
	cmd.PersistentFlags().BoolVar(&m.native, "native", false, "the map is an RMapCacheNative: entries may have an end")
	cmd.PersistentFlags().BoolVar(&m.sharded, "sharded", false, "the map has many hashes, over the slots of a cluster")
	cmd.AddCommand(m.getCommand(), m.putCommand(), m.removeCommand(), m.listCommand(), m.infoCommand(), m.watchCommand(),
		m.deadCommand(), m.redriveCommand(), m.purgeCommand())
	return cmd
}

// mapCall is one command of map.
type mapCall struct {
	*tool.Tool
	codec   string
	cache   bool
	native  bool
	sharded bool
	shards  int  // of put: how many a new map has; 0: it is not new
	makes   bool // it is put
	force   bool

	keys, values codec.Family
}

// entries is what the kinds of map have in common. Keys and values are bytes here:
// it is the command line that knows their codec.
type entries interface {
	Get(ctx context.Context, key string) (string, bool, error)
	Put(ctx context.Context, key, value string, opts ...rmap.PutOption) error
	Remove(ctx context.Context, keys ...string) (int64, error)
	All(ctx context.Context, opts ...rmap.ScanOption) iter.Seq2[rmap.Entry[string, string], error]
}

// with runs do on the map.
func (m *mapCall) with(ctx context.Context, name string, do func(entries) error) error {
	return m.open(func(c *rueidisson.Client, as rmap.MapOption) error {
		if err := m.checkKind(ctx, name); err != nil {
			return err
		}
		switch {
		case m.sharded:
			n, err := m.shardsOf(ctx, name)
			if err != nil {
				return err
			}
			return do(rmap.NewSharded[string, string](c, name, n, as))
		case m.cache:
			return do(rmap.NewCache[string, string](c, name, as))
		case m.native:
			return do(rmap.NewTTLMap[string, string](c, name, as))
		}
		return do(rmap.New[string, string](c, name, as))
	})
}

// open runs do with a client, and with the codecs of a map of bytes.
func (m *mapCall) open(do func(c *rueidisson.Client, as rmap.MapOption) error) error {
	if m.cache && m.native || m.sharded && (m.cache || m.native) {
		return exit.Usagef("--cache, --native and --sharded exclude each other")
	}
	var err error
	if m.keys, m.values, err = values.Families(m.codec); err != nil {
		return err
	}
	return m.WithClient(func(c *rueidisson.Client) error {
		keys := codec.Bytes
		if m.keys == codec.Text {
			keys = codec.Text // so that the server can match them
		}
		return do(c, rmap.WithCodecs(keys, codec.Bytes))
	})
}

// key returns KEY as it is in Redis.
func (m *mapCall) key(arg string) (string, error) {
	return codec.Encode(codec.KeyOf[string](m.keys), arg)
}

const mapGetLong = `get shows the value of KEY, and ends with 1 if there is none. What a terminal would do
something about is not sent to one, but shown as \x1b and the like.

With --json: {"name", "key", "value"}, or {"name", "key", "found":false}.

See "rueidisson map --help" for codecs and exit codes.`

func (m *mapCall) getCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get NAME KEY",
		Short:   "Show the value of a key",
		Long:    mapGetLong,
		Example: "  rueidisson map get prices apple",
		Args:    usage.Exactly(2, "NAME and KEY are"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd.Context(), args[0], func(of entries) error { return m.get(cmd.Context(), of, args[0], args[1]) })
		},
	}
	m.forceFlag(cmd)
	return cmd
}

var errNoEntry = &exit.Error{Code: exit.Refused}

func (m *mapCall) get(ctx context.Context, of entries, name, arg string) error {
	key, err := m.key(arg)
	if err != nil {
		return err
	}
	value, there, err := of.Get(ctx, key)
	switch {
	case err != nil:
		return err
	case !there:
		return m.Absent(tool.Missing{Name: name, Key: arg}, nil)
	}
	v, err := values.Decode(m.values, value)
	if err != nil {
		return &codec.DecodeError{Name: name, Key: key, Bytes: []byte(value), Cause: err}
	}
	if !m.JSON {
		fmt.Fprintln(m.Stdout, m.Alone(v.Text))
		return nil
	}
	m.SayJSON(m.Stdout, struct {
		Name   string `json:"name"`
		Key    string `json:"key"`
		Value  any    `json:"value"`
		Base64 bool   `json:"base64,omitempty"`
	}{name, arg, v.JSON(), v.Base64})
	return nil
}

const mapPutLong = `put writes VALUE under KEY, whatever was there. VALUE is a string, unless --as says
otherwise: int, float, bool, json, or base64 for bytes. A VALUE of - stands for the whole
of standard input, without its last line end: one value. With --cache or --native,
--ttl D lets the entry go by itself; with --cache, --idle D lets it go when it was
neither read nor written for D. What has gone is nothing to any reader at once, and
is swept by the services that use the cache, or by a watch. With --sharded, --shards N
makes a map of N hashes if there is none: they stay so many.

See "rueidisson map --help" for codecs and exit codes.`

func (m *mapCall) putCommand() *cobra.Command {
	var as string
	var lives putFlags
	cmd := &cobra.Command{
		Use:   "put NAME KEY VALUE",
		Short: "Write an entry",
		Long:  mapPutLong,
		Example: `  rueidisson map put prices apple 120 --as int
  rueidisson map put orders 42 '{"items":2}' --as json --codec text,json
  rueidisson map put sessions u1 abc --native --ttl 30m
  rueidisson map put pages / '<html>' --cache --ttl 24h --idle 1h
  rueidisson map put pages /about - < about.html`,
		Args: usage.Exactly(3, "NAME, KEY and VALUE are"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.makes = true
			opts, err := m.lives(cmd, lives)
			if err != nil {
				return err
			}
			if shards := cmd.Flags().Changed("shards"); shards && !m.sharded || shards && m.shards < 1 {
				return exit.Usagef("--shards is for --sharded, and is at least 1")
			}
			text, err := m.ValueOf(args[2])
			if err != nil {
				return err
			}
			return m.with(cmd.Context(), args[0], func(of entries) error {
				return m.put(cmd.Context(), of, args[1], text, as, opts)
			})
		},
	}
	m.forceFlag(cmd)
	cmd.Flags().StringVar(&as, "as", "string", "VALUE is a `TYPE`: string, int, float, bool, json, base64")
	cmd.Flags().DurationVar(&lives.ttl, "ttl", 0, "let the entry go after `D`")
	cmd.Flags().IntVar(&m.shards, "shards", 0, "with --sharded: make a new map of `N` hashes, if there is none")
	cmd.Flags().DurationVar(&lives.idle, "idle", 0, "let the entry go when it was not used for `D`")
	return cmd
}

// putFlags are how long an entry lives.
type putFlags struct{ ttl, idle time.Duration }

func (m *mapCall) lives(cmd *cobra.Command, f putFlags) (opts []rmap.PutOption, err error) {
	ttl, idle := cmd.Flags().Changed("ttl"), cmd.Flags().Changed("idle")
	switch {
	case ttl && !m.native && !m.cache:
		return nil, exit.Usagef("--ttl is for --cache and --native: entries of a plain map stay")
	case idle && !m.cache:
		return nil, exit.Usagef("--idle is for --cache: entries of other maps have no idle time")
	}
	if ttl && f.ttl == 0 {
		return nil, exit.Usagef("--ttl 0s is no time to live")
	}
	if ttl {
		opts = append(opts, rmap.WithTTL(f.ttl))
	}
	if idle {
		opts = append(opts, rmap.WithMaxIdle(f.idle))
	}
	return opts, nil
}

func (m *mapCall) put(ctx context.Context, of entries, keyArg, valueArg, as string, opts []rmap.PutOption) error {
	key, err := m.key(keyArg)
	if err != nil {
		return err
	}
	value, err := values.Encode(m.values, valueArg, as)
	if err != nil {
		return err
	}
	return of.Put(ctx, key, value, opts...)
}

const mapRemoveLong = `rm removes the entries of the KEYs, and prints how many there were; it ends with 1
if there was none. With --all and no KEY it removes the whole map, of any kind, and of
a cache the bounds; it ends with 1 if there is no such map. What waits to be written to
a store stays, and is written.

With --json: {"name", "removed"}: how many, with --all true; or {"name", "found":false}.

See "rueidisson map --help" for codecs and exit codes.`

func (m *mapCall) removeCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "rm NAME KEY...",
		Short:   "Remove entries, or the whole map",
		Long:    mapRemoveLong,
		Example: "  rueidisson map rm prices apple pear\n  rueidisson map rm prices --all",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case all && len(args) != 1:
				return exit.Usagef("NAME alone is needed with --all, not %d arguments", len(args))
			case !all && len(args) < 2:
				return exit.Usagef("NAME and one KEY at least are needed, not %d arguments; --all removes the whole map", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				return m.removeWhole(cmd.Context(), args[0])
			}
			return m.with(cmd.Context(), args[0], func(of entries) error { return m.remove(cmd.Context(), of, args[0], args[1:]) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove the whole map")
	m.forceFlag(cmd)
	return cmd
}

func (m *mapCall) remove(ctx context.Context, of entries, name string, args []string) error {
	keys := make([]string, len(args))
	for i, arg := range args {
		var err error
		if keys[i], err = m.key(arg); err != nil {
			return err
		}
	}
	n, err := of.Remove(ctx, keys...)
	if err != nil {
		return err
	}
	if m.JSON {
		m.SayJSON(m.Stdout, struct {
			Name    string `json:"name"`
			Removed int64  `json:"removed"`
		}{name, n})
	} else {
		fmt.Fprintln(m.Stdout, n)
	}
	if n == 0 {
		return errNoEntry
	}
	return nil
}

const mapListLong = `ls shows the entries, each on a line: the key, a tab, the value. What has something that
is not printable, such as a tab or a newline, is quoted as Go does it. It has no order,
and one that is moved meanwhile may be shown twice. --match G leaves out keys that do not
match a glob; it is for keys of text. What cannot be decoded is told on standard
error, the others are shown, and the exit code is 69.

With --sharded and no NAME it shows the names of the sharded maps, or of those that match
--match G, as "rueidisson multimap ls" does. The names of other maps are not listed:
each hash that is nothing else's may be one.

With --json an object in each line: {"key", "value"}, with --cache {"key", "value",
"ttl_ms", "idle_ms"}: what is left until the entry goes, and until it was not used for
too long; -1: never. Of names {"name", "kind"}.

See "rueidisson map --help" for codecs and exit codes.`

func (m *mapCall) listCommand() *cobra.Command {
	var match string
	names := &scan.Scanner{Tool: m.Tool}
	cmd := &cobra.Command{
		Use:   "ls NAME",
		Short: "Show all entries",
		Long:  mapListLong,
		Example: `  rueidisson map ls prices
  rueidisson map ls prices --match 'a*' --json
  rueidisson map ls --sharded`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case m.sharded && len(args) == 0:
				return names.Check()
			case cmd.Flags().Changed("scan"):
				return exit.Usagef("--scan is for names, with --sharded and no NAME")
			}
			return usage.OneName(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return m.listSharded(cmd.Context(), names, match)
			}
			var opts []rmap.ScanOption
			if match != "" {
				opts = append(opts, rmap.WithMatch(match))
			}
			return m.with(cmd.Context(), args[0], func(of entries) error { return m.list(cmd.Context(), of, args[0], opts) })
		},
	}
	m.forceFlag(cmd)
	cmd.Flags().StringVar(&match, "match", "", "only keys that match the glob `G`")
	names.AddFlag(cmd)
	return cmd
}

// timed returns the entries, with their times if they have any.
func timed(ctx context.Context, of entries, opts []rmap.ScanOption) iter.Seq2[rmap.Timed[string, string], error] {
	if c, ok := of.(*rmap.Cache[string, string]); ok {
		return c.AllTimed(ctx, opts...)
	}
	return func(yield func(rmap.Timed[string, string], error) bool) {
		for e, err := range of.All(ctx, opts...) {
			if !yield(rmap.Timed[string, string]{Entry: e}, err) {
				return
			}
		}
	}
}

func (m *mapCall) list(ctx context.Context, of entries, name string, opts []rmap.ScanOption) error {
	var wrong error
	for e, err := range timed(ctx, of, opts) {
		if err == nil {
			err = m.show(name, e)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, codec.ErrDecode) {
			return err
		}
		if wrong != nil {
			m.Say("%v", wrong)
		}
		wrong = err
	}
	return wrong
}

func (m *mapCall) show(name string, e rmap.Timed[string, string]) error {
	k, v, err := m.decode(name, e.Key, e.Value)
	if err != nil {
		return err
	}
	if !m.JSON {
		fmt.Fprintf(m.Stdout, "%s\t%s\n", k.Line(), v.Line())
		return nil
	}
	shown := shownEntry{Key: k.Text, KeyBase64: k.Base64, Value: v.JSON(), Base64: v.Base64}
	if m.cache {
		shown.TTL, shown.Idle = values.Milliseconds(e.TTL), values.Milliseconds(e.Idle)
	}
	m.SayJSON(m.Stdout, shown)
	return nil
}

// decode returns what stands under a key, and the key.
func (m *mapCall) decode(name, key, value string) (k, v values.Value, err error) {
	if k, err = values.Decode(m.keys, key); err != nil {
		return k, v, &codec.DecodeError{Name: name, Key: key, Bytes: []byte(key), Cause: err}
	}
	if v, err = values.Decode(m.values, value); err != nil {
		return k, v, &codec.DecodeError{Name: name, Key: key, Bytes: []byte(value), Cause: err}
	}
	return k, v, nil
}

// shownEntry is an entry in JSON; its times are of a cache.
type shownEntry struct {
	Key       string `json:"key"`
	KeyBase64 bool   `json:"key_base64,omitempty"`
	Value     any    `json:"value"`
	Base64    bool   `json:"base64,omitempty"`
	TTL       *int64 `json:"ttl_ms,omitempty"`
	Idle      *int64 `json:"idle_ms,omitempty"`
}
