package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
)

const jobStatsLong = `stats counts the jobs in each state: "ready", "due" (delayed, or to be tried again),
"behind" (they wait for another of their group), "leased" (to a worker) and "dead". It
also counts, since the queue was made, those that were added, acked (done), retried
(attempts that failed), that ran out (attempts whose lease did), and that expired.
oldest is how long the next one that is ready has been there.

With --json: {"name", "ready", "due", "behind", "leased", "dead", "added", "acked",
"retried", "ran_out", "expired", "oldest_ms", "paused"}; oldest_ms is 0 if none is ready.

See "rueidisson job --help" for exit codes.`

func (j *jobCall) statsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "stats NAME",
		Short:   "Count the jobs",
		Long:    jobStatsLong,
		Example: "  rueidisson job stats mails --json",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.with(args[0], func(q *jobs) error { return j.stats(cmd.Context(), q) })
		},
	}
}

// jobStats is how a queue is, as --json says it.
type jobStats struct {
	Name     string `json:"name"`
	Ready    int64  `json:"ready"`
	Due      int64  `json:"due"`
	Behind   int64  `json:"behind"`
	Leased   int64  `json:"leased"`
	Dead     int64  `json:"dead"`
	Added    int64  `json:"added"`
	Acked    int64  `json:"acked"`
	Retried  int64  `json:"retried"`
	RanOut   int64  `json:"ran_out"`
	Expired  int64  `json:"expired"`
	OldestMS int64  `json:"oldest_ms"`
	Paused   bool   `json:"paused"`
}

func statsOf(ctx context.Context, q *jobs) (jobStats, error) {
	s, err := q.Stats(ctx)
	if err != nil {
		return jobStats{}, err
	}
	told := jobStats{
		Name: q.Name(), Ready: s.Ready, Due: s.Delayed, Behind: s.Behind, Leased: s.Running, Dead: s.Dead,
		Added: s.Added, Acked: s.Acked, Retried: s.Retried, RanOut: s.RanOut, Expired: s.Expired, Paused: s.Paused,
	}
	if !s.Oldest.IsZero() {
		told.OldestMS = max(time.Since(s.Oldest).Milliseconds(), 0) // by the clock of who added it
	}
	return told, nil
}

func (s *jobStats) oldest() string { return (time.Duration(s.OldestMS) * time.Millisecond).String() }

func (j *jobCall) stats(ctx context.Context, q *jobs) error {
	s, err := statsOf(ctx, q)
	if err != nil {
		return err
	}
	if j.JSON {
		j.SayJSON(j.Stdout, s)
		return nil
	}
	for _, row := range []struct {
		title string
		value any
	}{
		{"name", s.Name},
		{"ready", s.Ready},
		{"due", s.Due},
		{"behind", s.Behind},
		{"leased", s.Leased},
		{"dead", s.Dead},
		{"added", s.Added},
		{"acked", s.Acked},
		{"retried", s.Retried},
		{"ran out", s.RanOut},
		{"expired", s.Expired},
		{"oldest", s.oldest()},
		{"paused", s.Paused},
	} {
		fmt.Fprintf(j.Stdout, "%-9s  %v\n", row.title, row.value)
	}
	return nil
}

const jobWatchLong = `watch counts the jobs again and again, on a line each: the time, how many are ready,
due, behind, leased and dead, what was added, acked and retried since the line before,
and how long the oldest has been ready. Ctrl-C ends it, or --for, both with exit code 0;
so does an error, with its code.

With --json an object in each line, as of stats, and with it "time".

See "rueidisson job --help" for exit codes.`

func (j *jobCall) watchCommand() *cobra.Command {
	var interval, length time.Duration
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Count the jobs, again and again",
		Long:  jobWatchLong,
		Example: `  rueidisson job watch mails
  rueidisson job watch mails --interval 10s --for 1h --json >> mails.jsonl`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case interval <= 0:
				return exit.Usagef("--interval %v is not positive", interval)
			case cmd.Flags().Changed("for") && length <= 0:
				return exit.Usagef("--for %v is not positive", length)
			}
			return j.with(args[0], func(q *jobs) error {
				waiting, stop := run.Interruptible(cmd.Context())
				defer stop()
				return run.UnlessOver(waiting, j.watch(waiting, q, interval, length))
			})
		},
	}
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "look every `D`")
	cmd.Flags().DurationVar(&length, "for", 0, "end after `D` (default: go on until Ctrl-C)")
	return cmd
}

// watch looks once at least.
func (j *jobCall) watch(ctx context.Context, q *jobs, interval, length time.Duration) error {
	var over <-chan time.Time
	if length > 0 {
		over = time.After(length)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var before *jobStats
	for {
		s, err := statsOf(ctx, q)
		if err != nil {
			return err
		}
		j.tellStats(before, &s)
		before = &s
		select {
		case <-ticker.C:
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (j *jobCall) tellStats(before, s *jobStats) {
	now := time.Now()
	if j.JSON {
		j.SayJSON(j.Stdout, struct {
			Time time.Time `json:"time"`
			*jobStats
		}{now.UTC(), s})
		return
	}
	if before == nil {
		before = s
	}
	paused := ""
	if s.Paused {
		paused = "  paused"
	}
	fmt.Fprintf(j.Stdout, "%s  ready %d  due %d  behind %d  leased %d  dead %d  added +%d  acked +%d  retried +%d  oldest %s%s\n",
		now.Format(time.TimeOnly), s.Ready, s.Due, s.Behind, s.Leased, s.Dead,
		s.Added-before.Added, s.Acked-before.Acked, s.Retried+s.RanOut-before.Retried-before.RanOut, s.oldest(), paused)
}
