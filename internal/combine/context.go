package combine

import (
	"context"
	"errors"
	"fmt"
)

// contextError returns how ctx ended: its error, and its cause where that says more.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case cause == nil:
		return err
	case errors.Is(cause, err):
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// Waiter is told, under the contexts that have one, when a call begins and ends to wait for its answer.
type Waiter interface {
	Away()
	Back()
}

// WaiterKey is the key of the Waiter of a context.
type WaiterKey struct{}
