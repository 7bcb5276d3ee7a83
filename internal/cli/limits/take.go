package limits

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

const limitTakeLong = `take takes N tokens, one by default, if all are there, and nothing otherwise. With
--wait it waits for them, in the order in which all processes asked, unless they
come later than that: then it is refused at once. With --redisson there is no
order among those who wait.

With --up-to it takes as many as are there, N at the most, and says how many; it is
refused if there is none.

A signal ends the wait, and what was reserved is given back.

With --json: as "limit peek", and "n", "waited_ms", and "taken" with --up-to.

Exit codes:
  0      granted
  1      refused; the output says after how long it would be granted if nobody
         else asked (in JSON 0: never, at this rate)
  128+N  signal N ended the wait
  see "rueidisson limit --help" for the others`

const limitTakeExample = `  rueidisson limit take mails && ./send-mail
  rueidisson limit take mails --key user:42 3
  rueidisson limit take mails --up-to 100 --json
  rueidisson limit take mails --wait 30s || { [ $? = 1 ] && echo "too many mails"; }`

// taking is what limit take was asked to do.
type taking struct {
	*limitTool
	bucket bucketFlag
	wait   time.Duration
	n      int64
	upTo   bool
}

func (t *limitTool) limitTakeCommand() *cobra.Command {
	k := &taking{limitTool: t}
	cmd := &cobra.Command{
		Use:                   "take NAME [N] [flags]",
		DisableFlagsInUseLine: true,
		Short:                 "Take tokens, or be refused",
		Long:                  limitTakeLong,
		Example:               limitTakeExample,
		Args:                  k.takeArgs,
		RunE:                  k.checkAndTake,
	}
	k.bucket.add(cmd)
	cmd.Flags().DurationVar(&k.wait, "wait", 0, "wait for up to `D` until the tokens are there")
	cmd.Flags().BoolVar(&k.upTo, "up-to", false, "take as many as are there, N at the most")
	return cmd
}

func (k *taking) takeArgs(_ *cobra.Command, args []string) (err error) {
	k.n = 1
	switch len(args) {
	case 1:
	case 2:
		if k.n, err = strconv.ParseInt(args[1], 10, 64); err != nil {
			return exit.Usagef("N %q is not a number of tokens", args[1])
		}
	default:
		return exit.Usagef("one NAME is needed, and N at the most, not %d arguments", len(args))
	}
	return nil
}

func (k *taking) checkAndTake(cmd *cobra.Command, args []string) error {
	switch {
	case k.wait < 0:
		return exit.Usagef("--wait %v is negative", k.wait)
	case k.upTo && k.wait > 0:
		return exit.Usagef("--up-to takes what is there: --up-to and --wait exclude each other")
	case k.upTo && k.redisson:
		return exit.Usagef("a limiter of Redisson's takes all or nothing: --redisson and --up-to exclude each other")
	}
	return k.withLimiter(args[0], func(l limiter) error {
		return run.UnlessInterrupted(cmd.Context(), func(ctx context.Context) error { return k.take(ctx, l) })
	})
}

func (k *taking) take(ctx context.Context, l limiter) error {
	if err := shared(ctx, l); err != nil {
		return err
	}
	if k.upTo {
		return k.takeUpTo(ctx, l)
	}
	began := time.Now()
	d, err := k.ask(ctx, l.bucket(&k.bucket))
	if err != nil {
		return err
	}
	return k.tell(l.Name(), d, time.Since(began))
}

// ask takes what is there, or waits for it if it comes in time.
func (k *taking) ask(ctx context.Context, b source) (ratelimiter.Decision, error) {
	d, err := b.Take(ctx, k.n)
	if err != nil || d.Allowed || d.RetryAfter > k.wait || never(d) {
		return d, err
	}
	bounded, cancel := context.WithTimeout(ctx, k.wait)
	defer cancel()
	switch err := b.WaitN(bounded, k.n); {
	case err == nil:
		return afterWait(ctx, b, d), nil
	case tooLate(err) && ctx.Err() == nil:
		return b.Take(ctx, k.n) // says how long it takes from now on
	default:
		return d, err
	}
}

// afterWait returns the answer to a wait that was granted, which stands although it
// may be unknown what is left.
func afterWait(ctx context.Context, b source, refused ratelimiter.Decision) ratelimiter.Decision {
	d, err := b.Peek(ctx)
	if err != nil {
		d = refused
	}
	d.Allowed, d.RetryAfter = true, 0
	return d
}

// tooLate reports whether a wait ended because its time did. After a lost reply
// the tokens may have been taken, and are not asked for again.
func tooLate(err error) bool {
	return !errors.Is(err, ratelimiter.ErrOutcomeUnknown) &&
		(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ratelimiter.ErrExceedsDebt))
}

// taken is what limit take tells.
type taken struct {
	decided
	N        int64 `json:"n"`
	WaitedMS int64 `json:"waited_ms"`
}

func (k *taking) tell(name string, d ratelimiter.Decision, waited time.Duration) error {
	switch {
	case k.JSON:
		k.SayJSON(k.Stdout, taken{k.decided(name, k.bucket.key, d), k.n, waited.Milliseconds()})
	case d.Allowed:
		fmt.Fprintf(k.Stdout, "granted, %d of %d left\n", d.Remaining, d.Limit)
	case d.Paused:
		fmt.Fprintf(k.Stdout, "refused while paused, %s\n", refused(d))
	default:
		fmt.Fprintf(k.Stdout, "refused, %s\n", refused(d))
	}
	if !d.Allowed {
		return &exit.Error{Code: exit.Refused}
	}
	return nil
}
