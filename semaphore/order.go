package semaphore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

// An Option changes a [Semaphore] or a [PermitSemaphore].
type Option interface{ applySemaphore(*config) error }

type config struct{ ordered bool }

// WithFleetOrder serves the waiters of all processes in the order of their arrival, whatever they
// ask for. Small requests of other processes then cannot starve a large one. Without it there is an
// order within each process only.
//
// A waiter queues for a fair lock in addition to the semaphore, and waits for permits while it
// holds that lock. What package fairlock says of waiters that die applies. A TryAcquire without a
// wait is refused while a waiter of any process is queued.
//
// The order is kept among handles with this option. Handles without it overtake, and so does
// Redisson. An acquire that finds permits free while the first waiter queues may be served before
// that waiter. A waiter whose process is paused past the lease of the fair lock is overtaken. It
// learns that within a third of the watchdog timeout, and queues again after all others.
//
// Cost: one more script call, which only reads, for each acquire that need not wait. A waiter costs
// at most four more, those of the fair lock. Waiters of one process do not share calls.
func WithFleetOrder() Option { return fleetOrder{} }

type fleetOrder struct{}

func (fleetOrder) applySemaphore(c *config) error {
	c.ordered = true
	return nil
}

// fleetQueue is the queue of a semaphore's waiters over all processes.
type fleetQueue struct {
	e    *locking.Engine
	line *fairlock.Lock
	on   []string // the fair lock, and its queue
}

// idle reports whether no waiter is queued.
func (o *fleetQueue) idle(ctx context.Context) (bool, error) {
	got, err := send.Reading(o.e.Sender, ctx, func() (send.Answer, error) { return o.e.Run(ctx, orderScript, o.on, nil) })
	if err != nil {
		return false, err
	}
	n, err := got.AsInt64()
	return n == 0, err
}

// try calls take, unless a waiter is queued. A queue whose processes have all died does not block
// it.
func (o *fleetQueue) try(ctx context.Context, take func() error) error {
	idle, err := o.idle(ctx)
	switch {
	case err != nil:
		return err
	case idle:
		return take()
	}
	again := func(context.Context) error { return take() }
	return o.inTurn(ctx, func() (*lock.Hold, error) { return o.line.TryLock(ctx) }, again)
}

// acquire calls take, unless a waiter is queued. If take is refused, it calls wait when it is the
// caller's turn.
func (o *fleetQueue) acquire(ctx context.Context, take func() error, wait func(context.Context) error) error {
	return o.queue(ctx, take, func() (*lock.Hold, error) { return o.line.Lock(ctx) }, wait)
}

// acquireWithin is acquire for at most d; within is the context that ends then.
func (o *fleetQueue) acquireWithin(ctx, within context.Context, d time.Duration, take func() error, wait func(context.Context) error) error {
	began := o.e.Mono()
	lead := func() (*lock.Hold, error) {
		return o.line.TryLock(ctx, lock.WithWait(max(d-(o.e.Mono()-began), time.Nanosecond)))
	}
	return o.queue(within, take, lead, wait)
}

func (o *fleetQueue) queue(ctx context.Context, take func() error, lead func() (*lock.Hold, error), wait func(context.Context) error) error {
	idle, err := o.idle(ctx)
	if err == nil && idle {
		err = take()
		if err == nil {
			return nil
		}
	}
	// A waiter tolerates passing failures, and so does the fair lock.
	if err != nil && !errors.Is(err, ErrNotAcquired) && !send.Transient(err) {
		return err
	}
	return o.inTurn(ctx, lead, wait)
}

// errPassedOver is the cause of a wait whose caller is no longer the first of the queue.
var errPassedOver = errors.New("the turn was lost")

// passedOver is the error of such a wait.
type passedOver struct {
	error
	over error // what the wait returns if WithWait ends it now
}

func (p passedOver) Unwrap() error { return p.error }

// ended returns the error of a wait that ended with err. For a wait that WithWait has ended, it
// returns end(err).
func ended(err error, end func(err error) error) error {
	switch {
	case errors.Is(err, errWaitOver):
		return end(err)
	case errors.Is(err, errPassedOver):
		return passedOver{err, end(fmt.Errorf("%w: %w", context.DeadlineExceeded, errWaitOver))}
	}
	return err
}

// inTurn calls do while this process is the first of the queue. The hold of the fair lock only
// orders: if it is lost, the caller queues again, after all others. The caller keeps the permits
// that it got, also if the release of the hold is deferred. A wait that ends before the caller
// queues again returns why it ended.
func (o *fleetQueue) inTurn(ctx context.Context, lead func() (*lock.Hold, error), do func(context.Context) error) error {
	for {
		hold, err := lead()
		if errors.Is(err, ErrNotAcquired) {
			return ErrNotAcquired
		}
		if err != nil {
			return err
		}
		var lost passedOver
		switch err = asFirst(ctx, hold, do); {
		case !errors.As(err, &lost):
			return err
		case errors.Is(context.Cause(ctx), errWaitOver):
			return lost.over
		case ctx.Err() != nil:
			return core.ContextError(ctx)
		}
	}
}

// asFirst calls do with a context that ends with errPassedOver when hold is lost.
func asFirst(ctx context.Context, hold *lock.Hold, do func(context.Context) error) error {
	defer func() { _ = hold.Unlock(ctx) }()
	turn, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	held := hold.Context(ctx)
	stop := context.AfterFunc(held, func() {
		if errors.Is(context.Cause(held), lock.ErrLost) {
			leave(errPassedOver)
		}
	})
	defer stop()
	return do(turn)
}
