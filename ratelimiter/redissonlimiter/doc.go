// Package redissonlimiter is the rate limiter of Redisson's RRateLimiter, on its
// keys, so that Go and Java take part in the same limit: a log of what was
// granted, of which no more than the permits of its rate fall into any one
// interval.
//
//	l := c.RedissonRateLimiter("api")
//	_, err := l.TrySetRate(ctx, redissonlimiter.Rate{Permits: 5, Interval: time.Second})
//	allowed, err := l.Allow(ctx)
//
// The token bucket of package ratelimiter is the better choice where no Java
// takes part. It takes the memory of two numbers, and this one that of each
// grant within the interval. Neither runs on the other's name: that is an error
// on either side, never a second budget. Decisions and errors are those of
// package ratelimiter.
//
// # What it does not guarantee
//
// The promise hangs on clocks that are not the server's, as Java writes down its
// own time: where a machine with Java is ahead by some time, it takes by that
// much too early, and what it took comes back as much too late. Go writes down
// the server's time.
//
// # In Redis
//
//	name              hash: rate, interval in ms, type, keepAliveTime in ms
//	{name}:value      string: the permits that are left
//	{name}:permits    zset: the log, 21 bytes for each grant, scored with its time in ms
//
// The last two have the client's id behind them, :<uuid>, where each client has
// the whole rate. Redisson leaves these to themselves when a client ends; Go
// gives its own an end, an interval after their last use. A name with braces of
// its own is used as it is.
//
// # Sources
//
// RRateLimiter of Redisson 4, which is shared as it is; tests against the real
// one are in package interop.
package redissonlimiter
