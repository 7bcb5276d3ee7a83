package lock

import (
	"errors"

	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation
// and the lock, and wraps one of these, the context's error and its cause, or
// the error of Redis.
var (
	// ErrNotAcquired is returned by [Lock.TryLock] when the lock was busy for
	// as long as the caller wanted to wait. It is an answer, not a fault.
	ErrNotAcquired = core.ErrNotAcquired

	// ErrLost says that a hold ended without its holder's doing: the lease ran
	// out before a renewal was answered, or the server no longer knew it. It
	// is the cause of the hold's context then, and what [Hold.Err],
	// [Hold.Unlock], [Hold.Extend], [Hold.Token] and [Lock.Join] return.
	ErrLost = core.ErrLost

	// ErrReleased is the cause of a hold's context after [Hold.Unlock], and
	// what the hold's operations return from then on.
	ErrReleased = core.ErrReleased

	// ErrInvalidArgument says that an argument cannot be used. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrToken says that a text is no token, or one that must not be joined.
	// It wraps ErrInvalidArgument. Nothing was sent.
	ErrToken error = tokenError{}

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, and that the operation may or may
	// not have been done.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDeferred says that a release is not done yet, and that the client goes on
	// trying until the server takes it, the lease ends, or the client is closed.
	ErrDeferred = core.ErrDeferred

	// ErrNotReplicated is returned by an acquire that too few replicas
	// acknowledged in time; the acquire was undone.
	ErrNotReplicated = core.ErrNotReplicated

	// ErrWrongKind says that the name is that of an object of another kind, such as
	// a read-write lock: the two would not exclude, or not wake, each other. The
	// error names its family. It is seen where this client has a hold or a
	// waiter of it, or the context carries one, and where it shows on the server.
	ErrWrongKind = core.ErrWrongKind

	// ErrStale says that a [Guard] refused a write, since a newer holder of the
	// lock has written, or one with the same number that is another. See
	// [StaleError].
	ErrStale = errors.New("fencing token is stale")

	// ErrClosed is returned after the client was closed, and is the cause of
	// the contexts of the holds that it had then.
	ErrClosed = core.ErrClosed
)

type tokenError struct{}

func (tokenError) Error() string { return "not a token that can be joined" }
func (tokenError) Unwrap() error { return ErrInvalidArgument }
