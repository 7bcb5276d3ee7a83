package httplimit

import (
	"math/bits"
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// known reports whether the limit has numbers: a decision of a fallback that
// always says the same has none.
func (l Limit) known() bool { return l.Rate.N > 0 && l.Rate.Per > 0 && l.Rate.Burst > 0 }

// wait returns the t of the limit, for a request of that cost. Where tokens are left,
// it is the time in which as many come, unless they were too few.
func (l Limit) wait(cost int64) int64 {
	refused := !l.Allowed && l.RetryAfter > 0
	switch {
	case refused && (l.Remaining > 0 || cost == 1):
		return seconds(l.RetryAfter)
	case l.Remaining > 0:
		return secondsFor(l.Remaining, l.Rate)
	}
	if next := seconds(l.nextToken()); next > 0 {
		return next
	}
	return seconds(l.RetryAfter) // a pause or a block
}

// nextToken returns the time until there is one token, for a bucket that has none: the time to fill
// the bucket, without the rest of the burst.
func (l Limit) nextToken() time.Duration {
	rest, _ := product(l.Rate.Burst-1, int64(l.Rate.Per)).over(uint64(l.Rate.N))
	if rest.high > 0 || rest.low >= uint64(max(0, l.ResetAfter)) {
		return 0
	}
	return l.ResetAfter - time.Duration(rest.low)
}

// secondsFor returns how many seconds it takes until tokens have come, rounded up.
func secondsFor(tokens int64, r ratelimiter.Rate) int64 {
	return product(tokens, int64(r.Per)).overUp(uint64(time.Second)).overUp(uint64(r.N)).field()
}

// seconds rounds up.
func seconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Second) + 1
}

// retryAfter returns what the header of that name says, 0 for nothing: when the same
// request may be allowed, but not sooner than a t that refused it.
func retryAfter(refused Report) int64 {
	if refused.Never {
		return 0
	}
	wait := int64(1)
	for _, l := range refused.Limits {
		if l.Allowed || refused.unasked(l) {
			continue
		}
		if l.banned() { // no time ends that
			return 0
		}
		wait = max(wait, seconds(l.RetryAfter))
		if l.known() {
			wait = max(wait, l.wait(refused.Cost))
		}
	}
	return min(wait, largest)
}

// wide is a product of tokens and nanoseconds: 128 bits, as 64 overflow with a
// burst of 10 million for a month.
type wide struct{ high, low uint64 }

func product(a, b int64) wide {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return wide{high, low}
}

// times has to be less than 2^128.
func (x wide) times(m uint64) wide {
	high, low := bits.Mul64(x.low, m)
	return wide{x.high*m + high, low}
}

// over returns the quotient, rounded down, and whether that left something out.
func (x wide) over(d uint64) (q wide, rest bool) {
	q.high = x.high / d
	low, rem := bits.Div64(x.high%d, x.low, d)
	q.low = low
	return q, rem != 0
}

// overUp returns the quotient, rounded up.
func (x wide) overUp(d uint64) wide {
	q, rest := x.over(d)
	if rest {
		var carry uint64
		q.low, carry = bits.Add64(q.low, 1, 0)
		q.high += carry
	}
	return q
}

// largest is the largest integer of Structured Fields.
const largest = 999_999_999_999_999

// field returns the number as far as a field can carry it.
func (x wide) field() int64 {
	if x.high > 0 || x.low > largest {
		return largest
	}
	return int64(x.low)
}

func (x wide) less(y wide) bool { return x.high < y.high || (x.high == y.high && x.low < y.low) }
