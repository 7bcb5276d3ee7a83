package redissonlimiter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Rate is the setting of a limiter on Redisson's keys: at most Permits
// within any Interval.
type Rate struct {
	// Permits is how many are granted within an interval, from 1 to 2^53-1.
	Permits int64
	// Interval is in whole milliseconds.
	Interval time.Duration
	// Type says who shares the permits. [ratelimiter.PerClient] gives each client the
	// whole rate, counted on the server under the client's id.
	Type ratelimiter.RateType
	// KeepAlive is how long the limiter outlives its last use, in whole
	// milliseconds and not less than the interval; 0 is for ever. Redisson
	// knows it since 3.38.
	KeepAlive time.Duration
}

// String writes the rate as [ratelimiter.Rate.String] does: "5/s", "5/s per client".
func (r Rate) String() string {
	text, _, _ := strings.Cut(r.rate().String(), " ")
	if r.Type != ratelimiter.Overall {
		text += " " + r.Type.String()
	}
	return text
}

// rate returns the rule as a [ratelimiter.Decision] shows it.
func (r Rate) rate() ratelimiter.Rate {
	return ratelimiter.Rate{N: r.Permits, Per: r.Interval, Burst: r.Permits, Type: r.Type}
}

func (r Rate) check() error {
	switch {
	case r.Permits < 1 || r.Permits >= exact:
		return fmt.Errorf("%w: %d permits: from 1 to 2^53-1", ratelimiter.ErrInvalidArgument, r.Permits)
	case r.Type != ratelimiter.Overall && r.Type != ratelimiter.PerClient:
		return fmt.Errorf("%w: %v is none of Overall, PerClient", ratelimiter.ErrInvalidArgument, r.Type)
	case r.KeepAlive != 0 && r.KeepAlive < r.Interval:
		return fmt.Errorf("%w: keep-alive %v: 0, or at least the interval, %v", ratelimiter.ErrInvalidArgument, r.KeepAlive, r.Interval)
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
	if d < time.Millisecond || d%time.Millisecond != 0 || d > core.LongestLease {
		return fmt.Errorf("%w: %s %v: whole milliseconds, from 1ms to %v", ratelimiter.ErrInvalidArgument, what, d, core.LongestLease)
	}
	return nil
}

// exact is the bound of what a Lua number holds to the last digit.
const exact = 1 << 53

// decimal returns a number as scripts get it.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// args returns the rate as the scripts store it.
func (r Rate) args() []string {
	return []string{
		decimal(r.Permits), decimal(r.Interval.Milliseconds()), decimal(int64(r.Type)), decimal(r.KeepAlive.Milliseconds()),
	}
}

// fromServer returns a number of the server's as a time. Redisson stores what it is
// given, so it may be more than a time.Duration holds.
func fromServer(n int64, unit time.Duration) time.Duration {
	if n > math.MaxInt64/int64(unit) {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}
