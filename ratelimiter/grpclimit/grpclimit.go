package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// Limit is limits in front of a server. Its methods are interceptors, for
// grpc.UnaryInterceptor, grpc.StreamInterceptor and their chains. It may be used
// by any number of servers, which share the limits.
type Limit struct {
	limits  []*ratelimiter.Limiter
	key     httplimit.Key
	failure Failure
	settings
}

// New returns interceptors that ask lim about each call, under the key that key finds for it.
// failure handles calls without a decision. New does no I/O, so a limiter without a rate is
// detected at the first call.
//
// Errors: [ratelimiter.ErrInvalidArgument], for a nil limiter, a nil failure and options that
// cannot be used. With a key that cannot be used, each call fails with ErrInvalidArgument.
func New(lim *ratelimiter.Limiter, key httplimit.Key, failure Failure, opts ...Option) (*Limit, error) {
	l := &Limit{key: key, failure: failure, settings: defaults()}
	for _, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("grpclimit: %w: a nil option", ratelimiter.ErrInvalidArgument)
		}
		if err := o.apply(&l.settings); err != nil {
			return nil, fmt.Errorf("grpclimit: %w", err)
		}
	}
	l.limits = append([]*ratelimiter.Limiter{lim}, l.more...)
	switch {
	case slices.Contains(l.limits, nil):
		return nil, fmt.Errorf("grpclimit: %w: a nil limiter", ratelimiter.ErrInvalidArgument)
	case failure == nil:
		return nil, fmt.Errorf("grpclimit: %w: no failure: use FailOpen or FailClosed", ratelimiter.ErrInvalidArgument)
	}
	return l, nil
}

var (
	_ grpc.UnaryServerInterceptor  = (*Limit)(nil).Unary
	_ grpc.StreamServerInterceptor = (*Limit)(nil).Stream
)

// Unary returns the interceptor of calls with one answer.
func (l *Limit) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := l.admit(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// Stream is the interceptor of streams. Each stream counts once.
func (l *Limit) Stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := l.admit(s.Context(), info.FullMethod); err != nil {
		return err
	}
	return handler(srv, s)
}

// Failure is what happens to a call about which no decision could be made: what
// it returns ends the call, and nil passes it on. err is the limiter's error,
// such as [ratelimiter.ErrNoRate], a deadline or the network's; it has nothing of
// the key but a hash.
type Failure func(ctx context.Context, method string, err error) error

// FailOpen passes the call on as if there were no limit, if the limiter could not
// be asked. What is wrong with the limiter itself is no outage: while another rate
// than the expected one is stored, or the name is used by something else, calls
// end with status Internal. A limiter whose rate nobody has set has no limit.
func FailOpen(_ context.Context, _ string, err error) error {
	if errors.Is(err, ratelimiter.ErrOtherRate) || errors.Is(err, ratelimiter.ErrOtherAlgorithm) {
		return misused()
	}
	return nil
}

// FailClosed ends the call with status Unavailable, and RetryInfo of a second.
func FailClosed(context.Context, string, error) error { return unavailable() }

// admit returns the status that ends a call, nil if it goes on.
func (l *Limit) admit(ctx context.Context, method string) error {
	cost := l.cost(ctx, method)
	switch {
	case cost == 0:
		return nil
	case cost < 0:
		return status.Error(codes.InvalidArgument, "it cannot be told what this call costs")
	}
	key, err := l.key.Of(request(ctx, method))
	switch {
	case errors.Is(err, ratelimiter.ErrInvalidArgument):
		return misused()
	case err != nil:
		return status.Error(codes.InvalidArgument, "it cannot be told whose call this is")
	}
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	decisions, granted, err := l.take(bounded, key, cost)
	if err == nil && granted && !decisions[0].Fallback {
		for _, one := range l.tried {
			ratelimiter.Shadow(one.For(key)).Take(ctx, cost)
		}
	}
	return l.outcome(ctx, method, decisions, granted, err)
}

// take asks about one limit or about several at once.
func (l *Limit) take(ctx context.Context, key string, cost int64) ([]ratelimiter.Decision, bool, error) {
	if len(l.limits) == 1 { // alone it has its options for denial and prefetch
		d, err := l.limits[0].For(key).Take(ctx, cost)
		return []ratelimiter.Decision{d}, d.Allowed, err
	}
	members := make([]ratelimiter.Member, len(l.limits))
	for i, one := range l.limits {
		members[i] = one.For(key)
	}
	d, err := ratelimiter.All(members...).Take(ctx, cost)
	return d.Members, d.Allowed, err
}

// outcome returns what a decision, or the want of one, says to the caller.
func (l *Limit) outcome(ctx context.Context, method string, decisions []ratelimiter.Decision, granted bool, err error) error {
	switch {
	case err == nil && granted:
		return nil
	case err == nil:
		return l.refused(decisions)
	case errors.Is(err, ratelimiter.ErrExceedsBurst):
		return exceeded(nil, 0)
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, ratelimiter.ErrInvalidArgument):
		return misused()
	}
	return l.failure(ctx, method, err)
}
