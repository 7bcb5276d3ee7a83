package limits

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/scan"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

const limitTopLong = `top shows the keys of NAME that have the least left, one a line, the emptiest first:
10 of them, or N. Keys whose buckets are full are not in Redis, and not shown.

What is left is rounded down, and may be a token less than "limit peek" says;
below 0 it is debt, and what is reserved. Of a key above 64 bytes its hash is
shown, as it stands in Redis, after "%#". Keys that go by a rate of their own are
counted by the stored one.

It looks through the keys of Redis, of all masters of a cluster, by SCAN, and says
so on standard error if there are more than --scan allows: then others may have
less.

With --json an object in each line: {"name", "key", "hashed" (if it is),
"remaining", "limit" (the burst), "blocked_ms" (0: not blocked)}. The exit code is
0 also if there are none.`

// topping is what limit top was asked for.
type topping struct {
	scan.Scanner
	n int
}

func (t *limitTool) limitTopCommand() *cobra.Command {
	p := &topping{Scanner: scan.Scanner{Tool: t.Tool}}
	cmd := &cobra.Command{
		Use:                   "top NAME [N] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Show the keys that have the least left",
		Long:                  limitTopLong,
		Example: `  rueidisson limit top mails
  rueidisson limit top mails 100 --json`,
		Args: p.topArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithRedis(func(c *rueidisson.Client) error {
				return t.hinted(p.top(cmd.Context(), buckets{c.RateLimiter(args[0])}))
			})
		},
	}
	p.AddFlag(cmd)
	return cmd
}

func (p *topping) topArgs(_ *cobra.Command, args []string) (err error) {
	p.n = 10
	switch len(args) {
	case 1:
	case 2:
		if p.n, err = strconv.Atoi(args[1]); err != nil || p.n < 1 {
			return exit.Usagef("N %q is not a number of keys", args[1])
		}
	default:
		return exit.Usagef("one NAME is needed, and N at the most, not %d arguments", len(args))
	}
	return p.Check()
}

// scarce is a key that has less than all.
type scarce struct {
	Name      string `json:"name"`
	Key       string `json:"key"`
	Hashed    bool   `json:"hashed,omitempty"`
	Remaining int64  `json:"remaining"`
	Limit     int64  `json:"limit"`
	BlockedMS int64  `json:"blocked_ms"`
}

func (p *topping) top(ctx context.Context, l buckets) error {
	if err := shared(ctx, l); err != nil {
		return err
	}
	text, err := p.Redis.Do(ctx, p.Redis.B().Getrange().Key(l.Name()).Start(0).End(scan.LongestState).Build()).ToString()
	r, notOne := bucket.Parse(text)
	if err != nil || notOne != nil { // it went since
		return cmp.Or(err, ratelimiter.ErrNoRate)
	}
	var least []scarce
	err = p.Strings(ctx, literally(l.Name())+":{*}", func(now int64, texts map[string]string) {
		for key, state := range texts {
			if one, ok := scarceOf(r, l.Name(), key, state, now); ok {
				least = append(least, one)
			}
		}
		least = p.emptiest(least)
	})
	if err != nil {
		return err
	}
	return p.print(least)
}

// emptiest returns the first of them, each once.
func (p *topping) emptiest(all []scarce) []scarce {
	slices.SortFunc(all, func(a, b scarce) int { return cmp.Or(cmp.Compare(a.Remaining, b.Remaining), cmp.Compare(a.Key, b.Key)) })
	seen := make(map[string]bool, len(all))
	all = slices.DeleteFunc(all, func(one scarce) bool {
		before := seen[one.Key]
		seen[one.Key] = true
		return before
	})
	return all[:min(len(all), p.n)]
}

func (p *topping) print(least []scarce) error {
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	for _, one := range least {
		if p.JSON {
			p.SayJSON(p.Stdout, one)
			continue
		}
		blocked := time.Duration(one.BlockedMS) * time.Millisecond
		fmt.Fprintf(w, "%s\t%d of %d left%s\n", values.Printable(one.Key), one.Remaining, one.Limit, suffixIf(blocked > 0, ", blocked for "+blocked.String()))
	}
	return w.Flush()
}

// scarceOf returns the bucket of a key at server time now. It is none if it is full and
// not blocked, or left over from before the rate was lifted.
func scarceOf(r *bucket.Rule, name, redisKey, state string, now int64) (one scarce, ok bool) {
	b, ok := r.Read(state, now)
	if !ok || r.Settled() {
		return one, false
	}
	one = scarce{Name: name, Limit: r.Burst, Remaining: b.Left(), BlockedMS: (b.Block + 999) / 1000}
	one.Key, one.Hashed = bucketKey(redisKey[len(name):])
	return one, one.Remaining < r.Burst || b.Block > 0
}

var unescape = strings.NewReplacer("%7B", "{", "%7D", "}", "%25", "%")

// bucketKey returns the key of ":{key}".
func bucketKey(tail string) (key string, hashed bool) {
	key = strings.TrimSuffix(strings.TrimPrefix(tail, ":{"), "}")
	if strings.HasPrefix(key, "%#") {
		return key, true
	}
	return unescape.Replace(key), false
}

var escapeGlob = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)

// literally returns a pattern that matches nothing but the text.
func literally(text string) string { return escapeGlob.Replace(text) }
