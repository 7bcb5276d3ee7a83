package nearcache

import (
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

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
