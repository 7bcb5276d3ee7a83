package list

import (
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation and
// the list, and wraps one of these, the context's error and its cause, or the error of Redis.
var (
	// ErrInvalidArgument says that an argument cannot be used: a name, an element, an index,
	// an option. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, and that the write may or may not
	// have been done, or may be done still. A write is sent once: repeat it where doing it twice does no harm. Reads are
	// sent again automatically, and never return it.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDecode says that what is in Redis is no element of the list's type: another
	// codec wrote it. It is wrapped by a *[codec.DecodeError], which has the bytes.
	ErrDecode = codec.ErrDecode

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
