package semaphore

import "github.com/rueidisson/rueidisson/internal/core"

// What a program branches on. Every error of this package names the operation
// and the semaphore, and wraps one of these, the context's error and its cause,
// or the error of Redis.
var (
	// ErrNotAcquired is returned by [Semaphore.TryAcquire] and
	// [PermitSemaphore.TryAcquire] when there were too
	// few permits for as long as the caller wanted to wait. It is an answer, not a
	// fault: a wait that ended without one is context.DeadlineExceeded.
	ErrNotAcquired = core.ErrNotAcquired

	// ErrNotSet says that nobody has set how many permits there are, or that the
	// semaphore was deleted or has outlived its time. That of a TryAcquire wraps
	// [ErrNotAcquired], too.
	ErrNotSet = errNotSet

	// ErrInvalidArgument says that an argument cannot be used, or that there would be more
	// than 2^31-1 permits. Nothing was changed.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, and that the operation may or may not
	// have been done. What a take may have taken goes back as soon as the server
	// answers again, and a release counts once: do not call it again.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDeferred says that the server refused a release for now, or was not reached.
	// It is not done yet, and the client goes on until it is: do not call it again.
	ErrDeferred = core.ErrDeferred

	// ErrNotReplicated is returned by an acquire that too few replicas
	// acknowledged in time; what it took was given back.
	ErrNotReplicated = core.ErrNotReplicated

	// ErrLost says that a permit had ended before it was released: its lease ran
	// out, or somebody else released it. The work may have overlapped with that of
	// the next who has it.
	ErrLost = core.ErrLost

	// ErrReleased is returned by the second Release of a [Permit], and is the
	// cause of its contexts after the first.
	ErrReleased = core.ErrReleased

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
