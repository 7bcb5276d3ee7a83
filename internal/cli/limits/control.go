package limits

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
)

const limitResetLong = `reset makes a bucket full, and lifts a block. Waits that were granted before keep
their time. All buckets of NAME at once: "limit set --reset".

With --json: {"name", "key", "reset"}.`

func (t *limitTool) limitResetCommand() *cobra.Command {
	var bucket bucketFlag
	cmd := &cobra.Command{
		Use:   "reset NAME",
		Short: "Make a bucket full",
		Long:  limitResetLong,
		Example: `  rueidisson limit reset mails
  rueidisson limit reset mails --key user:42`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.withBuckets(args[0], func(l buckets) error {
				return t.limitReset(cmd.Context(), l, &bucket)
			})
		},
	}
	bucket.add(cmd)
	return cmd
}

func (t *limitTool) limitReset(ctx context.Context, l buckets, which *bucketFlag) error {
	if err := shared(ctx, l); err != nil {
		return err
	}
	if err := which.of(l.Limiter).Reset(ctx); err != nil {
		return err
	}
	return t.TellDone(struct {
		Name  string `json:"name"`
		Key   string `json:"key,omitempty"`
		Reset bool   `json:"reset"`
	}{l.Name(), which.key, true}, "%s: full\n", bucketName(l, which))
}

// bucketName returns how a bucket is called in the output.
func bucketName(l limiter, which *bucketFlag) string {
	if which.key == "" {
		return l.Name()
	}
	return l.Name() + " for " + which.key
}

const limitBlockLong = `block grants nothing of a bucket for the time that --for says, whatever is there.
It fills meanwhile. A second block replaces the first, and "limit reset" ends it.
Waits that were granted before keep their time.

With --json: {"name", "key", "blocked_ms"}.`

// blocking is what limit block was asked to do.
type blocking struct {
	*limitTool
	bucket bucketFlag
	d      time.Duration
}

func (t *limitTool) limitBlockCommand() *cobra.Command {
	b := &blocking{limitTool: t}
	cmd := &cobra.Command{
		Use:   "block NAME --for D",
		Short: "Grant nothing of a bucket for some time",
		Long:  limitBlockLong,
		Example: `  rueidisson limit block mails --key user:42 --for 10m
  rueidisson limit block mails --for 1h`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("for") {
				return exit.Usagef("--for is needed, as in --for 10m")
			}
			return b.withBuckets(args[0], func(l buckets) error { return b.block(cmd.Context(), l) })
		},
	}
	b.bucket.add(cmd)
	cmd.Flags().DurationVar(&b.d, "for", 0, "for how long, `D`")
	return cmd
}

func (b *blocking) block(ctx context.Context, l buckets) error {
	if err := shared(ctx, l); err != nil {
		return err
	}
	if err := b.bucket.of(l.Limiter).Block(ctx, b.d); err != nil {
		return err
	}
	return b.TellDone(struct {
		Name      string `json:"name"`
		Key       string `json:"key,omitempty"`
		BlockedMS int64  `json:"blocked_ms"`
	}{l.Name(), b.bucket.key, millis(b.d)}, "%s: blocked for %v\n", bucketName(l, &b.bucket), b.d)
}

const limitPauseLong = `pause stops granting, for all keys of NAME, until "limit resume".
Buckets fill meanwhile, requests are refused, and those that wait go on waiting.
Programs follow within a second.

With --json: {"name", "paused"}.`

func (t *limitTool) limitPauseCommand() *cobra.Command {
	return t.pauseOrResume("pause", "Stop granting, for all keys", limitPauseLong, true)
}

const limitResumeLong = `resume ends a pause. Programs follow within a second. It does nothing to a limiter
that is not paused.

With --json: {"name", "paused"}.`

func (t *limitTool) limitResumeCommand() *cobra.Command {
	return t.pauseOrResume("resume", "End a pause", limitResumeLong, false)
}

func (t *limitTool) pauseOrResume(command, short, long string, paused bool) *cobra.Command {
	return &cobra.Command{
		Use:     command + " NAME",
		Short:   short,
		Long:    long,
		Example: "  rueidisson limit " + command + " mails",
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.withBuckets(args[0], func(l buckets) error { return t.setPaused(cmd.Context(), l, paused) })
		},
	}
}

func (t *limitTool) setPaused(ctx context.Context, l buckets, paused bool) error {
	do, word := l.Resume, "not paused"
	if paused {
		do, word = l.Pause, "paused"
	}
	if err := do(ctx); err != nil {
		return err
	}
	return t.TellDone(struct {
		Name   string `json:"name"`
		Paused bool   `json:"paused"`
	}{l.Name(), paused}, "%s: %s\n", l.Name(), word)
}

const limitRemoveLong = `rm forgets the rate of NAME, and with it what was taken. Programs that ask for tokens
get an error from then on, "no rate was set", and not a refusal.

With --json: {"name", "removed"}.

Exit codes:
  1    no rate was set
  see "rueidisson limit --help" for the others`

func (t *limitTool) limitRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Forget the rate of a limiter",
		Long:  limitRemoveLong,
		Example: `  rueidisson limit rm mails
  rueidisson limit rm mails --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.withLimiter(args[0], func(l limiter) error { return t.TellRemoved(cmd.Context(), l) })
		},
	}
}
