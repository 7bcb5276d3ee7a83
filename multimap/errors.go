package multimap

import (
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation,
// the multimap and, where there is one, the key, and wraps one of these, the
// context's error and its cause, or the error of Redis.
var (
	// ErrInvalidArgument says that an argument cannot be used: a name, a key, a value, an
	// option. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, and that the write may or may not
	// have been done, or may be done still. Without [WithRequestIDs] a write is
	// sent once: repeat it where doing it twice does no harm. Reads are sent again
	// automatically, and never return it.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrSlotMoving says that the slot of the multimap moves from one server of a cluster to another, which has taken
	// longer than a call is sent again for: up to three seconds. Nothing was done; ask again.
	ErrSlotMoving = core.ErrSlotMoving

	// ErrDecode says that what is in Redis is none of the multimap's type: another
	// codec wrote it. It is wrapped by a *[codec.DecodeError], which has the bytes.
	ErrDecode = codec.ErrDecode

	// ErrWrongKind says that the name has a hash that is no multimap, such as a map. The operation changed nothing. A check
	// returns it for a key of another type, too.
	ErrWrongKind = core.ErrWrongKind

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
