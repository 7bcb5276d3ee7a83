package limits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

const limitLong = `limit works with the rate limiters of rueidisson's package ratelimiter: token
buckets that a fleet shares. "limit set" stores the rate of NAME for all who use
it, and programs follow within a second.

NAME alone has one bucket. With --key K it is that of one key, such as a user or
an address: each key has the whole rate for itself. A key that a program gives a
rate of its own (WithRule) is counted by the stored one here.

A rate that is per client is counted in each process by itself: it can be set,
shown, paused and removed from here, and nothing can be seen or taken.

With --redisson NAME is an RRateLimiter of Redisson's, shared with Java. It is a
log of what was granted. With a rate of N/D, never more than N are granted in any D.
It has no burst, no keys, no blocks and no pauses.

--key is never that of a certificate here: see RUEIDISSON_KEY in "rueidisson --help".

Exit codes of all:
  0    done
  64   the command line cannot be understood, or asks for what no bucket can hold
  69   the server cannot be reached, or refuses; NAME is a limiter of the other
       kind, or none
  78   no rate was set for NAME, or it is per client
  see "rueidisson limit take --help" for that of a refusal`

const limitExample = `  rueidisson limit set mails --rate 5/s --burst 10
  rueidisson limit take mails --key user:42 && ./send-mail
  rueidisson limit watch mails --key user:42
  rueidisson limit take imports --redisson --wait 10s`

// Switches are the flags of limit's commands that take no value.
var Switches = []string{"per-client", "reset", "if-absent", "up-to"}

// Commands returns the command of rate limits.
func Commands(t *tool.Tool) []*cobra.Command {
	return []*cobra.Command{limitCommand(t)}
}

// limitTool is the tool as the commands below limit use it.
type limitTool struct {
	*tool.Tool
	redisson bool // the name is that of an RRateLimiter
}

func limitCommand(tool *tool.Tool) *cobra.Command {
	t := &limitTool{Tool: tool}
	cmd := &cobra.Command{
		Use:     "limit",
		Short:   "Set rate limits, take from them and watch them",
		Long:    limitLong,
		Example: limitExample,
		Args:    usage.NoSuchCommand,

		PersistentPreRunE: t.checkKind,
		RunE:              func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after limit") },
	}
	cmd.PersistentFlags().BoolVar(&t.redisson, "redisson", false, "NAME is an RRateLimiter of Redisson's: for "+ofRedissonText)
	cmd.AddCommand(t.limitSetCommand(), t.limitShowCommand(), t.limitTakeCommand(), t.limitPeekCommand(),
		t.limitWatchCommand(), t.limitResetCommand(), t.limitBlockCommand(), t.limitPauseCommand(),
		t.limitResumeCommand(), t.limitRemoveCommand(), t.limitListCommand(), t.limitTopCommand())
	usage.LetSwitchesStandFirst(cmd, Switches)
	return cmd
}

// withLimiter runs do on a limiter of either kind.
func (t *limitTool) withLimiter(name string, do func(l limiter) error) error {
	return t.WithClient(func(c *rueidisson.Client) error {
		if t.redisson {
			return t.hinted(do(redissonLog{c.RedissonRateLimiter(name)}))
		}
		return t.hinted(do(buckets{c.RateLimiter(name)}))
	})
}

// withBuckets runs do where [limitTool.checkKind] has made sure of the kind.
func (t *limitTool) withBuckets(name string, do func(l buckets) error) error {
	return t.WithClient(func(c *rueidisson.Client) error { return t.hinted(do(buckets{c.RateLimiter(name)})) })
}

// hinted adds to an error what to do about it.
func (t *limitTool) hinted(err error) error {
	var end *exit.Error
	switch {
	case errors.As(err, &end):
		return err
	case errors.Is(err, ratelimiter.ErrNoRate):
		return fmt.Errorf(`%w; see "rueidisson limit set --help"`, err)
	case errors.Is(err, ratelimiter.ErrOtherAlgorithm) && !t.redisson:
		return fmt.Errorf("%w; for an RRateLimiter of Redisson's there is --redisson", err)
	}
	return err
}

// bucketFlag is --key.
type bucketFlag struct {
	cmd *cobra.Command
	key string
}

func (b *bucketFlag) add(cmd *cobra.Command) {
	b.cmd = cmd
	cmd.Flags().StringVar(&b.key, "key", "", "the bucket of the key `K` (default: the one of NAME itself)")
}

// of returns the bucket that is meant. A key that was given and is empty is not the
// same as none: it is what a script makes of a variable that is not set.
func (b *bucketFlag) of(l *ratelimiter.Limiter) *ratelimiter.Bucket {
	if b.cmd.Flags().Changed("key") {
		return l.For(b.key)
	}
	return &l.Bucket
}

// shared makes sure that the bucket is on the server. Of a rate that is per
// client this process would ask a full bucket of its own.
func shared(ctx context.Context, l limiter) error {
	r, err := l.rate(ctx)
	if err == nil && r.Type == ratelimiter.PerClient {
		return &exit.Error{Code: exit.NoRate, Err: fmt.Errorf("rate limiter %q: its rate, %v, is counted in each process by itself, and not here", l.Name(), r)}
	}
	return err
}

// millis returns d in whole milliseconds, rounded up. A caller that waits that long waits long enough.
func millis(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// toTheMilli returns d in words, rounded up to milliseconds.
func toTheMilli(d time.Duration) string {
	if rest := d % time.Millisecond; rest > 0 && d < 1<<63-1-time.Millisecond {
		d += time.Millisecond - rest
	}
	return d.String()
}
