package readthrough

import (
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Errors of the map below are passed on as they are, see package rmap.
var (
	// ErrInvalidArgument says that an argument cannot be used: an option, or a map that cannot have what is asked for.
	// Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it: a write may or may not have
	// been done, or may be done still.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDecode says that what is in Redis is none of the map's type: another codec wrote it. It is wrapped by a
	// *[codec.DecodeError], which has the bytes.
	ErrDecode = codec.ErrDecode

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
