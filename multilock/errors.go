package multilock

import "github.com/rueidisson/rueidisson/lock"

// What a program branches on; the errors name the member that they are of.
var (
	ErrNotAcquired     = lock.ErrNotAcquired
	ErrLost            = lock.ErrLost
	ErrReleased        = lock.ErrReleased
	ErrInvalidArgument = lock.ErrInvalidArgument
	ErrOutcomeUnknown  = lock.ErrOutcomeUnknown
	ErrClosed          = lock.ErrClosed
)
