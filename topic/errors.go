package topic

import (
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation
// and the topic, and wraps one of these, the context's error and its cause, or the
// error of Redis.
var (
	// ErrInvalidArgument says that an argument cannot be used: a name, a message, an option.
	// Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, and that
	// the message may or may not have been published, or may be still. It is not sent again, because a
	// subscriber cannot recognise a second copy.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrFull is returned by [Reliable.Publish] when the topic has [WithMaxLength]
	// messages, subscribers still need all of them, and [WithFullPolicy] says [Refuse]. The
	// message was not appended. It is an answer, not a fault.
	ErrFull = errors.New("full")

	// ErrLost says that a [Delivery] was not settled: another process may have it, since this one
	// stood still for longer than a watchdog timeout, or it was settled before. [Delivery.Nack] and
	// [Delivery.Bury] also return it for a message that the topic has dropped: it is gone, and
	// a [LaggedError] counts it.
	ErrLost = errors.New("another process may have it, it was settled before, or the topic has dropped it")

	// ErrDecode says that a message is none of the topic's type: another codec wrote
	// it. It is wrapped by a *[codec.DecodeError], which has the bytes.
	ErrDecode = codec.ErrDecode

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed

	// ErrDisconnected is yielded once when the connection of a subscription is lost. The
	// client connects and subscribes again. The loop continues.
	ErrDisconnected = core.ErrDisconnected

	// ErrReconnected is yielded once when a subscription is back after an
	// [ErrDisconnected]. Except for a [Reliable], the error also wraps
	// [ErrInterrupted]. The loop continues.
	ErrReconnected = core.ErrReconnected

	// ErrInterrupted is yielded when a subscription is back, and messages may have been
	// missed. The loop continues.
	ErrInterrupted = errors.New("the subscription was interrupted, and messages may have been missed")
)

// LaggedError is yielded in the place of messages that were dropped, the oldest
// first. More had come than the buffer takes ([WithBuffer]), or for a [Durable]
// name than the topic keeps ([WithMaxLength]). The loop continues.
type LaggedError struct {
	Name   string // of the topic
	Missed int64  // messages
}

// Error says how many were missed.
func (e *LaggedError) Error() string {
	return fmt.Sprintf("listen to %q: the loop lags, and has missed %d messages", e.Name, e.Missed)
}

// Unwrap returns rueidisson.ErrNotice: the loop continues.
func (e *LaggedError) Unwrap() error { return core.ErrNotice }
