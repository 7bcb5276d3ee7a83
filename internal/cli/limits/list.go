package limits

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/scan"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

const limitListLong = `ls shows the limiters whose rate is stored, one a line, by name: all of them, or
those whose names match PATTERN (*, ? and [abc] as in a shell; quote it).

It looks through the keys of Redis, of all masters of a cluster, by SCAN, and says
so on standard error if there are more than --scan allows. Limiters of Redisson's
and rates that travel with the call are not stored like that.

With --json an object in each line: {"name", "paused", "rate": {"text", "n",
"per_ns", "burst", "per_client"}, "keep_alive_ms" (if the rate goes when nobody has
used it for that time; to be listed is no use)}. The exit code is 0 also if there are none.`

func (t *limitTool) limitListCommand() *cobra.Command {
	s := &scan.Scanner{Tool: t.Tool}
	cmd := &cobra.Command{
		Use:   "ls [PATTERN]",
		Short: "Show the limiters whose rate is stored",
		Long:  limitListLong,
		Example: `  rueidisson limit ls
  rueidisson limit ls 'tenant:*' --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("one PATTERN at the most, not %d: quote it", len(args))
			}
			return s.Check()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := "*"
			if len(args) == 1 {
				pattern = args[0]
			}
			return s.WithRedis(func(*rueidisson.Client) error { return listRates(cmd.Context(), s, pattern) })
		},
	}
	s.AddFlag(cmd)
	return cmd
}

// listRates shows the rates that are stored.
func listRates(ctx context.Context, s *scan.Scanner, pattern string) error {
	rules := map[string]*bucket.Rule{}
	err := s.Strings(ctx, pattern, func(_ int64, texts map[string]string) {
		for name, text := range texts {
			if r, err := bucket.Parse(text); err == nil {
				rules[name] = r
			}
		}
	})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		r := rules[name]
		if s.JSON {
			s.SayJSON(s.Stdout, struct {
				Name   string      `json:"name"`
				Paused bool        `json:"paused"`
				Rate   values.Rate `json:"rate"`
				TTL    int64       `json:"keep_alive_ms,omitempty"`
			}{name, r.Paused, values.NewRate(values.RateOf(r).String(), values.RateOf(r)), millis(r.TTL)})
			continue
		}
		fmt.Fprintf(w, "%s\t%v%s%s\n", values.Printable(name), r.Rate, suffixIf(r.Paused, ", paused"),
			suffixIf(r.TTL > 0, fmt.Sprintf(", forgotten %v after its last use", r.TTL)))
	}
	return w.Flush()
}

func suffixIf(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}
