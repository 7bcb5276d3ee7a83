package collections

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/set"
)

const setLong = `set works with the sets that a fleet shares, Java too (RSet; with --cache RSetCache, whose
members may have a time to live).

Members are written by a codec. All clients of a set have to use the same one. --codec F is
text, bytes, json, msgpack, kryo5, jackson[:CLASS] or jackson-msgpack[:CLASS]. A member that
has no text is shown as JSON, and bytes that are no UTF-8 in base64, which --json tells by
"base64":true.

--cache refuses a sorted set whose scores are no times, since its members would have expired.

Exit codes of all:
  0    done
  1    has: a member is not there; rm: none was there
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses; NAME is something else; what is
       there cannot be decoded`

const setExample = `  rueidisson set add users ann bob
  rueidisson set has users ann && echo "one of us"
  rueidisson set add sessions 4711 --cache --ttl 30m
  rueidisson set ls users --json`

func setCommand(t *tool.Tool) *cobra.Command {
	s := &setCall{members: members{Tool: t}}
	cmd := noun("set", "Add members to a set, remove them, ask for them", setLong, setExample,
		s.addCommand(), s.removeCommand(), s.hasCommand(), s.listCommand())
	s.addFlags(cmd)
	cmd.PersistentFlags().BoolVar(&s.cache, "cache", false, "the set is an RSetCache: members may have an end")
	return cmd
}

// setCall is one command of set.
type setCall struct {
	members
	cache bool
	ttl   time.Duration
}

// gathering is what both kinds of set have in common.
type gathering interface {
	Name() string
	Remove(ctx context.Context, vs ...string) (int64, error)
	HasEach(ctx context.Context, vs ...string) ([]bool, error)
	All(ctx context.Context) iter.Seq2[string, error]
}

// with runs do on a set. It ends as a command that a signal ends.
func (s *setCall) with(ctx context.Context, name string, do func(ctx context.Context, of gathering) error) error {
	return s.members.with(func(c *rueidisson.Client) error {
		if s.cache {
			if err := s.timed(ctx, name); err != nil {
				return err
			}
		}
		return run.UnlessInterrupted(ctx, func(ctx context.Context) error {
			if s.cache {
				return do(ctx, set.NewCache[string](c, name, set.WithCodec(codec.Bytes)))
			}
			return do(ctx, set.New[string](c, name, set.WithCodec(codec.Bytes)))
		})
	})
}

// earliest is a time of which no set with times to live has a member: it passed before there was Redis.
const earliest = 1e12

// timed refuses a sorted set whose scores are no times: clients would sweep its members out.
func (s *setCall) timed(ctx context.Context, name string) error {
	redis, err := s.Dial()
	if err != nil {
		return err
	}
	defer redis.Close()
	first, err := redis.Do(ctx, redis.B().Zrange().Key(name).Min("0").Max("0").Withscores().Build()).AsZScores()
	if err == nil && len(first) > 0 && first[0].Score < earliest {
		return exit.Failed(fmt.Errorf(`set %q: %w: its scores are no times, so it is a sorted set; see "rueidisson zset --help"`, name, rueidisson.ErrWrongKind))
	}
	if err != nil && !strings.HasPrefix(err.Error(), "WRONGTYPE") { // the command says what else there is
		return exit.Failed(err)
	}
	return nil
}

const setAddLong = `add adds each VALUE, and prints how many were not there. VALUE is a string, unless --as says
otherwise: int, float, bool, json, or base64 for bytes. A single - stands for the lines of
standard input: a member for each, without its line end, added as they come, many at a time.

With --cache --ttl D the members go after D, also those that are there; without --ttl they
stay. A member that has gone is no member to any reader at once, and is swept by the services
that use the set.

With --json: {"name", "added"}.

See "rueidisson set --help" for codecs and exit codes.`

