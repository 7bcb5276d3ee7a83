package multilock

import "github.com/rueidisson/rueidisson/lock"

// The errors that a program branches on; they name their member.
var (
	// ErrNotAcquired is returned by TryLock when a member was held for as long as the caller wanted to wait.
	ErrNotAcquired = lock.ErrNotAcquired

	// ErrLost says that a hold ended without an action of its holder, see [lock.ErrLost].
	ErrLost = lock.ErrLost

	// ErrReleased is returned by the operations of a hold after its Unlock, see [lock.ErrReleased].
	ErrReleased = lock.ErrReleased

	// ErrInvalidArgument says that an argument, or a member, cannot be used. Nothing was sent.
	ErrInvalidArgument = lock.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost: the operation may or may not have been done.
	ErrOutcomeUnknown = lock.ErrOutcomeUnknown

	// ErrClosed is returned after the client of a member was closed.
	ErrClosed = lock.ErrClosed
)
