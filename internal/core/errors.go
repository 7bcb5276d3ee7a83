package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/codec"
)

// ErrWaitOver is the cause of a wait that WithWait ended.
var ErrWaitOver = errors.New("the wait is over")

// Within returns ctx for what may take as long as a WithWait says.
func Within(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, wait, ErrWaitOver)
}

// The outcomes that programs branch on. The public packages alias them.
var (
	ErrClosed          = errors.New("client is closed")
	ErrInvalidArgument = codec.ErrInvalidArgument // so that what a codec refuses is one, too
	ErrOutcomeUnknown  = errors.New("outcome unknown")
	ErrDeferred        = errors.New("not done yet: the client goes on trying")
	ErrNotAcquired     = errors.New("not acquired")
	ErrLost            = errors.New("hold was lost")
	ErrReleased        = errors.New("hold was released")
	ErrNotReplicated   = errors.New("too few replicas acknowledged")
	ErrWrongKind       = errors.New("the name is that of an object of another kind")
	ErrNotPermitted    = errors.New("not permitted")
	ErrSettings        = errors.New("the settings of the server endanger what is held")
	ErrSlotMoving      = errors.New("the slot is on the move")
	ErrDisconnected    = errors.New("disconnected: the client goes on trying to connect")
	ErrReconnected     = errors.New("connected again")
)

// Left returns the error of a call that goes on though its caller does not wait for the reply any more,
// because of err.
func Left(err error) error {
	return fmt.Errorf("%w: the wait for the reply ended: %w", ErrOutcomeUnknown, err)
}

// ContextError returns how ctx ended: its error, and its cause where that says more.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return cmp.Or(cause, err)
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// ErrNotice is wrapped by an error of a sequence after which the sequence goes on.
var ErrNotice = errors.New("notice: the sequence goes on")

// Notice marks the error of a sequence that goes on. Its text stays as it is.
func Notice(err error) error {
	if err == nil {
		return nil
	}
	return notice{err}
}

type notice struct{ error }

func (n notice) Unwrap() []error { return []error{n.error, ErrNotice} }
