package jobs

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

const jobTermsLong = `terms shows how the jobs of NAME are dealt with, by each of its workers: how many
attempts they have, how long they wait after each failed one, how many dead there may
be and for how long, the lease of workers that are given none, how many jobs may be with
workers at the same time, and of each group, and for how long "job find" knows jobs that are done. A queue
keeps the attempts and the backoff that its first workers were given. With flags terms changes
them first, and leaves the others as they are; with --reset the others are the default
again, until a worker comes that was given some. Workers follow with the next job that they
take.

With --json: {"name", "attempts", "backoff_ms", "dead_limit", "dead_age_ms", "lease_ms",
"in_flight", "group_in_flight", "keep_done_ms"}; backoff_ms is a list. Its last
element counts for all further attempts. backoff_ms and the fields after lease_ms are
left out while the default counts.

See "rueidisson job --help" for exit codes.`

// termsCall is what job terms was asked to change.
type termsCall struct {
	*jobCall
	attempts, deadLimit, inFlight, group int
	backoff, deadAge, lease, keepDone    time.Duration
	reset                                bool
}

// What counts where a queue has no term of its own.
const (
	plainAttempts  = 10
	plainDeadLimit = 10_000
	plainDeadAge   = 30 * 24 * time.Hour
	plainLease     = 30 * time.Second
)

func (j *jobCall) termsCommand() *cobra.Command {
	c := &termsCall{jobCall: j}
	cmd := &cobra.Command{
		Use:   "terms NAME",
		Short: "Show or change how the jobs are dealt with",
		Long:  jobTermsLong,
		Example: `  rueidisson job terms mails
  rueidisson job terms mails --attempts 5 --backoff 10s --dead-limit 100000
  rueidisson job terms mails --reset --attempts 5`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.backoff < 0 || c.backoff > longestBackoff {
				return exit.Usagef("--backoff %v is not between 0 and %v", c.backoff, longestBackoff)
			}
			return c.with(args[0], func(q *jobs) error { return c.run(cmd, q) })
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.attempts, "attempts", 0, "bury a job after its `N`th attempt")
	f.DurationVar(&c.backoff, "backoff", 0, "pause for `D` after the first attempt, twice that after each further one, at most 10m")
	f.IntVar(&c.deadLimit, "dead-limit", 0, "keep `N` dead jobs")
	f.DurationVar(&c.deadAge, "dead-age", 0, "keep dead jobs for `D`")
	f.IntVar(&c.inFlight, "in-flight", 0, "at most `N` jobs are with workers at the same time")
	f.IntVar(&c.group, "group-in-flight", 0, "at most `N` jobs of each group are under way at the same time")
	f.DurationVar(&c.keepDone, "keep-done", 0, "keep jobs that are done for `D`")
	f.DurationVar(&c.lease, "lease", 0, "leases of workers that are given none are of `D`")
	f.BoolVar(&c.reset, "reset", false, "terms that no other flag gives are the default again")
	return cmd
}

func (c *termsCall) run(cmd *cobra.Command, q *jobs) error {
	terms, err := q.Terms(cmd.Context())
	if err != nil {
		return err
	}
	if c.reset {
		terms = reliable.Terms{}
	}
	if opts := c.options(cmd, terms); len(opts) > 0 || c.reset {
		if terms, err = c.change(cmd.Context(), q.Name(), opts); err != nil {
			return err
		}
	}
	c.tellTerms(q.Name(), terms)
	return nil
}

// options returns the terms that the flags change.
func (c *termsCall) options(cmd *cobra.Command, now reliable.Terms) (opts []reliable.Option) {
	given := cmd.Flags().Changed
	if given("attempts") {
		opts = append(opts, reliable.WithMaxAttempts(c.attempts))
	}
	if given("backoff") {
		opts = append(opts, reliable.WithBackoff(doubling(c.backoff)))
	}
	if given("dead-limit") || given("dead-age") {
		limit, age := cmp.Or(now.DeadLimit, plainDeadLimit), cmp.Or(now.DeadAge, plainDeadAge)
		if given("dead-limit") {
			limit = c.deadLimit
		}
		if given("dead-age") {
			age = c.deadAge
		}
		opts = append(opts, reliable.WithDeadLimit(limit, age))
	}
	if given("in-flight") {
		opts = append(opts, reliable.WithMaxInFlight(c.inFlight))
	}
	if given("group-in-flight") {
		opts = append(opts, reliable.WithGroupInFlight(c.group))
	}
	if given("keep-done") {
		opts = append(opts, reliable.WithKeepDone(c.keepDone))
	}
	if given("lease") {
		opts = append(opts, reliable.WithLease(c.lease))
	}
	return opts
}

func (c *termsCall) change(ctx context.Context, name string, opts []reliable.Option) (terms reliable.Terms, err error) {
	err = c.with(name, func(q *jobs) error {
		set := q.SetTerms
		if c.reset {
			set = q.ResetTerms
		}
		err := set(ctx)
		if err == nil {
			terms, err = q.Terms(ctx)
		}
		return err
	}, opts...)
	return terms, err
}

func (c *termsCall) tellTerms(name string, t reliable.Terms) {
	attempts, limit := cmp.Or(t.MaxAttempts, plainAttempts), cmp.Or(t.DeadLimit, plainDeadLimit)
	age, lease := cmp.Or(t.DeadAge, plainDeadAge), cmp.Or(t.Lease, plainLease)
	var waits []int64
	texts := make([]string, len(t.Backoff))
	for i, d := range t.Backoff {
		waits, texts[i] = append(waits, d.Milliseconds()), d.String()
	}
	if c.JSON {
		c.SayJSON(c.Stdout, struct {
			Name      string  `json:"name"`
			Attempts  int     `json:"attempts"`
			BackoffMS []int64 `json:"backoff_ms,omitempty"`
			DeadLimit int     `json:"dead_limit"`
			DeadAgeMS int64   `json:"dead_age_ms"`
			LeaseMS   int64   `json:"lease_ms"`
			InFlight  int     `json:"in_flight,omitempty"`
			Group     int     `json:"group_in_flight,omitempty"`
			KeepMS    int64   `json:"keep_done_ms,omitempty"`
		}{name, attempts, waits, limit, age.Milliseconds(), lease.Milliseconds(), t.MaxInFlight, t.GroupInFlight, t.KeepDone.Milliseconds()})
		return
	}
	backoff := "1s, doubled, at most 10m0s"
	if len(texts) > 0 {
		backoff = strings.Join(texts, ", ")
	}
	fmt.Fprintf(c.Stdout, "attempts    %d\nbackoff     %s\ndead limit  %d\ndead age    %v\nlease       %v\n", attempts, backoff, limit, age, lease)
	if t.MaxInFlight > 0 {
		fmt.Fprintf(c.Stdout, "in flight   %d\n", t.MaxInFlight)
	}
	if t.GroupInFlight > 0 {
		fmt.Fprintf(c.Stdout, "of a group  %d\n", t.GroupInFlight)
	}
	if t.KeepDone > 0 {
		fmt.Fprintf(c.Stdout, "keep done   %v\n", t.KeepDone)
	}
}
