package grpclimit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// An Option changes what [New] returns. One that cannot be used is an error of
// New that wraps [ratelimiter.ErrInvalidArgument].
type Option interface{ apply(*settings) error }

// settings are what options set.
type settings struct {
	more    []*ratelimiter.Limiter
	tried   []*ratelimiter.Limiter // in shadow
	cost    func(ctx context.Context, method string) int64
	timeout time.Duration
}

// defaultTimeout is that of package httplimit.
const defaultTimeout = 500 * time.Millisecond

func defaults() settings {
	return settings{cost: func(context.Context, string) int64 { return 1 }, timeout: defaultTimeout}
}

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

// Also adds limits that have to grant as well, such as one for a day. They are
// asked together, see [ratelimiter.All]: tokens are taken of all or of none.
func Also(more ...*ratelimiter.Limiter) Option {
	return option(func(s *settings) error {
		s.more = append(s.more, more...)
		return nil
	})
}

// AlsoShadow adds limits that are only tried out, see [ratelimiter.Shadow]: each
// call that the others let through is counted, and the observer of the limiters'
// client hears what they say. They refuse nothing, and nobody waits for them.
func AlsoShadow(more ...*ratelimiter.Limiter) Option {
	return option(func(s *settings) error {
		if slices.Contains(more, nil) {
			return fmt.Errorf("%w: AlsoShadow of nil", ratelimiter.ErrInvalidArgument)
		}
		s.tried = append(s.tried, more...)
		return nil
	})
}

// Cost sets how many tokens a call takes; method is its full name, such as
// "/package.Service/Method". With 0 it is passed on as if there were no limit,
// such as a health check.
func Cost(cost func(ctx context.Context, method string) int64) Option {
	return option(func(s *settings) error {
		if cost == nil {
			return fmt.Errorf("%w: Cost of nil", ratelimiter.ErrInvalidArgument)
		}
		s.cost = cost
		return nil
	})
}

// Timeout bounds the wait for a decision. A limiter's own
// ratelimiter.WithFallback has to come sooner to have an effect. The default is
// half a second.
func Timeout(d time.Duration) Option {
	return option(func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("%w: a timeout of %v: it must be positive", ratelimiter.ErrInvalidArgument, d)
		}
		s.timeout = d
		return nil
	})
}
