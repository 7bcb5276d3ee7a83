package limits

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// limiter is one of either kind: token buckets, or Redisson's log.
type limiter interface {
	Name() string
	rate(ctx context.Context) (setting, error)
	paused(ctx context.Context) (bool, error)
	set(ctx context.Context, s setting, reset bool) (stored setting, err error)
	trySet(ctx context.Context, s setting) (stored setting, set bool, err error)
	bucket(which *bucketFlag) source
	Delete(ctx context.Context) (bool, error)
}

// source is what tokens are taken of.
type source interface {
	Take(ctx context.Context, n int64) (ratelimiter.Decision, error)
	WaitN(ctx context.Context, n int64) error
	Peek(ctx context.Context) (ratelimiter.Decision, error)
}

// setting is a rate as either kind stores it.
type setting struct {
	ratelimiter.Rate
	log       bool // Redisson's: never more than N in any Per
	keepAlive time.Duration
	given     bool // keepAlive is to be stored, also 0
}

func (s setting) String() string {
	if s.log {
		return s.redisson().String()
	}
	return s.Rate.String()
}

func (s setting) redisson() redissonlimiter.Rate {
	return redissonlimiter.Rate{Permits: s.N, Interval: s.Per, Type: s.Type, KeepAlive: s.keepAlive}
}

// buckets is the kind that is meant without --redisson.
type buckets struct{ *ratelimiter.Limiter }

func (l buckets) rate(ctx context.Context) (setting, error) {
	r, err := l.Rate(ctx)
	if err != nil {
		return setting{}, err
	}
	return l.ofStored(ctx, r)
}

// ofStored returns a rate that is stored, and how long it stays.
func (l buckets) ofStored(ctx context.Context, r ratelimiter.Rate) (setting, error) {
	ttl, err := l.RuleTTL(ctx)
	return setting{Rate: r, keepAlive: ttl}, err
}

func (l buckets) paused(ctx context.Context) (bool, error) {
	d, err := l.Peek(ctx)
	return d.Paused, err
}

func (l buckets) set(ctx context.Context, s setting, reset bool) (setting, error) {
	var opts []ratelimiter.SetOption
	if reset {
		opts = append(opts, ratelimiter.WithReset())
	}
	if s.given {
		return s, l.SetRate(ctx, s.Rate, append(opts, ratelimiter.WithRuleTTL(s.keepAlive))...)
	}
	if err := l.SetRate(ctx, s.Rate, opts...); err != nil {
		return setting{}, err
	}
	return l.ofStored(ctx, s.Rate)
}

func (l buckets) trySet(ctx context.Context, s setting) (setting, bool, error) {
	r, set, err := l.TrySetRate(ctx, s.Rate, ratelimiter.WithRuleTTL(s.keepAlive))
	if err != nil {
		return setting{}, false, err
	}
	s, err = l.ofStored(ctx, r)
	return s, set, err
}

func (l buckets) bucket(which *bucketFlag) source { return which.of(l.Limiter) }

// redissonLog is the kind that is meant with --redisson.
type redissonLog struct{ *redissonlimiter.Limiter }

func (l redissonLog) rate(ctx context.Context) (setting, error) {
	r, err := l.Rate(ctx)
	own := ratelimiter.Rate{N: r.Permits, Per: r.Interval, Burst: r.Permits, Type: r.Type}
	return setting{Rate: own, log: true, keepAlive: r.KeepAlive}, err
}

func (l redissonLog) paused(context.Context) (bool, error) { return false, nil }

func (l redissonLog) set(ctx context.Context, s setting, reset bool) (setting, error) {
	if reset {
		return s, l.SetRate(ctx, s.redisson())
	}
	return s, l.SetRate(ctx, s.redisson(), redissonlimiter.WithKeepState())
}

func (l redissonLog) trySet(ctx context.Context, s setting) (setting, bool, error) {
	set, err := l.TrySetRate(ctx, s.redisson())
	if err != nil || set {
		return s, set, err
	}
	s, err = l.rate(ctx)
	return s, false, err
}

func (l redissonLog) bucket(*bucketFlag) source { return l.Limiter }

// ofRedisson are the commands that Redisson's limiters have.
var (
	ofRedisson     = []string{"set", "show", "take", "peek", "watch", "rm"}
	ofRedissonText = strings.Join(ofRedisson, ", ")
)

// checkKind refuses what Redisson's limiters do not have.
func (t *limitTool) checkKind(cmd *cobra.Command, _ []string) error {
	switch {
	case t.Flags.Changed("key"): // a command with buckets has a flag of that name
		return exit.Usagef("unknown flag: --key: %s has no buckets, and the key of a certificate is %s here", cmd.CommandPath(), server.EnvKey)
	case !t.redisson:
		return nil
	case cmd.HasParent() && cmd.Parent().Name() == "limit" && !slices.Contains(ofRedisson, cmd.Name()):
		return exit.Usagef("a limiter of Redisson's has no %s: --redisson goes with %s", cmd.Name(), ofRedissonText)
	case cmd.Flags().Changed("key"):
		return exit.Usagef("a limiter of Redisson's has no keys: --redisson and --key exclude each other")
	}
	return nil
}

// kept says how long a limiter outlives its last use, if there is an end to it.
func (s setting) kept() string {
	if s.keepAlive == 0 {
		return ""
	}
	return fmt.Sprintf("forgotten %v after its last use\n", s.keepAlive)
}
