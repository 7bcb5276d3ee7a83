package rmap

import (
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation,
// the map and, where there is one, the key, and wraps one of these, the
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

	// ErrSlotMoving says that the slot of the map moves from one server of a cluster to another, and
	// that an operation on several keys was refused for up to three seconds. Nothing was done. Call
	// again.
	ErrSlotMoving = core.ErrSlotMoving

	// ErrDecode says that what is in Redis is none of the map's type: another
	// codec wrote it. It is wrapped by a *[codec.DecodeError], which has the bytes.
	ErrDecode = codec.ErrDecode

	// ErrWrongKind says that the name has an object of another kind: a cache under the name of
	// a map, or a map under that of a cache. It is noticed where
	// that costs nothing: by a map that reads a value with
	// the header of a cache's, and by a cache that reads one without. The operation changed
	// nothing. Of a value that was read it is the cause of an [ErrDecode].
	ErrWrongKind = core.ErrWrongKind

	// ErrDisconnected is yielded once by [Cache.Events] when its connection is lost. The
	// client connects and subscribes again. The loop continues.
	ErrDisconnected = core.ErrDisconnected

	// ErrReconnected is yielded once by [Cache.Events] when its connection is back after
	// an [ErrDisconnected]. A [Gap] follows. The loop continues.
	ErrReconnected = core.ErrReconnected

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)
