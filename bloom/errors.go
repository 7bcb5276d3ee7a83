package bloom

import (
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// The errors that a program branches on. Every error of this package names the operation and the filter, and wraps one of
// these, the context's error and its cause, or the error of Redis. No error shows a value.
var (
	// ErrInvalidArgument says that an argument cannot be used: a name, an option, a value that its codec cannot write, an n or a
	// p out of range. Nothing was changed.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it: the operation may or may not have
	// been done. [Filter.AddNew] and [Filter.Init] also return it if they were done, and it is not known whether by this call:
	// their text says so.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrNotSet says that there is no filter of that name. [Filter.Init] makes one. A filter that has expired, or that the
	// server has evicted, is none.
	ErrNotSet = errors.New("there is no filter: Init makes one")

	// ErrOtherShape is returned by [Filter.Init] if there is a filter that was made with another n or p. Other operations return
	// it if the filter is made anew, with another shape each time, faster than the handle can read its shape.
	ErrOtherShape = errors.New("the filter has another shape")

	// ErrDecode says that the config of the filter cannot be read. Nothing was changed.
	ErrDecode = codec.ErrDecode

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)

var (
	errDoubtful = fmt.Errorf("%w: all values are in the filter: they were sent again after a lost reply, so it is not known which were new", ErrOutcomeUnknown)
	errWhose    = fmt.Errorf("%w: the filter is there with this n and p: a reply was lost, so it is not known whether this call made it", ErrOutcomeUnknown)
)

// brokenError says that a config is not one that Init writes.
type brokenError struct{ what string }

// Error says what is wrong about the config, and what mends it.
func (e *brokenError) Error() string {
	return "the config " + e.what + ": Delete removes the filter, Init makes it anew"
}

// Unwrap has errors.Is find [ErrDecode].
func (*brokenError) Unwrap() error { return ErrDecode }

// changedError says that the filter has another shape than the handle knows.
type changedError struct{ size, hashes string }

// Error says which shape the filter has now.
func (e *changedError) Error() string {
	return fmt.Sprintf("the filter was made anew with m=%.20s k=%.20s: call again", e.size, e.hashes)
}

// Unwrap has errors.Is find [ErrOtherShape].
func (*changedError) Unwrap() error { return ErrOtherShape }
