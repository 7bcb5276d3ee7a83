package stream

import (
	"errors"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation, the stream and,
// where there is one, the group. It wraps one of these, the context's error and its cause, or the
// error of Redis.
var (
	// ErrNoGroup says that a group was not made, or that it was
	// destroyed, or the stream deleted: see [Group.Create].
	ErrNoGroup = errors.New("there is no such group")

	// ErrPending says that a consumer of a group has entries, and was not removed: see
	// [Group.RemoveConsumer].
	ErrPending = errors.New("the consumer has entries that are pending")

	// ErrLost says that a message was not settled, since another consumer may
	// have it: it was not handled for longer than [WithIdle] says, or was acknowledged. Nack and Bury
	// also return it for a message that the stream has dropped: it is gone.
	ErrLost = errors.New("another consumer may have it, or the stream has it no more")

	// ErrInvalidArgument says that an argument cannot be used: a name, an ID, a field, a value, a number, an
	// option. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it. What was to be done may or may
	// not have been done, or may be done still. Operations whose comments do not say otherwise are sent once.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDecode says that an entry is none of the stream's types: another codec
	// wrote it. It is wrapped by a *[codec.DecodeError], which has the bytes and the ID.
	ErrDecode = codec.ErrDecode

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
