package ratelimiter

import "time"

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
