package collections

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

const bloomLong = `bloom works with the Bloom filters that a fleet shares, Java too (RBloomFilter). A filter
remembers in a few bits of each value that it was added. It tells for certain that a
value was not added, and is wrong about some of the others.

Values are written by a codec. All clients of a filter have to use the same one. --codec F
is text, bytes, json, msgpack, kryo5, jackson[:CLASS] or jackson-msgpack[:CLASS].

Exit codes of all:
  0    done
  1    has: a value was not added; info, rm: there is no filter
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else, or a filter
       that was made otherwise
  78   there is no filter: init makes one`

const bloomExample = `  rueidisson bloom init seen 1000000 --p 0.001
  rueidisson bloom add seen - < urls.txt
  rueidisson bloom has seen http://example.com/ && echo "probably read before"
  rueidisson bloom info seen --json`

func bloomCommand(t *tool.Tool) *cobra.Command {
	b := &bloomCall{members{Tool: t}}
	cmd := noun("bloom", "Make a Bloom filter, add to it, ask it", bloomLong, bloomExample,
		b.initCommand(), b.addCommand(), b.hasCommand(), b.infoCommand(), b.removeCommand())
	b.addFlags(cmd)
	return cmd
}

// bloomCall is one command of bloom.
type bloomCall struct{ members }

// with runs do on a filter. It ends as a command that a signal ends.
func (b *bloomCall) with(ctx context.Context, name string, do func(ctx context.Context, of *bloom.Filter[string]) error) error {
	return b.members.with(func(c *rueidisson.Client) error {
		err := run.UnlessInterrupted(ctx, func(ctx context.Context) error {
			return do(ctx, bloom.New[string](c, name, bloom.WithCodec(codec.Bytes)))
		})
		if errors.Is(err, bloom.ErrNotSet) {
			err = &exit.Error{Code: exit.NoRate, Err: fmt.Errorf(`%w; see "rueidisson bloom init --help"`, err)}
		}
		return err
	})
}

const bloomInitLong = `init makes a filter for N different values. As long as it has no more, about the part P
of other values is found, too: 0.001 is one of a thousand. The memory is taken at once:
1.8 MB for a million values and 0.001, 0.6 MB more for each further factor of 10 of P.

If there is such a filter, made with the same N and P, nothing is changed, and that is no
error. One that was made with others ends it with 69.

With --json: {"name", "made"}: whether there was none.

See "rueidisson bloom --help" for exit codes.`

func (b *bloomCall) initCommand() *cobra.Command {
	var n int64
	var p float64
	cmd := &cobra.Command{
		Use:     "init NAME N",
		Short:   "Make a filter, unless it is there",
		Long:    bloomInitLong,
		Example: "  rueidisson bloom init seen 1000000 --p 0.001",
		Args: func(_ *cobra.Command, args []string) (err error) {
			if len(args) != 2 {
				return exit.Usagef("NAME and N are needed, not %d arguments", len(args))
			}
			if n, err = strconv.ParseInt(args[1], 10, 64); err != nil {
				return exit.Usagef("N %q is not a number of values", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.with(cmd.Context(), args[0], func(ctx context.Context, of *bloom.Filter[string]) error {
				made, err := of.Init(ctx, n, p)
				if err != nil {
					return err
				}
				text := "made"
				if !made {
					text = "it is there"
				}
				return b.TellDone(struct {
					Name string `json:"name"`
					Made bool   `json:"made"`
				}{args[0], made}, "%s: %s\n", args[0], text)
			})
		},
	}
	cmd.Flags().Float64Var(&p, "p", 0.001, "find about the part `P` of values that were not added")
	return cmd
}

const bloomAddLong = `add adds each VALUE, and prints how many were certainly not added before. VALUE is a
string, unless --as says otherwise: int, float, bool, json, or base64 for bytes. A single -
stands for the lines of standard input: a value for each, without its line end, added as
they come, many at a time.

A value may be added again. If the end is 69, some may have been added: repeat it.

With --json: {"name", "added"}.

See "rueidisson bloom --help" for codecs and exit codes.`

func (b *bloomCall) addCommand() *cobra.Command {
	return b.addType(&cobra.Command{
		Use:   "add NAME VALUE...",
		Short: "Add values to a filter",
		Long:  bloomAddLong,
		Example: `  rueidisson bloom add seen http://example.com/
  rueidisson bloom add users 42 43 --as int
  rueidisson bloom add seen - < urls.txt`,
		Args: someValues,
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.with(cmd.Context(), args[0], func(ctx context.Context, of *bloom.Filter[string]) error {
				if _, err := of.Shape(ctx); err != nil { // also where standard input has no line
					return err
				}
				n, err := b.sum(ctx, args[1:], func(stored []string) (n int64, err error) {
					fresh, err := of.AddNew(ctx, stored...)
					for _, is := range fresh {
						if is {
							n++
						}
					}
					return n, err
				})
				if err != nil {
					return err
				}
				return b.TellDone(added{args[0], n}, "%d\n", n)
			})
		},
	})
}

// added is how many values were not there before.
type added struct {
	Name  string `json:"name"`
	Added int64  `json:"added"`
}

const bloomHasLong = `has shows of each VALUE whether it was probably added, each on a line: true or false, a
tab, and VALUE. False is certain. It ends with 1 if one was not added. A single - stands
for the lines of standard input. --as and --codec have to be those of add.

With --json an object in each line: {"value", "has"}.

See "rueidisson bloom --help" for codecs and exit codes.`

func (b *bloomCall) hasCommand() *cobra.Command {
	return b.addType(&cobra.Command{
		Use:   "has NAME VALUE...",
		Short: "Show whether values were probably added",
		Long:  bloomHasLong,
		Example: `  rueidisson bloom has seen http://example.com/ && echo "probably read before"
  rueidisson bloom has seen - < urls.txt | grep '^false'`,
		Args: someValues,
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.with(cmd.Context(), args[0], func(ctx context.Context, of *bloom.Filter[string]) error {
				if _, err := of.Shape(ctx); err != nil {
					return err
				}
				return b.has(ctx, args[1:], func(stored []string) ([]bool, error) { return of.HasEach(ctx, stored...) })
			})
		},
	})
}

