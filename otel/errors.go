package otel

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

const notAcquired = "not_acquired"

// types are the values of error.type, in the order in which they are looked
// for: that an outcome is unknown matters more than what hid it, and why the
// caller stopped matters more than what it last heard.
var types = []struct {
	of   error
	name string
}{
	{rueidisson.ErrUnknown, "unknown"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "timeout"},
	{rueidisson.ErrClosed, "closed"},
	{lock.ErrLost, "lost"},
	{lock.ErrNotAcquired, notAcquired},
	{lock.ErrNotReplicated, "not_replicated"},
	{lock.ErrFamily, "family"},
	{ratelimiter.ErrNoRate, "no_rate"},
	{ratelimiter.ErrExceedsBurst, "exceeds_burst"},
	{rueidisson.ErrOption, "option"},
}

// typeOf is the error.type of err, "" for nil. There must be few of them, so
// texts of errors are no part of it.
func typeOf(err error) string {
	if err == nil {
		return ""
	}
	for _, t := range types {
		if errors.Is(err, t.of) {
			return t.name
		}
	}
	return "_OTHER"
}
