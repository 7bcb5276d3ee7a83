package rueidisson

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/turn"
)

// Batch calls each function on a goroutine of its own, and sends what they ask of Redis together. It holds the requests
// under the ctx of a function until each function waits for an answer, or has returned, and for a millisecond at most. Then it
// sends them as one pipeline for each node, of up to 1,000 commands and a megabyte. So 1,000 functions with two operations
// each take two pipelines.
//
//	err := c.Batch(ctx,
//		func(ctx context.Context) error { return price.Set(ctx, 995) },
//		func(ctx context.Context) error { return stock.Trim(ctx, 0, 9) },
//	)
//
// Batch returns when all functions have returned. Its error joins theirs, in their order ([errors.Join]), and is nil if all
// are nil. An error of one function ends no other. Each operation has the retries, the errors and the promises that it has
// without Batch. A batch is no transaction: other clients may see and write between two of its operations, and some may fail.
//
// The ctx of a function has the values and the end of ctx. All operations of objects of this client take part that get it, except these:
// operations that block or take something, such as LPOP; those that rename or copy an object; reads whose answer may be long, such as walks;
// requests of more than 16 KB; those that wait for replicas, with [WithReplicaAcks]; and what the client combines with calls of other
// goroutines anyway, such as counter.Counter.Add and set.Set.Has. They are sent at once.
//
// A function that waits for something else, such as a lock or another function, delays the others by a millisecond, once. A
// Batch under the ctx of a function shares its pipelines. Requests under the ctx of a function that has returned are not
// held. If a function panics, Batch panics with the value and the stack after the others have returned. If a function ends
// its goroutine, as runtime.Goexit does, Batch ends that of its caller.
//
// Cost: a goroutine for each function, and the round trips of the function that has the most. Errors: those of the
// functions; before any is called ctx's error and cause, [ErrInvalidArgument] for a nil function, and [ErrClosed].
//
// Source: RBatch of Redisson, in its mode IN_MEMORY. Its atomic modes have no counterpart here.
func (c *Client) Batch(ctx context.Context, fns ...func(ctx context.Context) error) error {
	if err := c.batchable(ctx, fns); err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	if len(fns) == 0 {
		return nil
	}
	seats, ended := c.e.Gather(ctx, len(fns))
	defer ended()
	errs, broke := make([]error, len(fns)), make([]error, len(fns))
	var all sync.WaitGroup
	for i, fn := range fns {
		all.Go(func() { inBatch(&seats[i], fn, &errs[i], &broke[i]) })
	}
	all.Wait()
	for _, err := range broke {
		turn.GoOn(err)
	}
	return errors.Join(errs...)
}

func (c *Client) batchable(ctx context.Context, fns []func(ctx context.Context) error) error {
	if err := object.Usable(ctx, c.e, nil); err != nil {
		return err
	}
	for i, fn := range fns {
		if fn == nil {
			return fmt.Errorf("%w: function %d is nil", ErrInvalidArgument, i)
		}
	}
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	return nil
}

// inBatch calls a function of a batch. Broke is its panic, or its end of the goroutine.
func inBatch(seat *send.Seat, fn func(ctx context.Context) error, err, broke *error) {
	returned := false
	defer func() {
		seat.End()
		if returned {
			return
		}
		if r := recover(); r != nil {
			*broke = turn.Panicked(r)
		} else {
			*broke = turn.ErrExited
		}
	}()
	*err = fn(seat)
	returned = true
}
