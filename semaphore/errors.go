package semaphore

import "github.com/rueidisson/rueidisson/internal/core"

// The errors that a program branches on. Every error of this package names the operation and the
// semaphore, and wraps one of these, the context's error and its cause, or the error of Redis.
var (
	// ErrNotAcquired is returned by [Semaphore.TryAcquire] and [PermitSemaphore.TryAcquire] when
	// there were too few permits for as long as the caller wanted to wait. It is an answer, not a
	// fault: a wait that ended without one returns context.DeadlineExceeded.
	ErrNotAcquired = core.ErrNotAcquired

	// ErrNotSet says that the number of permits is not set, or that the semaphore was deleted or
	// has expired. The error of a TryAcquire wraps [ErrNotAcquired], too.
	ErrNotSet = errNotSet

	// ErrInvalidArgument says that an argument cannot be used, or that there would be more
	// than 2^31-1 permits. Nothing was changed.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it. The
	// operation may or may not have been done. Permits that an acquire may have taken go back as
	// soon as the server answers again, and a release counts once: do not call it again.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDeferred says that the server refused a release for now, or could not be reached. It is
	// not done yet, and the client continues until it is: do not call it again.
	ErrDeferred = core.ErrDeferred

	// ErrNotReplicated is returned by an acquire that too few replicas acknowledged in time. The
	// permits that it took were released.
	ErrNotReplicated = core.ErrNotReplicated

	// ErrLost says that a permit had ended before it was released: its lease ran out, or another
	// caller released it. The work may have overlapped with the work of the permit's next holder.
	ErrLost = core.ErrLost

	// ErrReleased is returned by the second Release of a [Permit]. It is the cause of the permit's
	// contexts after the first.
	ErrReleased = core.ErrReleased

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
