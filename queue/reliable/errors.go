package reliable

import (
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
)

// What a program branches on. Every error of this package names the operation and
// the queue, and wraps one of these, the context's error and its cause, or the error
// of Redis.
var (
	// ErrEmpty is returned by [Queue.Poll] when no message was ready. It is an answer,
	// not a fault.
	ErrEmpty = errors.New("empty")

	// ErrFull is returned by an Add to a queue that has as many messages as
	// [WithCapacity] allows. Nothing was added.
	ErrFull = errors.New("full")

	// ErrDuplicate is returned by an Add of what was added before: see [WithDedup] and
	// [WithUnique]. Nothing was added. It is wrapped by a *[DuplicateError], which has the id
	// of the other message.
	ErrDuplicate = errors.New("duplicate")

	// ErrLost says that a message was held by another process when it was settled, or
	// may be any moment: its lease expired, or it was taken away. The work may be
	// done again by the next consumer that gets it.
	ErrLost = core.ErrLost

	// ErrSettled is returned by the second Ack, Nack or Release of a message, and is the
	// cause of its contexts after the first.
	ErrSettled = errors.New("the message was settled before")

	// ErrDetached is the cause of the contexts of a message after its [Message.Detach]. It wraps [ErrSettled].
	ErrDetached = fmt.Errorf("%w: it is to be settled by its token", ErrSettled)

	// ErrTimeout is the cause of the contexts of a message whose attempt took longer than
	// [WithTimeout] allows. The attempt has failed then.
	ErrTimeout = errors.New("the attempt took too long")

	// ErrCancelled is the cause of the contexts of a message that was removed by
	// [Queue.Cancel]. It wraps [ErrLost].
	ErrCancelled = fmt.Errorf("%w: the message was cancelled", core.ErrLost)

	// ErrRemoved is returned by [Queue.Transfer] for a message that was removed before it was acknowledged: by itself when ctx
	// ended, or by [Queue.Remove] or [Queue.Cancel]. With [ErrTaken] a consumer held it then, or had held it: its work may
	// be done. Without, no consumer has had it.
	ErrRemoved = errors.New("the message was removed before it was acknowledged")

	// ErrExpired is returned by [Queue.Transfer] for a message that was not delivered within [WithExpiry]. A message expires when a
	// consumer would take it: without a consumer that takes from the queue, Transfer waits on until ctx ends.
	ErrExpired = errors.New("the message has expired")

	// ErrNotFound says that there is no message of that id: there never was, or it is done,
	// expired or removed.
	ErrNotFound = errors.New("no such message")

	// ErrTaken is returned by [Queue.Remove] for a message that a consumer holds, or has held, and by
	// [Queue.Reschedule] for one that a consumer holds.
	ErrTaken = errors.New("a consumer holds the message, or has held it")

	// ErrPending is returned by [Queue.Result] for a message that is not done yet.
	ErrPending = errors.New("the message is not done yet")

	// ErrBuried says that a message has no result, or cannot be rescheduled, since it was
	// buried. The text of the error of [Queue.Result] has the last cause.
	ErrBuried = errors.New("the message was buried")

	// ErrOtherTerms is returned by the takes of a handle that was given other [Terms] than the
	// queue has. Its text says both. Nothing was taken. See [Queue.SetTerms].
	ErrOtherTerms = errors.New("the queue has other terms")

	// ErrInvalidArgument says that an argument cannot be used: a name, a value, a number, an
	// option. Nothing was sent.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrOutcomeUnknown says that a reply was lost, or that the caller stopped waiting for it, so that an Add may or may not have added
	// its message: see [Queue.Add]. An Ack with this error is repeated until the server has
	// answered or the lease has expired.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDecode says that a message is none of the queue's type: another codec wrote
	// it. It is wrapped by a *[codec.DecodeError], which has the bytes. Such a message has
	// failed an attempt, and waits for its next as after a Nack.
	ErrDecode = codec.ErrDecode

	// ErrClosed is returned after the client was closed.
	ErrClosed = core.ErrClosed
)

// DuplicateError wraps [ErrDuplicate] of an Add. A caller that has repeated an Add with an
// unknown outcome can [Queue.Await] the result of the message that it has added before.
type DuplicateError struct {
	ID int64 // of the message that has the key; it may be done by now
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%v of message %d", ErrDuplicate, e.ID)
}

// Unwrap returns [ErrDuplicate].
func (e *DuplicateError) Unwrap() error { return ErrDuplicate }