func (s *setCall) addCommand() *cobra.Command {
	cmd := s.addType(&cobra.Command{
		Use:   "add NAME VALUE...",
		Short: "Add members",
		Long:  setAddLong,
		Example: `  rueidisson set add users ann bob
  rueidisson set add users - < users.txt
  rueidisson set add sessions 4711 --cache --ttl 30m`,
		Args: someValues,
		RunE: func(cmd *cobra.Command, args []string) error {
			var opts []set.AddOption
			switch given := cmd.Flags().Changed("ttl"); {
			case given && !s.cache:
				return exit.Usagef("--ttl is for --cache: members of a plain set stay")
			case given && s.ttl <= 0:
				return exit.Usagef("--ttl %v is no time to live", s.ttl)
			case given:
				opts = append(opts, set.WithTTL(s.ttl))
			}
			return s.with(cmd.Context(), args[0], func(ctx context.Context, of gathering) error {
				n, err := s.sum(ctx, args[1:], func(stored []string) (int64, error) {
					if cache, is := of.(*set.Cache[string]); is {
						return cache.AddMany(ctx, stored, opts...)
					}
					return of.(*set.Set[string]).Add(ctx, stored...)
				})
				if err != nil {
					return err
				}
				return s.TellDone(added{args[0], n}, "%d\n", n)
			})
		},
	})
	cmd.Flags().DurationVar(&s.ttl, "ttl", 0, "with --cache: let the members go after `D`")
	return cmd
}

const setRemoveLong = `rm removes each VALUE, and prints how many were there; it ends with 1 if none was. A single -
stands for the lines of standard input. --as and --codec have to be those of add.

With --json: {"name", "removed"}.

See "rueidisson set --help" for codecs and exit codes.`

func (s *setCall) removeCommand() *cobra.Command {
	return s.addType(&cobra.Command{
		Use:     "rm NAME VALUE...",
		Short:   "Remove members",
		Long:    setRemoveLong,
		Example: "  rueidisson set rm users bob",
		Args:    someValues,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), args[0], func(ctx context.Context, of gathering) error {
				n, err := s.sum(ctx, args[1:], func(stored []string) (int64, error) { return of.Remove(ctx, stored...) })
				if err != nil {
					return err
				}
				return tellGone(s.Tool, args[0], n)
			})
		},
	})
}

// tellGone says how many were removed. That none was is an answer.
func tellGone(t *tool.Tool, name string, n int64) error {
	err := t.TellDone(struct {
		Name    string `json:"name"`
		Removed int64  `json:"removed"`
	}{name, n}, "%d\n", n)
	if err == nil && n == 0 {
		err = &exit.Error{Code: exit.Refused}
	}
	return err
}

const setHasLong = `has shows of each VALUE whether it is a member, each on a line: true or false, a tab, and
VALUE. It ends with 1 if one is none. A single - stands for the lines of standard input.
--as and --codec have to be those of add.

With --json an object in each line: {"value", "has"}.

See "rueidisson set --help" for codecs and exit codes.`

func (s *setCall) hasCommand() *cobra.Command {
	return s.addType(&cobra.Command{
		Use:     "has NAME VALUE...",
		Short:   "Show whether values are members",
		Long:    setHasLong,
		Example: `  rueidisson set has users ann && echo "one of us"`,
		Args:    someValues,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), args[0], func(ctx context.Context, of gathering) error {
				return s.has(ctx, args[1:], func(stored []string) ([]bool, error) { return of.HasEach(ctx, stored...) })
			})
		},
	})
}

const setListLong = `ls shows the members, each on a line, in no order. What has something that is not printable,
such as a newline, is quoted as Go does it. A member that is moved meanwhile may be shown
twice. What cannot be decoded is told on standard error, the others are shown, and the exit
code is 69.

With --json an object in each line: {"value"}.

See "rueidisson set --help" for codecs and exit codes.`

func (s *setCall) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls NAME",
		Short: "Show all members",
		Long:  setListLong,
		Example: `  rueidisson set ls users
  rueidisson set ls sessions --cache --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), args[0], func(ctx context.Context, of gathering) error {
				var told tool.Undecoded
				for stored, err := range of.All(ctx) {
					if err == nil {
						err = s.show(args[0], stored, shown{}, "")
					}
					if err = told.Note(s.Tool, err); err != nil {
						return err
					}
				}
				return told.Last
			})
		},
	}
}
