package ratelimiter

import "github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"

// AllDecision is the answer about several limits.
type AllDecision struct {
	// Allowed says whether all members granted. Remaining is the smallest of
	// theirs, with that member's Limit and Rate; RetryAfter and ResetAfter are
	// the longest.
	Decision

	// Members are the limits in the order in which they were given. Allowed
	// says there whether this one alone would have granted; while a member is
	// paused, a request asks nobody, and it is false for all.
	Members []Decision
}

// decisionsOf returns what several buckets say. Where the whole was not granted, one alone
// might have been.
func decisionsOf(a *exchange.Answer, q *exchange.Ask) AllDecision {
	d := AllDecision{Members: make([]Decision, q.Members())}
	for i := range d.Members {
		b, n := a.Of(i), q.Of(i).N
		d.Members[i] = decisionOf(b, a.OK || b.Has(n), n)
	}
	d.Decision = tightest(d.Members, a.OK)
	return d
}

// refusedAtOnce returns the answer while a member is paused, or has a rate of 0: nobody
// is asked, and of the others only the rate is known.
func refusedAtOnce(a *exchange.Ask) (d AllDecision, at bool) {
	for i := range a.Members() {
		r := a.Of(i).Rule
		one := Decision{Limit: r.Burst, Rate: rateOf(r.Rate)}
		switch {
		case r.Paused:
			one, at = pausedDecision(r), true
		case r.Settled():
			one, at = settledDecision(r), at || r.None()
		}
		d.Members = append(d.Members, one)
	}
	d.Decision = tightest(d.Members, false)
	return d, at
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