const bloomInfoLong = `info shows how a filter was made, its bits, how many bits a value has, about how many
different values were added, and how long it stays, if it has an end.

With --json: {"name", "n", "p", "bits", "hashes", "count", "remaining_ms" (-1: no end)}, or
{"name", "found":false}.

See "rueidisson bloom --help" for exit codes.`

func (b *bloomCall) infoCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "info NAME",
		Short:   "Show how a filter was made, and how full it is",
		Long:    bloomInfoLong,
		Example: "  rueidisson bloom info seen --json",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.with(cmd.Context(), args[0], func(ctx context.Context, of *bloom.Filter[string]) error {
				err := b.info(ctx, of)
				if errors.Is(err, bloom.ErrNotSet) {
					return b.Absent(tool.Missing{Name: args[0]}, nil)
				}
				return err
			})
		},
	}
}

func (b *bloomCall) info(ctx context.Context, of *bloom.Filter[string]) error {
	shape, err := of.Shape(ctx)
	if err != nil {
		return err
	}
	count, err := of.Count(ctx)
	if err != nil {
		return err
	}
	left, err := of.Remaining(ctx)
	if err != nil {
		return err
	}
	if b.JSON {
		b.SayJSON(b.Stdout, struct {
			Name        string  `json:"name"`
			N           int64   `json:"n"`
			P           float64 `json:"p"`
			Bits        int64   `json:"bits"`
			Hashes      int     `json:"hashes"`
			Count       int64   `json:"count"`
			RemainingMS *int64  `json:"remaining_ms"`
		}{of.Name(), shape.Insertions, shape.FalseProbability, shape.Bits, shape.Hashes, count, values.Milliseconds(left)})
		return nil
	}
	w := tabwriter.NewWriter(b.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\nmade for\t%d values, p %v\nbits\t%d, %d of a value\nvalues\tabout %d\n",
		values.Printable(of.Name()), shape.Insertions, shape.FalseProbability, shape.Bits, shape.Hashes, count)
	if left >= 0 {
		fmt.Fprintf(w, "remaining\t%v\n", left.Round(time.Millisecond))
	}
	return w.Flush()
}

const bloomRemoveLong = `rm removes a filter with all of its bits.

With --json: {"name", "removed"}, or {"name", "found":false}.

See "rueidisson bloom --help" for exit codes.`

func (b *bloomCall) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME",
		Short:   "Remove a filter",
		Long:    bloomRemoveLong,
		Example: "  rueidisson bloom rm seen",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.with(cmd.Context(), args[0], func(ctx context.Context, of *bloom.Filter[string]) error {
				switch there, err := of.Exists(ctx); { // else the key of that name belongs to something else
				case err != nil:
					return err
				case !there:
					return b.Absent(tool.Missing{Name: args[0]}, nil)
				}
				return b.TellRemoved(ctx, of)
			})
		},
	}
}
