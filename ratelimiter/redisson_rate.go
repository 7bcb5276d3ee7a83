package ratelimiter

import (
	"fmt"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// RedissonRate is the setting of a limiter on Redisson's keys: at most Permits
// within any Interval.
type RedissonRate struct {
	// Permits is how many are granted within an interval, from 1 to 2^53-1.
	Permits int64
	// Interval is in whole milliseconds.
	Interval time.Duration
	// Type says who shares the permits. [PerClient] gives each client the
	// whole rate, counted on the server under the client's id.
	Type RateType
	// KeepAlive is how long the limiter outlives its last use, in whole
	// milliseconds and not less than the interval; 0 is for ever. Redisson
	// knows it since 3.38.
	KeepAlive time.Duration
}

// String writes the rate as [Rate.String] does: "5/s", "5/s per client".
func (r RedissonRate) String() string {
	text := fmt.Sprintf("%d/%s", r.Permits, perText(r.Interval))
	if r.Type != Overall {
		text += " " + r.Type.String()
	}
	return text
}

// rate is the rule as a [Decision] shows it.
func (r RedissonRate) rate() Rate {
	return Rate{N: r.Permits, Per: r.Interval, Burst: r.Permits, Type: r.Type}
}

func (r RedissonRate) check() error {
	switch {
	case r.Permits < 1 || r.Permits >= exact:
		return fmt.Errorf("%w: %d permits: from 1 to 2^53-1", ErrOption, r.Permits)
	case r.Type != Overall && r.Type != PerClient:
		return fmt.Errorf("%w: %v is none of Overall, PerClient", ErrOption, r.Type)
	case r.KeepAlive != 0 && r.KeepAlive < r.Interval:
		return fmt.Errorf("%w: keep-alive %v: 0, or at least the interval, %v", ErrOption, r.KeepAlive, r.Interval)
	}
	if err := checkMillis("interval", r.Interval); err != nil {
		return err
	}
	if r.KeepAlive == 0 {
		return nil
	}
	return checkMillis("keep-alive", r.KeepAlive)
}

// checkMillis refuses what the keys cannot say, rather than to round it.
func checkMillis(what string, d time.Duration) error {
	if d < time.Millisecond || d%time.Millisecond != 0 || d > engine.LongestLease {
		return fmt.Errorf("%w: %s %v: whole milliseconds, from 1ms to %v", ErrOption, what, d, engine.LongestLease)
	}
	return nil
}

// args is the rate as the scripts store it.
func (r RedissonRate) args() []string {
	return []string{
		decimal(r.Permits), decimal(r.Interval.Milliseconds()), decimal(int64(r.Type)), decimal(r.KeepAlive.Milliseconds()),
	}
}

// fromServer is a number of the server's as a time. Redisson stores what it is
// given, so it may be more than a time.Duration holds.
func fromServer(n int64, unit time.Duration) time.Duration {
	if n > math.MaxInt64/int64(unit) {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}

// RedissonSetOption is an option of [Redisson.SetRate] and
// [Redisson.UpdateRate].
type RedissonSetOption interface{ applyRedissonSet(*redissonSet) error }

type redissonSet struct{ keep bool }

type keepState struct{}

func (keepState) applyRedissonSet(s *redissonSet) error {
	s.keep = true
	return nil
}

// WithKeepState lets what was taken within the new interval stay taken when a
// rate is set, unless the type changes with it. A limiter from which more was
// taken than the new rate allows grants again when less is left.
func WithKeepState() RedissonSetOption { return keepState{} }

func resolveRedissonSet(opts []RedissonSetOption) (s redissonSet, err error) {
	for _, o := range opts {
		if o == nil {
			return s, fmt.Errorf("%w: nil option", ErrOption)
		}
		if err := o.applyRedissonSet(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}
