package timeseries

import (
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation and
// the time series, and wraps one of these, the context's error and its cause, or the error of Redis.
var (
	// ErrInvalidArgument says that an argument cannot be used: a name, a time, a value, a label, an
	// option, a number. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, and that the write may or may not
	// have been done, or may be done still. A write is sent once. Reads are sent again automatically, and never return it.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrSlotMoving says that the slot of the time series moves from one server of a cluster to another, and
	// that an operation was refused for up to three seconds, since its keys are on both. Nothing was done. Call
	// again.
	ErrSlotMoving = core.ErrSlotMoving

	// ErrDecode says that an entry in Redis is none of a time series, or that its value or label is none of the series' types:
	// another codec wrote it. It is wrapped by a *[codec.DecodeError], which has the bytes.
	ErrDecode = codec.ErrDecode

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
