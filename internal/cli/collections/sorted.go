package collections

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/sortedset"
)

const sortedLong = `zset works with the sorted sets that a fleet shares, Java too (RScoredSortedSet): each member
has a score, such as the points of a player.

Members are written by a codec. All clients of a set have to use the same one. --codec F is
text, bytes, json, msgpack, kryo5, jackson[:CLASS] or jackson-msgpack[:CLASS]. A member that
has no text is shown as JSON, and bytes that are no UTF-8 in base64, which --json tells by
"base64":true.

Exit codes of all:
  0    done
  1    rank: there is no such member
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else; what is
       there cannot be decoded`

const sortedExample = `  rueidisson zset add points 120 ann 90 bob
  rueidisson zset add points 5 bob --incr
  rueidisson zset top points 3
  rueidisson zset rank points bob`

func sortedCommand(t *tool.Tool) *cobra.Command {
	s := &sortedCall{members: members{Tool: t}}
	cmd := noun("zset", "Add members with scores, show the highest, and ranks", sortedLong, sortedExample,
		s.addCommand(), s.topCommand(), s.rankCommand())
	s.addFlags(cmd)
	return cmd
}

// sortedCall is one command of zset.
type sortedCall struct {
	members
	incr, lowest bool
}

// with runs do on a sorted set. It ends as a command that a signal ends.
func (s *sortedCall) with(ctx context.Context, name string, do func(ctx context.Context, of *sortedset.Set[string]) error) error {
	return s.members.with(func(c *rueidisson.Client) error {
		return run.UnlessInterrupted(ctx, func(ctx context.Context) error {
			return do(ctx, sortedset.New[string](c, name, sortedset.WithCodec(codec.Bytes)))
		})
	})
}

const sortedAddLong = `add adds each VALUE with the SCORE before it, or gives one that is there that score, and prints
how many were not there. A score below 0 goes after --. VALUE is a string, unless --as says
otherwise: int, float, bool, json, or base64 for bytes. A single - stands for the lines of
standard input: a score, a space or a tab, and a member in each, without its line end, added
as they come, many at a time.

With --incr SCORE is added to the score that VALUE has, and the new one is printed, each on a
line. It is sent once.

With --json: {"name", "added"}; with --incr an object in each line: {"score", "value"}.

See "rueidisson zset --help" for codecs and exit codes.`

