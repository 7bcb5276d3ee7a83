// Package redissonlimiter is the rate limiter of Redisson's RRateLimiter, on its keys, so that Go
// and Java take part in the same limit. It keeps a log of the granted permits: no more than the
// permits of the rate are granted in any one interval.
//
//	l := c.RedissonRateLimiter("api")
//	_, err := l.TrySetRate(ctx, redissonlimiter.Rate{Permits: 5, Interval: time.Second})
//	allowed, err := l.Allow(ctx)
//
// The token bucket of package ratelimiter is the better choice where no Java takes part. It needs
// the memory of two numbers; this one needs memory for each grant within the interval. Neither
// works on the other's name: that returns an error on either side, and never gives a second budget.
// Decisions and errors are those of package ratelimiter.
//
// # What it does not guarantee
//
// The promise depends on clocks that are not the server's, because Java writes the time of its own
// machine. If the clock of a Java machine is ahead, it takes permits too early by that much, and
// they come back as much too late. Go writes the server's time.
//
// # In Redis
//
//	name              hash: rate, interval in ms, type, keepAliveTime in ms
//	{name}:value      string: the permits that are left
//	{name}:permits    zset: the log, 21 bytes for each grant, scored with its time in ms
//
// If each client has the whole rate, the last two keys end with the client's id, :<uuid>. Redisson
// does not delete these when a client ends. Keys of Go expire an interval after their last use. A
// name with braces of its own is used as it is.
//
// # Sources
//
// RRateLimiter of Redisson 4; tests against the real one are in package interop.
package redissonlimiter
