// Package limits has the commands of rate limiters, below limit.
package limits
