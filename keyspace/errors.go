package keyspace

import "github.com/rueidisson/rueidisson/internal/core"

// What a program branches on. Every error of this package names the operation and
// the names or the pattern, and wraps one of these, the context's error and its cause, or the error of Redis.
var (
	// ErrInvalidArgument says that an argument cannot be used: a name, a pattern, an
	// option, a time. Nothing was sent. [Keys.DeleteMatch] returns it for a pattern that matches every name, unless
	// [WithEverything] is given.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, and that some of the keys may or may
	// not have been changed, or may be changed still. What writes is sent once: call again where that does no harm.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrSlotMoving says that slots of a cluster moved back and forth, or that nobody served them, while a walk looked for their
	// keys: it has not seen all keys. Call again.
	ErrSlotMoving = core.ErrSlotMoving

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
