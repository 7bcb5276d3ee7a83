package queue

import (
	"errors"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation and
// the queue, and wraps one of these, the context's error and its cause, or the
// error of Redis.
var (
	// ErrEmpty is returned by what takes or looks at an element when there is
	// none. It is an answer, not a fault.
	ErrEmpty = errors.New("empty")

	// ErrFull is returned by [Bounded.TryOffer] when there was no room for as
	// long as the caller wanted to wait. It is an answer, not a fault.
	ErrFull = errors.New("full")

	// ErrNoCapacity says that the capacity of a bounded queue is not set, or that
	// the queue was deleted or has outlived its time.
	ErrNoCapacity = errors.New("no capacity is set")

	// ErrInvalidArgument says that an argument cannot be used: a name, a value, a number, an
	// option. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it: what was to be done may or may not have
	// been done, or may be done still. Nothing of a queue is sent twice, since that
	// would offer, or take, twice. What was to be taken may be lost then.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDecode says that an element is none of the queue's type: another codec
	// wrote it. It is wrapped by a *[codec.DecodeError], which has the bytes.
	ErrDecode = codec.ErrDecode

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
