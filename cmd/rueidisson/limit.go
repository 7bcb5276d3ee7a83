package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
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

// limitSwitches are the flags of limit's commands that take no value.
var limitSwitches = []string{"per-client", "reset", "if-absent", "up-to"}

func (t *tool) limitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "limit",
		Short:   "Set rate limits, take from them and watch them",
		Long:    limitLong,
		Example: limitExample,
		Args:    noSuchCommand,

		PersistentPreRunE: t.checkKind,
		RunE:              func(*cobra.Command, []string) error { return usage("a command is needed after limit") },
	}
	cmd.PersistentFlags().BoolVar(&t.redisson, "redisson", false, "NAME is an RRateLimiter of Redisson's: for "+ofRedissonText)
	cmd.AddCommand(t.limitSetCommand(), t.limitShowCommand(), t.limitTakeCommand(), t.limitPeekCommand(),
		t.limitWatchCommand(), t.limitResetCommand(), t.limitBlockCommand(), t.limitPauseCommand(),
		t.limitResumeCommand(), t.limitRemoveCommand(), t.limitListCommand(), t.limitTopCommand())
	letSwitchesStandFirst(cmd, limitSwitches)
	return cmd
}

// withLimiter runs do on a limiter of either kind.
func (t *tool) withLimiter(name string, do func(l limiter) error) error {
	return t.withClient(func(c *rueidisson.Client) error {
		if t.redisson {
			return do(redissonLog{c.RedissonRateLimiter(name)})
		}
		return do(buckets{c.RateLimiter(name)})
	})
}

// withBuckets runs do where [tool.checkKind] has made sure of the kind.
func (t *tool) withBuckets(name string, do func(l buckets) error) error {
	return t.withClient(func(c *rueidisson.Client) error { return do(buckets{c.RateLimiter(name)}) })
}

// withClient runs do on a client of its own.
func (t *tool) withClient(do func(c *rueidisson.Client) error) error {
	c, err := t.connect()
	if err != nil {
		return err
	}
	err = do(c)
	bounded, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	undone := c.Close(bounded) // it holds nothing; what it could not give back in time is forfeited
	if errors.Is(err, rueidisson.ErrDeferred) {
		err = t.atLast(err, undone)
	}
	return t.limitFailed(err)
}

// atLast returns the outcome of a command that was deferred. Its process ends, and the
// client has tried once more as it closed.
func (t *tool) atLast(err, undone error) error {
	switch {
	case undone == nil:
		t.say("the server refused at first, and took it at last")
		return nil
	case errors.Is(undone, rueidisson.ErrOutcomeUnknown):
		return fmt.Errorf("it may have been done: %w", undone)
	}
	return &ending{code: exitUnavailable, err: fmt.Errorf("not done; it may be called again: %w", errors.Join(withoutDeferred(err)...))}
}

// withoutDeferred returns what err wraps in addition to ErrDeferred, in whose place the
// tool says what it is worth to its caller.
func withoutDeferred(err error) (rest []error) {
	var both interface{ Unwrap() []error }
	if !errors.As(err, &both) {
		return []error{err}
	}
	for _, part := range both.Unwrap() {
		if part != rueidisson.ErrDeferred {
			rest = append(rest, part)
		}
	}
	return rest
}

// limitFailed does what failed does, and says what to do about it.
func (t *tool) limitFailed(err error) error {
	var end *ending
	switch {
	case err == nil || errors.As(err, &end):
		return err
	case errors.Is(err, ratelimiter.ErrNoRate):
		err = fmt.Errorf(`%w; see "rueidisson limit set --help"`, err)
	case errors.Is(err, ratelimiter.ErrOtherAlgorithm) && !t.redisson:
		err = fmt.Errorf("%w; for an RRateLimiter of Redisson's there is --redisson", err)
	}
	return failed(err)
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
		return &ending{code: exitNoRate, err: fmt.Errorf("rate limiter %q: its rate, %v, is counted in each process by itself, and not here", l.Name(), r)}
	}
	return err
}

// rateTold is a rate in JSON.
type rateTold struct {
	Text      string `json:"text"`
	N         int64  `json:"n"`
	PerNS     int64  `json:"per_ns"`
	Burst     int64  `json:"burst"`
	PerClient bool   `json:"per_client"`
}

func newRateTold(r setting) rateTold {
	return rateTold{r.String(), r.N, int64(r.Per), r.Burst, r.Type == ratelimiter.PerClient}
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

// interruptible returns a context that a signal ends, too; see interruptedBy.
func interruptible(ctx context.Context) (waiting context.Context, stop func()) {
	waiting, interrupt := context.WithCancelCause(ctx)
	relay := startRelay(func(sig os.Signal) { interruptBy(interrupt, sig) })
	return waiting, func() {
		relay.stop()
		interrupt(nil)
	}
}

// unlessInterrupted runs do under a context that a signal ends, too: then that
// is how it ended.
func unlessInterrupted(ctx context.Context, do func(ctx context.Context) error) error {
	waiting, stop := interruptible(ctx)
	defer stop()
	err := do(waiting)
	if sig, ok := interruptedBy(waiting); ok && err != nil {
		return &ending{code: signalCode(sig), err: context.Cause(waiting)}
	}
	return err
}
