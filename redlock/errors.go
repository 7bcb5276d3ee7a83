package redlock

import "github.com/rueidisson/rueidisson/lock"

// The errors that a program branches on; they name their member.
var (
	ErrNotAcquired     = lock.ErrNotAcquired
	ErrLost            = lock.ErrLost
	ErrReleased        = lock.ErrReleased
	ErrInvalidArgument = lock.ErrInvalidArgument
	ErrOutcomeUnknown  = lock.ErrOutcomeUnknown
	ErrClosed          = lock.ErrClosed
)
