package latch

import (
	"errors"

	"github.com/rueidisson/rueidisson/internal/core"
)

// The errors that a program branches on. Every error of this package names the operation and the
// latch or barrier, and wraps one of these, the context's error and its cause, or the error of
// Redis.
var (
	// ErrBroken is returned by [Barrier.Await] to all parties of a generation if one of them gave
	// up or died. No party has passed.
	ErrBroken = errors.New("the barrier is broken")

	// ErrInvalidArgument says that an argument cannot be used. Nothing was changed.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it. The
	// operation may or may not have been done. The client continues with a count down until it is
	// done, once: do not call it again.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrLost says that the lease of a member of a double barrier ended before it left: the others
	// did not wait for it.
	ErrLost = core.ErrLost

	// ErrDeferred says that the server refused a count down for now, or could not be reached. It is
	// not done yet, and the client continues until it is: do not call it again.
	ErrDeferred = core.ErrDeferred

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
