package limits

import "github.com/rueidisson/rueidisson/ratelimiter"

// unlimited reports whether a rate grants all.
func unlimited(r ratelimiter.Rate) bool {
	r.Type = ratelimiter.Overall
	return r == ratelimiter.Unlimited
}

// never reports whether the same request will be refused as long as this rate is
// there. Such a decision names no time after which it would be granted.
func never(d ratelimiter.Decision) bool { return !d.Allowed && !d.Paused && d.Rate.N == 0 }

// refused says for how long a request that was refused would be.
func refused(d ratelimiter.Decision) string {
	if never(d) {
		return "at this rate nothing is granted"
	}
	return "retry after " + toTheMilli(d.RetryAfter)
}
