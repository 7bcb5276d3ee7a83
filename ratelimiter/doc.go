// Package ratelimiter is "five requests a second for each client", over a
// fleet: token buckets that the server keeps, in whole numbers and by its own
// clock.
//
// # Which one
//
//	c.RateLimiter("api")                  one bucket for all processes
//	c.RateLimiter("api").For("user:42")   a bucket for each key, all by the same rate
//	rate.PerClient()                      a bucket in each process; no request leaves it
//	ratelimiter.All(perSecond, perDay)    several limits, one decision
//	c.RedissonRateLimiter("api")          Redisson's sliding log, shared with Java: package redissonlimiter
//
// [Bucket.Allow] and [Bucket.Take] answer at once, [Bucket.TakeUpTo] takes as
// much as is there, [Bucket.Wait] sleeps until
// its tokens are there, [Bucket.Reserve] says when they will be, and
// [Bucket.Charge] takes what was used already. net/http is served by
// ratelimiter/httplimit, gRPC by the module ratelimiter/grpclimit.
//
// # What it guarantees
//
// A bucket that starts full, and follows a rate of N tokens every Per with
// Burst at the most, grants in any window of length T no more than
//
//	Burst + N*T/Per
//
// tokens, counted when they may be used, by forward movement of the server's
// clock. "1,000 a day, burst 1,000" therefore admits up to 2,000 within a day:
// a bucket is no calendar quota. There are no floats: N and Per are divided by
// what they have in common, and counted in ticks of which a token and what a
// unit of time brings are multiples. What cannot be counted exactly below 2^53
// is an error when the rate is set, never a rounding at a request. Rates with a
// very large burst are counted by a coarser clock, of milliseconds or seconds;
// what comes in one unit of it may then come at once.
//
// The store decides about the rate. [Limiter.SetRate] changes it for everybody
// within a second, because that is how old the copy may be that a process
// decides by; a bucket that somebody has decided about by the newer rate
// already is decided about by that at once. Another algorithm or object under
// the name is an error on either side, never a second budget.
//
// Requests that take tokens are sent once. If the reply is lost, the tokens may
// be gone, and the error is [ErrOutcomeUnknown]; nothing is ever granted twice.
//
// What was granted to a caller that had gone is given back when the answer
// comes. Until then it counts as taken, and the bucket refills as if it were. A
// window that begins in between may therefore see more than the line above
// says: at most the tokens that came back, and at most what the rate brings
// from their grant to their return, which is as long as the answer took.
//
// Calls of one process on one bucket that come while another is on its way go
// out together, in the order in which they came, and are decided about one by
// one: the same answers as from a call each. The first never waits for others.
//
// # What it does not guarantee
//
// A failover to a replica that had not seen the last decisions forgets them, and
// so does a restart without appendfsync always: what they took may be granted
// once more, at most a burst. A bucket that is evicted is full again: use a
// policy that evicts no keys with a TTL, or a database of its own. The clock of
// the new master counts from then on: where it is behind by up to a second,
// nothing refills until it has caught up; where it is behind by more, time goes
// on from there, for a bucket in debt or blocked after a second, as those who
// wait for it may have been told a time that was later by that; where it is
// ahead, the difference refills. A reservation or a wait that is cancelled after
// the clock went back by more than a second may give back its tokens though those
// behind it need them: as many may be granted twice, once.
//
// [WithLocalDenial], [WithPrefetch] and [WithFallback] each relax the limit as
// they say. [Limiter.Reset], [Bucket.Refund] and [WithReset] give more than the
// rate does: that is what they are for.
//
// A process that dies forfeits what it had reserved. Order among waiters is the
// order in which the server heard of them, for waits of one bucket; a cancelled
// wait gives back what those behind it do not need, and does not move them up.
//
// Calendar quotas ("1,000 a month, from the 1st, in a time zone") are not part
// of this.
//
// # What it tells
//
// A limit can be tried out beside others, which alone decide: see [Shadow].
//
// A client's observer that is a rueidisson.DecisionObserver hears each decision:
// of which limiter, allowed or refused, by whom, and how many requests the server
// was asked about in one call. It never hears a key. Without such an observer
// that costs nothing. Package otel counts them.
//
// # In Redis
//
//	name              string: "tb1 generation reset N per burst type paused nonce", per in ns; and the time after
//	                  which it goes if nobody uses it, in ms, if it does
//	{name}:bucket     string: the bucket without a key, with the time to full as its time to live
//	name:{key}        string: the bucket of a key
//
// A bucket is four numbers of seven bytes each, the highest first: the
// generation of the rule, t, w and f. w tokens and f ticks are missing as of server
// time t in µs; a fifth number is the end of a block. A full one is absent. A
// name with braces of its own is used as it is; all its keys share its slot
// then. That the rule is a string makes Java's RRateLimiter fail on the name
// (WRONGTYPE) instead of running a second budget.
//
// # Sources
//
// The token bucket is that of Turner, "New directions in communications" (IEEE
// Communications Magazine, 1986); reservations, Wait and Cancel follow
// golang.org/x/time/rate; names of the store's operations are those of
// Redisson's RRateLimiter.
package ratelimiter
