package rueidisson

import (
	"github.com/rueidisson/rueidisson/internal/engine"
)

var (
	// ErrClosed is returned by every operation after [Client.Close], and is
	// the cause of the contexts of the holds that were live then.
	ErrClosed = engine.ErrClosed

	// ErrOption is wrapped by the error for an argument or option that cannot
	// be used. Nothing was sent to the server.
	ErrOption = engine.ErrOption

	// ErrFamily is wrapped by the error for a lock of one family under a name
	// that a lock of another has; see [lock.ErrFamily].
	ErrFamily = engine.ErrFamily

	// ErrUnknown is wrapped by the error of an operation whose reply was lost:
	// it may or may not have been done.
	ErrUnknown = engine.ErrUnknown

	// ErrMoving is wrapped by the error of an operation that needs several keys,
	// on a cluster whose servers refused it for up to three seconds, since the slot
	// of the name moves from one of them to another. Nothing was done, unless the
	// error wraps [ErrUnknown], too: it may be asked for again.
	ErrMoving = engine.ErrMoving
)
