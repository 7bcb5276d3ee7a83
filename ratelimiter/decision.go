package ratelimiter

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// Decision is the answer to one request.
type Decision struct {
	// Allowed says whether the request may go on now.
	Allowed bool

	// Limit is the most tokens that can be there at once, the burst; of a
	// limiter on Redisson's keys, the permits of one interval.
	Limit int64

	// Remaining is how many tokens were left after this decision, at least 0.
	Remaining int64

	// RetryAfter is how long it takes until the same request would be
	// allowed if nobody else asked, 0 if it was allowed.
	RetryAfter time.Duration

	// ResetAfter is how long it takes until the bucket is full again if
	// nobody asks.
	ResetAfter time.Duration

	// Rate is the rule that decided.
	Rate Rate

	// Paused says that the limiter is paused, see [Limiter.Pause].
	Paused bool

	// Fallback says that the server could not be asked in time, and that
	// what [WithFallback] names decided instead.
	Fallback bool
}

// decision returns what an answer says to a request of n tokens.
func decision(a *exchange.Answer, n int64) Decision {
	if a.Paused {
		return pausedDecision(a.Rule)
	}
	return decisionOf(&a.State, a.OK, n)
}

// decisionOf returns what a bucket says to a request of n tokens.
func decisionOf(b *bucket.State, ok bool, n int64) Decision {
	if b.Rule.Settled() {
		return settledDecision(b.Rule)
	}
	d := Decision{Allowed: ok, Limit: b.Rule.Burst, Rate: rateOf(b.Rule.Rate), Remaining: b.Remaining(), ResetAfter: b.Full()}
	if !ok {
		d.RetryAfter = max(b.Enough(n), time.Microsecond)
	}
	return d
}

// settledDecision returns what a rate says that decides by itself. One of 0 names no
// time after which it would grant.
func settledDecision(r *bucket.Rule) Decision {
	if r.Unlimited() {
		return Decision{Allowed: true, Limit: r.Burst, Remaining: r.Burst, Rate: rateOf(r.Rate)}
	}
	return Decision{Rate: rateOf(r.Rate)}
}
