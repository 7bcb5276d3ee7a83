package limits

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

const limitPeekLong = `peek shows what is left of a bucket, without taking anything: the tokens that are
there; whether a request of one would be granted, or how long that takes; and when
the bucket is full again if nobody asks.

With --json: {"name", "key", "allowed", "paused" (if it is), "limit" (the burst),
"remaining", "retry_after_ms", "reset_after_ms" (until it is full), "rate":
{"text", "n", "per_ns", "burst", "per_client"}, "keep_alive_ms" (how long a rate
stays that nobody uses, if it does not stay for ever)}. The exit code is 0 whether or not a request
would be granted.`

func (t *limitTool) limitPeekCommand() *cobra.Command {
	var bucket bucketFlag
	cmd := &cobra.Command{
		Use:   "peek NAME",
		Short: "Show what is left of a bucket",
		Long:  limitPeekLong,
		Example: `  rueidisson limit peek mails
  rueidisson limit peek mails --key user:42 --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.withLimiter(args[0], func(l limiter) error {
				return t.limitPeek(cmd.Context(), l, &bucket)
			})
		},
	}
	bucket.add(cmd)
	return cmd
}

func (t *limitTool) limitPeek(ctx context.Context, l limiter, which *bucketFlag) error {
	if err := shared(ctx, l); err != nil {
		return err
	}
	d, err := l.bucket(which).Peek(ctx)
	if err != nil {
		return err
	}
	stored, err := l.rate(ctx)
	if err != nil {
		return err
	}
	if t.JSON {
		told := t.decided(l.Name(), which.key, d)
		told.KeepAliveMS = millis(stored.keepAlive)
		t.SayJSON(t.Stdout, told)
		return nil
	}
	return t.printPeek(l.Name(), which.key, d, stored.keepAlive)
}

func (t *limitTool) printPeek(name, key string, d ratelimiter.Decision, keepAlive time.Duration) error {
	w := tabwriter.NewWriter(t.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\n", name)
	if key != "" {
		fmt.Fprintf(w, "key\t%s\n", key)
	}
	fmt.Fprintf(w, "rate\t%v\nremaining\t%d of %d\ngranted\t%s\nfull\t%s\n",
		t.setting(d.Rate), d.Remaining, d.Limit, granted(d), full(d))
	if keepAlive > 0 {
		fmt.Fprintf(w, "forgotten\t%v after its last use\n", keepAlive)
	}
	return w.Flush()
}

// granted says whether a request of one token would be.
func granted(d ratelimiter.Decision) string {
	switch {
	case d.Allowed:
		return "yes"
	case d.Paused:
		return "not while paused"
	case never(d):
		return "never"
	}
	return "in " + toTheMilli(d.RetryAfter)
}

func full(d ratelimiter.Decision) string {
	if d.ResetAfter == 0 {
		return "yes"
	}
	return "in " + toTheMilli(d.ResetAfter)
}

// setting returns the rate of a decision.
func (t *limitTool) setting(r ratelimiter.Rate) setting { return setting{Rate: r, log: t.redisson} }

// decided is a decision in JSON.
type decided struct {
	Name         string      `json:"name"`
	Key          string      `json:"key,omitempty"`
	Allowed      bool        `json:"allowed"`
	Paused       bool        `json:"paused,omitempty"`
	Limit        int64       `json:"limit"`
	Remaining    int64       `json:"remaining"`
	RetryAfterMS int64       `json:"retry_after_ms"`
	ResetAfterMS int64       `json:"reset_after_ms"`
	Rate         values.Rate `json:"rate"`
	KeepAliveMS  int64       `json:"keep_alive_ms,omitempty"`
}

func (t *limitTool) decided(name, key string, d ratelimiter.Decision) decided {
	return decided{
		Name: name, Key: key, Allowed: d.Allowed, Paused: d.Paused, Limit: d.Limit, Remaining: d.Remaining,
		RetryAfterMS: millis(d.RetryAfter), ResetAfterMS: millis(d.ResetAfter), Rate: values.NewRate(t.setting(d.Rate).String(), d.Rate),
	}
}
