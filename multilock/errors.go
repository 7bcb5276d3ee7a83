package multilock

import "github.com/rueidisson/rueidisson/lock"

// What a program branches on; the errors name the member that they are of.
var (
	ErrNotAcquired = lock.ErrNotAcquired
	ErrLost        = lock.ErrLost
	ErrReleased    = lock.ErrReleased
	ErrOption      = lock.ErrOption
	ErrUnknown     = lock.ErrUnknown
	ErrClosed      = lock.ErrClosed
)
