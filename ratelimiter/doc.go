// Package ratelimiter limits requests over a fleet, such as "five requests a second for each
// client". It keeps token buckets on the server, in whole numbers and by the server's clock.
//
// # Which one
//
//	c.RateLimiter("api")                  one bucket for all processes
//	c.RateLimiter("api").For("user:42")   a bucket for each key, all by the same rate
//	rate.PerClient()                      a bucket in each process; no request leaves it
//	ratelimiter.All(perSecond, perDay)    several limits, one decision
//	c.RedissonRateLimiter("api")          Redisson's sliding log, shared with Java: package redissonlimiter
//
// [Bucket.Allow] and [Bucket.Take] answer at once. [Bucket.TakeUpTo] takes as many tokens as there
// are. [Bucket.Wait] sleeps until its tokens are there, [Bucket.Reserve] returns when they will be,
// and [Bucket.Charge] takes what was used already. Package ratelimiter/httplimit serves net/http,
// the module ratelimiter/grpclimit serves gRPC.
//
// # What it guarantees
//
// A bucket that starts full, and follows a rate of N tokens every Per with
// Burst at the most, grants in any window of length T no more than
//
//	Burst + N*T/Per
//
// tokens, counted when they may be used, by forward movement of the server's clock. "1,000 a day,
// burst 1,000" therefore admits up to 2,000 within a day: a bucket is no calendar quota. There are
// no floats. N and Per are divided by their common divisor, and counted in ticks: a token and the
// refill of one unit of time are whole numbers of ticks. A rate that cannot be counted exactly
// below 2^53 returns an error when it is set; requests are never rounded. Rates with a very large
// burst are counted by a coarser clock, of milliseconds or seconds; the refill of one unit of it
// may then come at once.
//
// The store decides about the rate. [Limiter.SetRate] changes it for all processes within a second,
// because a process decides by a copy that is at most that old. A bucket that a newer rate has been
// applied to already is decided by that at once. Another algorithm or object under the name returns
// an error on either side, and never gets a second budget.
//
// Requests that take tokens are sent once. If the reply is lost, the tokens may
// be gone, and the error is [ErrOutcomeUnknown]; nothing is ever granted twice.
//
// Tokens that were granted to a caller that had gone are given back when the answer comes. Until
// then they count as taken, and the bucket refills as if they were. A window that begins in between
// may therefore see more than the line above says. The excess is at most the tokens that came back,
// and at most the refill from their grant to their return, which takes as long as the answer.
//
// Calls of one process on one bucket that come while another is under way are sent together, in the
// order in which they came, and are decided one by one: the answers are the same as with one call
// each. The first call never waits for others.
//
// # What it does not guarantee
//
// A failover to a replica that had not seen the last decisions forgets them, and so does a restart
// without appendfsync always: their tokens may be granted once more, at most a burst. A bucket that
// is evicted is full again: use a policy that evicts no keys with a TTL, or a server of its own.
//
// After a failover the clock of the new master counts. If it is late by up to a second, nothing
// refills until it has caught up. If it is late by more, time continues from there. For a bucket in
// debt or blocked it does so after a second, because its waiters may have got a time that was later
// by that. If the clock is ahead, the difference refills. A reservation or a wait that is cancelled
// after the clock was set back by more than a second may give back its tokens although those after
// it need them: as many tokens may be granted twice, once.
//
// [WithLocalDenial], [WithPrefetch] and [WithFallback] each relax the limit as they describe.
// [Limiter.Reset], [Bucket.Refund] and [WithReset] give more than the rate on purpose.
//
// A process that dies forfeits its reservations. Waiters of one bucket are served in the order in
// which the server heard of them. A cancelled wait gives back the tokens that later waiters do not
// need, and does not move them up.
//
// Calendar quotas ("1,000 a month, from the 1st, in a time zone") are not part
// of this.
//
// # Observation
//
// A limit can be tried out in addition to others, which alone decide: see [Shadow].
//
// A client's observer that is a rueidisson.DecisionObserver is called for each decision, with the
// limiter, the result, where it was decided, and how many requests one call to the server decided.
// It never gets a key. Without such an observer that costs nothing. Package otel counts the
// decisions.
//
// # In Redis
//
//	name              string: "tb1 generation reset N per burst type paused nonce", per in ns; and the time after
//	                  which it goes if nobody uses it, in ms, if it does
//	{name}:bucket     string: the bucket without a key, with the time to full as its time to live
//	name:{key}        string: the bucket of a key
//
// A bucket is four numbers of seven bytes each, the highest first: the generation of the rule, t, w
// and f. At server time t, in µs, w tokens and f ticks are missing. A fifth number is the end of a
// block. A full bucket has no key. A name with braces of its own is used as it is; all its keys
// share its slot then. The rule is a string, so Java's RRateLimiter fails on the name (WRONGTYPE)
// instead of running a second budget.
//
// # Sources
//
// The token bucket is that of Turner, "New directions in communications" (IEEE
// Communications Magazine, 1986); reservations, Wait and Cancel follow
// golang.org/x/time/rate; names of the store's operations are those of
// Redisson's RRateLimiter.
package ratelimiter
