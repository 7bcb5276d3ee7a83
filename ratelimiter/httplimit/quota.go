package httplimit

import (
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// quota is a limit in the terms of the headers: whole tokens and seconds.
type quota struct {
	name      string
	window    int64 // w
	most      int64 // q, in a window
	remaining int64 // r
	wait      int64 // t
}

// known reports whether the limit has numbers: a decision of a fallback that
// always says the same has none.
func (l Limit) known() bool { return l.Rate.N > 0 && l.Rate.Per > 0 && l.Rate.Burst > 0 }

func quotaOf(l Limit, cost int64) quota {
	w := max(1, secondsFor(l.Rate.Burst, l.Rate))
	return quota{
		name: l.Name, window: w, most: tokensIn(w, l.Rate),
		remaining: min(max(0, l.Remaining), largest), wait: l.wait(cost),
	}
}

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

// nextToken returns how long it takes until one token is there, of which there is
// none now: as long as to fill the bucket, but for the rest of the burst.
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

// tokensIn returns how many tokens come in that many seconds.
func tokensIn(seconds int64, r ratelimiter.Rate) int64 {
	q, _ := product(r.N, seconds).times(uint64(time.Second)).over(uint64(r.Per))
	return q.field()
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
