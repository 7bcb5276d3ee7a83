package collections

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/keyspace"
)

const keysLong = `keys lists, counts and removes the keys of Redis, of all masters of a cluster, by a PATTERN: *,
? and [abc] as in a shell; quote it. A key that is there from the beginning to the end is
found, also while slots move or a replica takes over. All keys are looked at, 1,000 at a time,
also where few match.

It sees keys, not objects: an object may have keys whose names begin otherwise. What one object
has is removed by the rm of its own command.

Exit codes of all:
  0    done
  1    rm: no key matches, or the answer was no
  64   the command line cannot be understood
  69   the server cannot be reached, or refuses
  128+N  signal N ended it`

const keysExample = `  rueidisson keys ls 'session:*' --type hash
  rueidisson keys count 'session:*'
  rueidisson keys rm 'session:*' --pace 0.5`

func keysCommand(t *tool.Tool) *cobra.Command {
	return noun("keys", "List, count and remove keys by a pattern", keysLong, keysExample,
		keysListCommand(t), keysCountCommand(t), keysRemoveCommand(t))
}

// onePattern is for commands whose only argument is PATTERN.
func onePattern(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("one PATTERN is needed, not %d: quote it", len(args))
	}
	return nil
}

// withKeys runs do on all keys. It ends as a command that a signal ends.
func withKeys(ctx context.Context, t *tool.Tool, do func(ctx context.Context, keys *keyspace.Keys) error) error {
	return t.WithClient(func(c *rueidisson.Client) error {
		return run.UnlessInterrupted(ctx, func(ctx context.Context) error { return do(ctx, keyspace.New(c)) })
	})
}

const keysListLong = `ls shows the keys that match PATTERN, each on a line, in no order. What has something that is not
printable is quoted as Go does it. A key may be shown twice if it is moved meanwhile.

With --json an object in each line: {"name"}. The exit code is 0 also if there are none.

See "rueidisson keys --help" for exit codes.`

func keysListCommand(t *tool.Tool) *cobra.Command {
	var is string
	cmd := &cobra.Command{
		Use:   "ls PATTERN",
		Short: "Show keys",
		Long:  keysListLong,
		Example: `  rueidisson keys ls 'session:*'
  rueidisson keys ls '*' --type zset --json`,
		Args: onePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts := []keyspace.WalkOption{keyspace.WithMatch(args[0])}
			if cmd.Flags().Changed("type") {
				opts = append(opts, keyspace.WithType(keyspace.Type(is)))
			}
			return withKeys(cmd.Context(), t, func(ctx context.Context, keys *keyspace.Keys) error {
				for name, err := range keys.All(ctx, opts...) {
					if err != nil {
						return err
					}
					if err := t.Stdout.Failed(); err != nil {
						return err
					}
					if !t.JSON {
						fmt.Fprintln(t.Stdout, values.Printable(name))
						continue
					}
					t.SayJSON(t.Stdout, struct {
						Name string `json:"name"`
					}{name})
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&is, "type", "", "only keys of the `TYPE`: string, list, set, zset, hash, stream")
	return cmd
}

const keysCountLong = `count prints how many keys match PATTERN.

With --json: {"pattern", "count"}.

See "rueidisson keys --help" for exit codes.`

func keysCountCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "count PATTERN",
		Short:   "Count keys",
		Long:    keysCountLong,
		Example: "  rueidisson keys count 'session:*'",
		Args:    onePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKeys(cmd.Context(), t, func(ctx context.Context, keys *keyspace.Keys) error {
				n, err := keys.CountMatch(ctx, args[0])
				if err != nil {
					return err
				}
				return t.TellDone(struct {
					Pattern string `json:"pattern"`
					Count   int64  `json:"count"`
				}{args[0], n}, "%d\n", n)
			})
		},
	}
}

const keysRemoveLong = `rm removes the keys that match PATTERN, and prints how many it has. It counts them first, and
asks on standard error. With --yes it does neither, which is needed where standard input is no
terminal, and with --json. What is written meanwhile may be removed, too.

A PATTERN that matches every name, such as '*', needs --all.

With --json: {"pattern", "removed"}.

See "rueidisson keys --help" for exit codes.`

// removing is what keys rm was asked to do.
type removing struct {
	*tool.Tool
	pattern  string
	yes, all bool
	pace     float64
}

func keysRemoveCommand(t *tool.Tool) *cobra.Command {
	r := removing{Tool: t}
	cmd := &cobra.Command{
		Use:   "rm PATTERN",
		Short: "Remove keys",
		Long:  keysRemoveLong,
		Example: `  rueidisson keys rm 'session:*'
  rueidisson keys rm 'session:*' --yes --pace 0.5`,
		Args: onePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.pattern = args[0]
			if !r.all && strings.Contains(r.pattern, "*") && strings.Trim(r.pattern, "*?") == "" {
				return exit.Usagef("%s matches every name: --all permits that", r.pattern)
			}
			if !r.yes && !t.CanAsk() {
				return exit.Usagef("nobody can be asked whether to remove the keys: --yes does not ask")
			}
			return withKeys(cmd.Context(), t, r.remove)
		},
	}
	cmd.Flags().BoolVar(&r.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&r.all, "all", false, "PATTERN may match every name")
	cmd.Flags().Float64Var(&r.pace, "pace", 1, "work for that `SHARE` of the time, from 0.01 to 1, and rest for the others")
	return cmd
}

func (r *removing) remove(ctx context.Context, keys *keyspace.Keys) error {
	opts := []keyspace.DeleteOption{keyspace.WithPace(r.pace)}
	if r.all {
		opts = append(opts, keyspace.WithEverything())
	}
	if !r.yes {
		n, err := keys.CountMatch(ctx, r.pattern)
		if err != nil {
			return err
		}
		if n == 0 {
			return r.tell(0)
		}
		yes, err := r.Ask(ctx, fmt.Sprintf("remove %d keys that match %s?", n, values.Printable(r.pattern)))
		if err != nil || !yes {
			r.Say("nothing was removed")
			if err == nil {
				err = &exit.Error{Code: exit.Refused}
			}
			return err
		}
	}
	n, err := keys.DeleteMatch(ctx, r.pattern, opts...)
	if err != nil && n > 0 {
		r.Note("%d keys were removed before", n)
	}
	if err != nil {
		return err
	}
	return r.tell(n)
}

// tell says how many were removed. That none was is an answer.
func (r *removing) tell(n int64) error {
	err := r.TellDone(struct {
		Pattern string `json:"pattern"`
		Removed int64  `json:"removed"`
	}{r.pattern, n}, "%d\n", n)
	if err == nil && n == 0 {
		err = &exit.Error{Code: exit.Refused}
	}
	return err
}
