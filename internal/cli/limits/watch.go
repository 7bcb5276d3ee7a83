package limits

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

const limitWatchLong = `watch shows what is left of a bucket, once a second: on a terminal as a bar that is
drawn anew, elsewhere as a line each. It takes nothing. Ctrl-C ends it, or --for,
both with exit code 0; so does an error, with its code.

With --json an object in each line: as "limit peek", and "time".`

const limitWatchExample = `  rueidisson limit watch mails
  rueidisson limit watch mails --key user:42 --interval 200ms
  rueidisson limit watch mails --for 1m --json >> mails.jsonl`

// watching is what limit watch was asked to do.
type watching struct {
	*limitTool
	bucket   bucketFlag
	interval time.Duration
	length   time.Duration // 0: until it is interrupted
}

func (t *limitTool) limitWatchCommand() *cobra.Command {
	w := &watching{limitTool: t}
	cmd := &cobra.Command{
		Use:     "watch NAME",
		Short:   "Show what is left of a bucket, again and again",
		Long:    limitWatchLong,
		Example: limitWatchExample,
		Args:    usage.OneName,
		RunE:    w.checkAndWatch,
	}
	w.bucket.add(cmd)
	cmd.Flags().DurationVar(&w.interval, "interval", time.Second, "look every `D`")
	cmd.Flags().DurationVar(&w.length, "for", 0, "end after `D` (default: go on until Ctrl-C)")
	return cmd
}

func (w *watching) checkAndWatch(cmd *cobra.Command, args []string) error {
	switch {
	case w.interval <= 0:
		return exit.Usagef("--interval %v is not positive", w.interval)
	case cmd.Flags().Changed("for") && w.length <= 0:
		return exit.Usagef("--for %v is not positive", w.length)
	}
	return w.withLimiter(args[0], func(l limiter) error {
		waiting, stop := run.Interruptible(cmd.Context())
		defer stop()
		return run.UnlessOver(waiting, w.watch(waiting, l))
	})
}

func (w *watching) watch(ctx context.Context, l limiter) error {
	if err := shared(ctx, l); err != nil {
		return err
	}
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if w.length > 0 {
		bounded, cancel = context.WithTimeout(ctx, w.length)
	}
	defer cancel()
	show := w.view(bucketName(l, &w.bucket))
	defer show.end()
	err := w.look(bounded, l.bucket(&w.bucket), func(d ratelimiter.Decision) { show.draw(l.Name(), w.bucket.key, d) })
	if ctx.Err() == nil && bounded.Err() != nil {
		return nil
	}
	return err
}

// look looks at once and at each interval, until ctx ends.
func (w *watching) look(ctx context.Context, b source, seen func(ratelimiter.Decision)) error {
	ticker := time.NewTicker(w.interval)
	defer ticker.Stop()
	for {
		d, err := b.Peek(ctx)
		if err != nil {
			return err
		}
		seen(d)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
