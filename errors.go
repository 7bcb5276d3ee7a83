package rueidisson

import (
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

var (
	// ErrClosed is returned by every operation after [Client.Close], and is
	// the cause of the contexts of the holds that were live then.
	ErrClosed = core.ErrClosed

	// ErrInvalidArgument is wrapped by the error for an argument or option that cannot
	// be used. Nothing was sent to the server.
	ErrInvalidArgument = core.ErrInvalidArgument

	// ErrWrongKind is wrapped by the error for a name that has an object of another
	// kind, such as a cache under the name of a map. The operation changed nothing.
	ErrWrongKind = core.ErrWrongKind

	// ErrOutcomeUnknown is wrapped by the error of an operation that may or may not have
	// been done: its reply was lost, or its context ended before the reply came. The text
	// of the error says which.
	ErrOutcomeUnknown = core.ErrOutcomeUnknown

	// ErrDeferred is wrapped by the error of a release, or another request that can be repeated, which
	// is not done yet: the server refused it, or did not answer in time. The client continues to try
	// until it is closed. It logs what it gives up at Error, and notifies a [DeferralObserver]. Do not
	// call again, unless the process ends.
	ErrDeferred = core.ErrDeferred

	// ErrNotice is wrapped by an error that a sequence yields and after which it continues: an element
	// that does not decode, messages that were missed, a connection that was lost. Any other error is
	// the last that a sequence yields.
	//
	//	for m, err := range prices.Subscribe(ctx) {
	//		if errors.Is(err, rueidisson.ErrNotice) {
	//			log.Print(err)
	//			continue
	//		}
	//		if err != nil {
	//			return err
	//		}
	//		…
	//	}
	ErrNotice = core.ErrNotice

	// ErrDisconnected is wrapped by the [ErrNotice] that a sequence yields once when its
	// connection is lost. The sequence continues, and the client connects again. Sequences
	// of topics, of the events of a cache and of observed elections yield it.
	ErrDisconnected = core.ErrDisconnected

	// ErrReconnected is wrapped by the [ErrNotice] that a sequence yields once when its
	// connection is back after an [ErrDisconnected].
	ErrReconnected = core.ErrReconnected

	// ErrSlotMoving is wrapped by the error of an operation on several keys of a cluster. The slot of
	// the name moves from one server to another, and the servers refused the operation for up to three
	// seconds. Call again. If the error also wraps [ErrOutcomeUnknown], the operation may have been
	// done; otherwise nothing was done.
	ErrSlotMoving = core.ErrSlotMoving

	// ErrUnreached is wrapped by the error of a wait that has ended while the server was
	// not reached, or refused to answer. The error wraps the last failure, too. That nothing came, or that a
	// lock was not acquired, is not the server's answer then. The error of a check wraps it where a server has not
	// answered.
	ErrUnreached = send.ErrUnreached
)
