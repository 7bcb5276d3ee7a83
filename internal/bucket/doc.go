// Package bucket is the arithmetic of token buckets: rates in whole numbers,
// the state of a bucket and its text in Redis, and the buckets that a process
// keeps by itself. It asks no server; what decides there is Lua beside package
// ratelimiter, and counts in the same way.
package bucket
