package lock

import (
	"errors"

	"github.com/rueidisson/rueidisson/internal/core"
)

// The errors that a program branches on. Every error of this package names the operation and the
// lock, and wraps one of these, the context's error and its cause, or the error of Redis.
var (
	// ErrNotAcquired is returned by [Lock.TryLock] when the lock was held for as long as the caller
	// wanted to wait. It is an answer, not a fault.
	ErrNotAcquired = core.ErrNotAcquired

	// ErrLost says that a hold ended without an action of its holder: the lease ran out before a
	// renewal was answered, or the server no longer knew the hold. It is the cause of the hold's
	// context then. [Hold.Err], [Hold.Unlock], [Hold.Extend], [Hold.Token] and [Lock.Join] return
	// it.
	ErrLost = core.ErrLost

	// ErrReleased is the cause of a hold's context after [Hold.Unlock]. The hold's operations
	// return it from then on.
	ErrReleased = core.ErrReleased

	// ErrInvalidArgument says that an argument cannot be used. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrToken says that a text is not a token, or that its hold must not be joined. It wraps
	// ErrInvalidArgument. Nothing was sent.
	ErrToken error = tokenError{}

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it. The
	// operation may or may not have been done.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDeferred says that a release is not done yet. The client continues to try until the server
	// accepts it, the lease ends, or the client is closed.
	ErrDeferred = core.ErrDeferred

	// ErrNotReplicated is returned by an acquire that too few replicas acknowledged in time. The
	// acquire was undone.
	ErrNotReplicated = core.ErrNotReplicated

	// ErrWrongKind says that the name belongs to an object of another kind, such as a read-write
	// lock: the two would not exclude, or not wake, each other. The error names the other family.
	// It is detected where this client has a hold or a waiter of that family, where the context
	// carries one, and where it shows on the server.
	ErrWrongKind = core.ErrWrongKind

	// ErrStale says that a [Guard] refused a write, because a newer holder of the lock has written,
	// or another holder with the same number. See [StaleError].
	ErrStale = errors.New("fencing token is stale")

	// ErrClosed is returned after the client was closed. It is the cause of the contexts of the
	// holds that the client had then.
	ErrClosed = core.ErrClosed
)

type tokenError struct{}

func (tokenError) Error() string { return "not a token that can be joined" }
func (tokenError) Unwrap() error { return ErrInvalidArgument }
