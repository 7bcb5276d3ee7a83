package grpclimit

import (
	"math/rand/v2"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// refused returns the status of a refusal: of the limits that did not grant and have a time when
// they would. A limit next to a paused one was not asked. If one has a rate of 0, no time ends the
// refusal.
func (l *Limit) refused(r httplimit.Report) error {
	if r.Never {
		return exceeded(nil, 0)
	}
	var names []string
	wait, closed := time.Duration(0), true
	for _, d := range r.Limits {
		if banned(d.Decision) {
			return exceeded(nil, 0)
		}
		if d.Allowed || d.RetryAfter == 0 {
			continue
		}
		names, wait = append(names, d.Name), max(wait, d.RetryAfter)
		closed = closed && d.Fallback && d.Limit == 0
	}
	if closed {
		return unavailable()
	}
	if wait > 0 {
		wait += rand.N(l.jitter + 1)
	}
	return exceeded(names, wait)
}

// banned reports whether the rate that decided grants nothing, ever.
func banned(d ratelimiter.Decision) bool { return !d.Allowed && d.Rate.N == 0 && d.Rate.Per > 0 }

// exceeded is ResourceExhausted, with how long to wait if that would help.
func exceeded(names []string, wait time.Duration) error {
	if wait == 0 {
		return status.Error(codes.ResourceExhausted, "the call needs more than the quota ever holds")
	}
	quota := &errdetails.QuotaFailure{}
	for _, name := range names {
		quota.Violations = append(quota.Violations, &errdetails.QuotaFailure_Violation{Subject: name, Description: "rate limit"})
	}
	return detailed(codes.ResourceExhausted, "the quota is used up", retry(wait), quota)
}

func unavailable() error {
	return detailed(codes.Unavailable, "the rate limiter cannot be asked", retry(time.Second))
}

// misused returns what an argument that cannot be used comes to: the caller learns
// no more than that it is not his fault.
func misused() error { return status.Error(codes.Internal, "the rate limiter is misconfigured") }

func retry(after time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(after)}
}

func detailed(code codes.Code, text string, details ...protoadapt.MessageV1) error {
	s := status.New(code, text)
	if with, err := s.WithDetails(details...); err == nil {
		s = with
	}
	return s.Err()
}
