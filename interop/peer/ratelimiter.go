package peer

import (
	"context"
	"time"
)

// RateLimiter is an RRateLimiter of Redisson as one Java thread uses it.
type RateLimiter struct{ object }

// Rate is a rate limiter's setting.
type Rate struct {
	PerClient bool // Java's RateType; overall if false
	Permits   int64
	Interval  time.Duration
	KeepAlive time.Duration // sent only if positive; Redisson 3.38 or later
}

func (r Rate) args(more ...any) []any {
	kind := "overall"
	if r.PerClient {
		kind = "per_client"
	}
	args := append([]any{kind, r.Permits, r.Interval}, more...)
	if r.KeepAlive > 0 {
		args = append(args, r.KeepAlive)
	}
	return args
}

// RateLimiter returns the rate limiter of that name, used by the thread.
func (p *Peer) RateLimiter(thread, name string) RateLimiter {
	return RateLimiter{object{peer: p, thread: thread, kind: "ratelimiter", name: name}}
}

// TrySetRate sets the rate if there is none.
func (l RateLimiter) TrySetRate(ctx context.Context, rate Rate) (bool, error) {
	return l.truth(ctx, "trySetRate", rate.args()...)
}

// SetRate sets the rate and forgets what was taken.
func (l RateLimiter) SetRate(ctx context.Context, rate Rate) error {
	return l.void(ctx, "setRate", rate.args()...)
}

// ReplaceRate is setRate with RateLimiterArgs: what was taken may stay taken (Redisson 4.4 or later).
func (l RateLimiter) ReplaceRate(ctx context.Context, rate Rate, keepState bool) error {
	return l.void(ctx, "setRateArgs", rate.args(keepState)...)
}

// UpdateRate is ReplaceRate where there is a rate already; false if there is none (Redisson 4.4 or later).
func (l RateLimiter) UpdateRate(ctx context.Context, rate Rate, keepState bool) (bool, error) {
	return l.truth(ctx, "updateRate", rate.args(keepState)...)
}

// Acquire waits until that many permits were granted.
func (l RateLimiter) Acquire(ctx context.Context, permits int64) error {
	return l.void(ctx, "acquire", permits)
}

// TryAcquire takes that many permits if they are there, or become so within a positive wait.
func (l RateLimiter) TryAcquire(ctx context.Context, permits int64, wait time.Duration) (bool, error) {
	if wait > 0 {
		return l.truth(ctx, "tryAcquire", permits, wait)
	}
	return l.truth(ctx, "tryAcquire", permits)
}

// Release gives permits back (Redisson 3.52 or later).
func (l RateLimiter) Release(ctx context.Context, permits int64) error {
	return l.void(ctx, "release", permits)
}

// AvailablePermits returns how many could be taken now.
func (l RateLimiter) AvailablePermits(ctx context.Context) (int64, error) {
	return l.number(ctx, "availablePermits")
}

// Config returns the setting as Java reads it; Java does not tell the keep-alive.
func (l RateLimiter) Config(ctx context.Context) (Rate, error) {
	reply, err := l.do(ctx, "getConfig")
	if err != nil {
		return Rate{}, err
	}
	kind, err := reply[:1].Text()
	if err != nil {
		return Rate{}, err
	}
	numbers, err := reply[1:].Ints()
	if err != nil {
		return Rate{}, err
	}
	return Rate{PerClient: kind == "PER_CLIENT", Permits: numbers[0], Interval: time.Duration(numbers[1]) * time.Millisecond}, nil
}

// Delete removes the limiter's keys; false if there were none.
func (l RateLimiter) Delete(ctx context.Context) (bool, error) { return l.truth(ctx, "delete") }
