package reliable

import (
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// retryError is what RetryIn returns.
type retryError struct {
	error
	delay time.Duration
}

func (e *retryError) Unwrap() error { return e.error }

// RetryIn returns err as a handler returns it whose message is to be tried again in d. It is
// nil for a nil err.
func RetryIn(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryError{err, min(max(d, 0), core.LongestLease)}
}

// discardError is what Discard returns.
type discardError struct{ error }

func (e *discardError) Unwrap() error { return e.error }

// Discard returns err as a handler returns it whose message is not to be tried again: it is
// buried at once. It is nil for a nil err.
func Discard(err error) error {
	if err == nil {
		return nil
	}
	return &discardError{err}
}

// snoozeError is what Snooze returns.
type snoozeError time.Duration

func (e snoozeError) Error() string { return fmt.Sprintf("not before %v", time.Duration(e)) }

// Snooze returns the error of a handler whose message is to come again in d, without an attempt:
// because what it waits for is not there yet. See [Message.Release].
func Snooze(d time.Duration) error { return snoozeError(min(max(d, 0), core.LongestLease)) }

// outcome returns how a message is settled whose handler has returned err.
func outcome(err error) *settle {
	if err == nil {
		return &settle{}
	}
	var retry *retryError
	var discard *discardError
	var snooze snoozeError
	switch {
	case errors.As(err, &snooze):
		return releasedFor(time.Duration(snooze))
	case errors.As(err, &discard):
		return buriedBy(err)
	case errors.As(err, &retry):
		return failedBy(err, retry.delay)
	}
	return retriedBy(err)
}
