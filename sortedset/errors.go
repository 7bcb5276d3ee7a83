package sortedset

import (
	"errors"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation and
// the set, and wraps one of these, the context's error and its cause, or the error of Redis.
var (
	// ErrInvalidArgument says that an argument cannot be used: a name, a member, an
	// option, a score that is infinite or no number. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, and that the write may or may not
	// have been done, or may be done still. A write is sent once: repeat it where doing it twice does no harm. Reads are
	// sent again automatically, and never return it.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrSlotMoving says that the slot of several sets moves from one server of a cluster to another, and
	// that an operation on them was refused for up to three seconds. Nothing was done. Call
	// again.
	ErrSlotMoving = core.ErrSlotMoving

	// ErrNotFound says that the member that is the centre of a search is not there.
	ErrNotFound = errors.New("no such member")

	// ErrDecode says that a member in Redis is no value of the set's type: another
	// codec wrote it, or that the score of a place is no position. It is wrapped by a *[codec.DecodeError], which has the bytes.
	ErrDecode = codec.ErrDecode

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
