package bitset

import "github.com/rueidisson/rueidisson/internal/core"

// What a program branches on. Every error of this package names the operation and
// the bitset, and wraps one of these, the context's error and its cause, or the error of Redis.
var (
	// ErrInvalidArgument says that an argument cannot be used: a name, an offset, a range, a
	// number that its field has no room for. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, and that the write may or may not
	// have been done, or may be done still. A write is sent once: repeat it where doing it twice does no harm. Reads are
	// sent again automatically, and never return it.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrSlotMoving says that the slot of several bitsets moves from one server of a cluster to another, and
	// that an operation on them was refused for up to three seconds. Nothing was done. Call
	// again.
	ErrSlotMoving = core.ErrSlotMoving

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
