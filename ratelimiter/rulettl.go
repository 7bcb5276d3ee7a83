package ratelimiter

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// WithRuleTTL has the stored rate go when nobody has used it for d: requests fail
// with [ErrNoRate] then, as after [Limiter.Delete], until somebody sets one. It is
// for names that are without number, such as tenants. The default is none.
//
// Whoever goes by the rate, looks at it or sets it has used it; for the server
// that counts once for each tenth of d, so that a rate stays for nine tenths of d
// to d after its last use. Requests by a rule of their own ([WithRule]) do not use
// it. A paused limiter stays until it is resumed.
//
// [Limiter.SetRate] without it leaves the time as it is stored; 0 stores none, and
// so does a new rate without it. It is stored with the rate, and is at least 10 s
// and twice the time in which an empty bucket gets full, so that the buckets of a
// rate that has gone are full. Those in debt are not: a new rate WithRuleTTL
// forgives nothing that was taken by an earlier one of the name, also after a
// Delete. One without it does.
//
// Whoever serves a name sets its rate ([Limiter.TrySetRate]) when it hears
// ErrNoRate. Until then it is for the program to say what happens: httplimit's
// FailOpen passes requests on.
//
// The server's clock ends the time, also while it is down or nobody can reach it,
// and if it is set ahead: choose days. With a rate that goes, an eviction policy
// of volatile keys may evict the rate.
func WithRuleTTL(d time.Duration) TrySetOption {
	return trySetOption{func(s *exchange.Setting) error {
		if least := exchange.LeastTTL(s.Rule); d != 0 && (d < least || d > core.LongestLease) {
			return fmt.Errorf("%w: a rule of %v that goes after %v: from %v to %v", ErrOption, rateOf(s.Rule.Rate), d, least, core.LongestLease)
		}
		s.TTL = d
		return nil
	}}
}

// RuleTTL returns how long the stored rate stays when nobody uses it, 0 for ever; see
// [WithRuleTTL]. To ask for it is a use.
//
// Cost and errors: as [Limiter.Rate].
func (l *Limiter) RuleTTL(ctx context.Context) (time.Duration, error) {
	r, err := l.stored(ctx)
	if err != nil {
		return 0, l.failed("rule ttl", err)
	}
	return r.TTL, nil
}
