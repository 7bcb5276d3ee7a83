package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/admission"
)

// Limit is limits in front of a server. Its methods are interceptors, for
// grpc.UnaryInterceptor, grpc.StreamInterceptor and their chains. It may be used
// by any number of servers, which share the limits.
type Limit struct {
	limits  []*ratelimiter.Limiter
	names   []string // of the limits, as clients see them
	key     httplimit.Key
	failure Failure
	log     admission.Quiet
	gate    *admission.Gate
	settings
}

// New returns interceptors that ask lim about each call, under the key that key
// finds for it. failure says what happens to calls without a decision. New does
// no I/O, so a limiter without a rate shows with the first call.
//
// Errors: [ratelimiter.ErrInvalidArgument], for a nil limiter, a nil failure and invalid
// options. An invalid key is an error of each call.
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
	case l.shadow && len(l.observers) == 0:
		return nil, fmt.Errorf("grpclimit: %w: Shadow without Observe would show nothing", ratelimiter.ErrInvalidArgument)
	case l.aliases != nil && len(l.aliases) != len(l.limits):
		return nil, fmt.Errorf("grpclimit: %w: %d policy names for %d limits", ratelimiter.ErrInvalidArgument, len(l.aliases), len(l.limits))
	}
	for i, one := range l.limits {
		l.names = append(l.names, one.Name())
		if l.aliases != nil {
			l.names[i] = l.aliases[i]
		}
	}
	l.gate = admission.NewGate(l.limits, l.tried, l.shadow, l.timeout)
	return l, nil
}

var (
	_ grpc.UnaryServerInterceptor  = (*Limit)(nil).Unary
	_ grpc.StreamServerInterceptor = (*Limit)(nil).Stream
)

// Unary intercepts calls with one request and one answer. It returns what handler returns. The
// errors of calls that are not passed on are statuses, such as ResourceExhausted for one that a
// limit refuses; see [FailOpen] and [FailClosed].
func (l *Limit) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	t, err := l.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	err = t.serve(func() (err error) {
		resp, err = handler(t.ctx, req)
		return err
	})
	return resp, err
}

// Stream intercepts streams. A stream counts once, when it begins; with [Messages] its messages
// count, too. Results and errors are as of [Limit.Unary].
func (l *Limit) Stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	t, err := l.admit(s.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return t.serve(func() error { return handler(srv, &stream{ServerStream: s, t: t}) })
}

// Failure decides about a call without a decision of its limits. The error that it
// returns ends the call, and nil passes it on. err is the limiter's error,
// such as [ratelimiter.ErrNoRate], a deadline or the network's; of the key it has
// only a hash.
type Failure func(ctx context.Context, method string, err error) error

// FailOpen passes the call on as if there were no limit, if the limiter did not answer. A fault of
// the limiter itself is no outage: for [ratelimiter.ErrOtherRate] and
// [ratelimiter.ErrOtherAlgorithm], another rate than the expected one or a name that is used by
// something else, FailOpen returns status Internal. A limiter without a rate has no limit. It sends
// no request.
func FailOpen(_ context.Context, _ string, err error) error {
	if errors.Is(err, ratelimiter.ErrOtherRate) || errors.Is(err, ratelimiter.ErrOtherAlgorithm) {
		return misused()
	}
	return nil
}

// FailClosed ends the call: it returns the error status Unavailable, with RetryInfo of a second. It
// sends no request.
func FailClosed(context.Context, string, error) error { return unavailable() }