func (s *sortedCall) addCommand() *cobra.Command {
	cmd := s.addType(&cobra.Command{
		Use:                   "add NAME {SCORE VALUE}... [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Add members with their scores",
		Long:                  sortedAddLong,
		Example: `  rueidisson zset add points 120 ann 90 bob
  rueidisson zset add points 5 bob --incr
  rueidisson zset add points --incr -- -5 bob
  rueidisson zset add points - < points.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || !tool.AreLines(args[1:]) && len(args)%2 == 0 {
				return exit.Usagef("NAME and pairs of a SCORE and a VALUE are needed, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), args[0], func(ctx context.Context, of *sortedset.Set[string]) error {
				return s.add(ctx, of, args[1:])
			})
		},
	})
	cmd.Flags().BoolVar(&s.incr, "incr", false, "add SCORE to the score that VALUE has")
	return cmd
}

func (s *sortedCall) add(ctx context.Context, of *sortedset.Set[string], args []string) (err error) {
	var n int64
	put := func(count int, entry func(i int) (sortedset.Entry[string], error)) error {
		entries := make([]sortedset.Entry[string], count)
		for i := range entries {
			var err error
			if entries[i], err = entry(i); err != nil {
				return &lineError{at: i, error: err}
			}
		}
		if s.incr {
			return s.increase(ctx, of, entries)
		}
		added, err := of.AddMany(ctx, entries...)
		n += added
		return err
	}
	if tool.AreLines(args) {
		err = s.eachText(ctx, args, func(lines []string) error {
			return put(len(lines), func(i int) (sortedset.Entry[string], error) { return s.line(lines[i]) })
		})
	} else {
		err = put(len(args)/2, func(i int) (sortedset.Entry[string], error) { return s.entry(args[2*i], args[2*i+1]) })
	}
	if err != nil || s.incr {
		return err
	}
	return s.TellDone(added{of.Name(), n}, "%d\n", n)
}

// line reads a score, and the value after it.
func (s *sortedCall) line(text string) (sortedset.Entry[string], error) {
	at := strings.IndexAny(text, " \t")
	if at < 0 {
		return sortedset.Entry[string]{}, exit.Usagef("%q is no SCORE and VALUE", text)
	}
	return s.entry(text[:at], text[at+1:])
}

// entry reads a score and a value.
func (s *sortedCall) entry(score, value string) (e sortedset.Entry[string], err error) {
	if e.Score, err = strconv.ParseFloat(score, 64); err != nil {
		return e, exit.Usagef("SCORE %q is no number", score)
	}
	e.Value, err = values.Encode(s.codec, value, s.as)
	return e, err
}

// increase adds to the scores of members, one after the other, and shows the new ones.
func (s *sortedCall) increase(ctx context.Context, of *sortedset.Set[string], entries []sortedset.Entry[string]) error {
	for i, e := range entries {
		score, err := of.AddScore(ctx, e.Score, e.Value)
		if err == nil && s.JSON {
			err = s.show(of.Name(), e.Value, shown{Score: &score}, "")
		} else if err == nil {
			fmt.Fprintln(s.Stdout, decimal(score))
		}
		if err != nil {
			return &lineError{at: i, done: i, error: err}
		}
	}
	return nil
}

// decimal returns a score as Redis shows it.
func decimal(score float64) string { return strconv.FormatFloat(score, 'f', -1, 64) }

const sortedTopLong = `top shows the members with the highest scores, 10 of them, or N: the score, a tab, and the
member, each on a line, the highest first. With --lowest it shows those with the lowest, the
lowest first. What has something that is not printable, such as a newline, is quoted as Go
does it. What cannot be decoded is told on standard error, the others are shown, and the exit
code is 69.

With --json an object in each line: {"rank", "score", "value"}; the rank of the first is 0.

See "rueidisson zset --help" for codecs and exit codes.`

func (s *sortedCall) topCommand() *cobra.Command {
	n := int64(10)
	cmd := &cobra.Command{
		Use:                   "top NAME [N] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Show the members with the highest scores",
		Long:                  sortedTopLong,
		Example: `  rueidisson zset top points
  rueidisson zset top points 100 --lowest --json`,
		Args: func(_ *cobra.Command, args []string) (err error) {
			switch len(args) {
			case 1:
			case 2:
				if n, err = strconv.ParseInt(args[1], 10, 64); err != nil || n < 1 {
					return exit.Usagef("N %q is not a number of members", args[1])
				}
			default:
				return exit.Usagef("one NAME is needed, and N at the most, not %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), args[0], func(ctx context.Context, of *sortedset.Set[string]) error { return s.top(ctx, of, n) })
		},
	}
	s.lowestFlag(cmd)
	return cmd
}

func (s *sortedCall) lowestFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.lowest, "lowest", false, "begin with the lowest score")
}

func (s *sortedCall) top(ctx context.Context, of *sortedset.Set[string], n int64) error {
	opts := []sortedset.RangeOption{sortedset.WithDescending()}
	if s.lowest {
		opts = nil
	}
	var told tool.Undecoded
	rank := int64(0)
	for e, err := range of.Range(ctx, 0, n-1, opts...) {
		if err == nil {
			at := rank
			err = s.show(of.Name(), e.Value, shown{Rank: &at, Score: &e.Score}, decimal(e.Score)+"\t")
			rank++
		}
		if err = told.Note(s.Tool, err); err != nil {
			return err
		}
	}
	return told.Last
}

const sortedRankLong = `rank prints how many members have a higher score than VALUE: 0 is the first; with --lowest how
many have a lower one. Of members with the same score the order is that of their bytes. It
ends with 1 if there is no such member. --as and --codec have to be those of add.

With --json: {"name", "rank", "score"}, or {"name", "found":false}.

See "rueidisson zset --help" for codecs and exit codes.`

func (s *sortedCall) rankCommand() *cobra.Command {
	cmd := s.addType(&cobra.Command{
		Use:     "rank NAME VALUE",
		Short:   "Show the rank of a member",
		Long:    sortedRankLong,
		Example: "  rueidisson zset rank points ann",
		Args:    usage.Exactly(2, "NAME and VALUE are"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), args[0], func(ctx context.Context, of *sortedset.Set[string]) error {
				stored, err := values.Encode(s.codec, args[1], s.as)
				if err != nil {
					return err
				}
				return s.rank(ctx, of, stored)
			})
		},
	})
	s.lowestFlag(cmd)
	return cmd
}

func (s *sortedCall) rank(ctx context.Context, of *sortedset.Set[string], stored string) error {
	ask := of.RevRank
	if s.lowest {
		ask = of.Rank
	}
	rank, there, err := ask(ctx, stored)
	if err != nil {
		return err
	}
	if !there {
		return s.Absent(tool.Missing{Name: of.Name()}, nil)
	}
	if !s.JSON {
		fmt.Fprintln(s.Stdout, rank)
		return nil
	}
	score, there, err := of.Score(ctx, stored)
	switch {
	case err != nil:
		return err
	case !there: // it went meanwhile
		return s.Absent(tool.Missing{Name: of.Name()}, nil)
	}
	s.SayJSON(s.Stdout, struct {
		Name  string  `json:"name"`
		Rank  int64   `json:"rank"`
		Score float64 `json:"score"`
	}{of.Name(), rank, score})
	return nil
}
