package ratelimiter

import (
	"context"
	"errors"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/exchange"
)

// The errors that a program branches on. Every error of this package names the operation and the
// limiter, and only a hash of a key, see [Bucket.String]. It wraps one of these, the context's
// error and its cause, or the error of Redis. A refusal is not an error: it is a [Decision].
var (
	// ErrNoRate says that no rate is set for this limiter.
	ErrNoRate = exchange.ErrNoRate

	// ErrOtherRate is returned by a limiter made with [WithExpectedRate] when
	// another rate is stored. Its text shows both.
	ErrOtherRate = errors.New("another rate is stored")

	// ErrOtherAlgorithm says that the name belongs to something else: a
	// limiter of another algorithm, or an object that is no limiter.
	ErrOtherAlgorithm = exchange.ErrOtherAlgorithm

	// ErrExceedsBurst says that the request asks for more than the bucket
	// holds when it is full: it could never be allowed. Nothing was taken.
	ErrExceedsBurst = errors.New("more than the burst")

	// ErrExceedsDeadline is returned at once by a wait that would outlast the
	// deadline of its context. Nothing was taken. It wraps
	// context.DeadlineExceeded.
	ErrExceedsDeadline error = deadlineError{}

	// ErrExceedsWait is returned at once by a wait that would be longer than the
	// longest, see [WithMaxWait]. Nothing was taken.
	ErrExceedsWait = errors.New("longer than the longest wait")

	// ErrExceedsDebt says that more is owed or reserved already than
	// [WithMaxDebt] allows. Nothing was taken.
	ErrExceedsDebt = errors.New("more than the maximum debt")

	// ErrCrossSlot says that the members of an [All] lie in different slots of
	// a cluster, so that no script can decide about all of them. Nothing was
	// sent. It wraps ErrInvalidArgument.
	ErrCrossSlot error = crossSlotError{}

	// ErrInvalidArgument says that an argument cannot be used. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it: the
	// tokens may or may not have been taken. Nothing was sent a second time.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)

type deadlineError struct{}

func (deadlineError) Error() string { return "the wait would outlast the context's deadline" }
func (deadlineError) Unwrap() error { return context.DeadlineExceeded }

type crossSlotError struct{}

func (crossSlotError) Error() string { return "the limits lie in different cluster slots" }
func (crossSlotError) Unwrap() error { return ErrInvalidArgument }
