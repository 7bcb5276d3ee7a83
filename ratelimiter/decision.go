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

	// Remaining is the number of tokens that were left after this decision, at least 0.
	Remaining int64

	// RetryAfter is the time until the same request would be allowed without other requests, 0 if
	// it was allowed.
	RetryAfter time.Duration

	// ResetAfter is the time until the bucket is full again without requests.
	ResetAfter time.Duration

	// Rate is the rule that decided.
	Rate Rate

	// Paused says that the limiter is paused, see [Limiter.Pause].
	Paused bool

	// Fallback says that the server could not be asked in time, and that the fallback of
	// [WithFallback] decided instead.
	Fallback bool
}

// AllDecision is the answer about several limits.
type AllDecision struct {
	// Allowed says whether all members granted. Remaining is the smallest of
	// theirs, with that member's Limit and Rate; RetryAfter and ResetAfter are
	// the longest.
	Decision

	// Members are the limits in the order in which they were given. Allowed says there whether this
	// limit alone would have granted. While a member is paused, a request is not sent to the
	// server, and Allowed is false for all.
	Members []Decision
}

// verdict is what came of a request.
type verdict struct {
	asked  exchange.Ask
	answer exchange.Answer
	atOnce bool       // refused without a request to the server: a member is paused, or has a rate of 0
	fallen []Decision // of each member, where fallbacks decided
}

// of returns what one member says. Where the whole was not granted, one alone might have been.
func (v *verdict) of(member int) Decision {
	if v.fallen != nil {
		return v.fallen[member]
	}
	q := v.asked.Of(member)
	switch {
	case !v.atOnce:
		state := v.answer.Of(member)
		d := decisionOf(state, v.answer.OK || v.asked.All != nil && state.Has(q.N), q.N)
		if q.Rule.Paused { // which only a look is asked for
			d.Paused, d.Allowed, d.RetryAfter = true, false, max(d.RetryAfter, askAgain)
		}
		return d
	case q.Rule.Paused:
		return Decision{Paused: true, Limit: q.Rule.Burst, Rate: rateOf(q.Rule.Rate), RetryAfter: askAgain, ResetAfter: askAgain}
	case q.Rule.Settled():
		return settledDecision(q.Rule)
	}
	return Decision{Limit: q.Rule.Burst, Rate: rateOf(q.Rule.Rate)} // only the rate is known
}

// askAgain is what a refusal by a paused limiter suggests: as long as it may
// take until the end of the pause is known.
const askAgain = exchange.StaleAfter

// decisions returns what all members say.
func (v *verdict) decisions() AllDecision {
	d := AllDecision{Members: v.fallen}
	if d.Members == nil {
		d.Members = make([]Decision, v.asked.Members())
		for i := range d.Members {
			d.Members[i] = v.of(i)
		}
	}
	d.Decision = tightest(d.Members, v.answer.OK)
	return d
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

// tightest returns what several decisions say together.
func tightest(all []Decision, allowed bool) Decision {
	d := all[0]
	for _, one := range all[1:] {
		if d.boundless() || !one.boundless() && one.Remaining < d.Remaining {
			d.Remaining, d.Limit, d.Rate = one.Remaining, one.Limit, one.Rate
		}
		d.Paused = d.Paused || one.Paused
		d.RetryAfter, d.ResetAfter = max(d.RetryAfter, one.RetryAfter), max(d.ResetAfter, one.ResetAfter)
	}
	d.Allowed = allowed
	return d
}

// boundless reports whether the decision is that of [Open], which counts
// nothing.
func (d *Decision) boundless() bool { return d.Allowed && d.Limit == 0 }
