package reliable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
	"unique"

	"golang.org/x/sync/errgroup"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// ReceiveN waits for a message, and takes it together with those that are ready, n in all at
// most, or a megabyte. Without an error there is at least one. Errors: [ErrInvalidArgument] for an n
// outside of 1 to 500; otherwise it is as [Queue.Receive].
func (q *Queue[T]) ReceiveN(ctx context.Context, n int) ([]*Message[T], error) {
	err := within("messages", int64(n), mostTaken)
	var all []*Message[T]
	if err == nil {
		all, err = q.receive(ctx, n)
	}
	for _, m := range all {
		m.d.starts()
	}
	return all, q.failed("receive from", err)
}

// AckAll acknowledges messages together. The error joins those of the messages that were not
// acknowledged, each as [Message.Ack] returns it. If a message is nil, AckAll returns [ErrInvalidArgument] and
// acknowledges none. Cost: two script calls for a thousand.
func (q *Queue[T]) AckAll(ctx context.Context, messages ...*Message[T]) error {
	if slices.Contains(messages, nil) {
		return fmt.Errorf("%w: a nil message", ErrInvalidArgument)
	}
	errs := make([]error, len(messages))
	var all sync.WaitGroup // an errgroup keeps the first error only
	for i, m := range messages {
		all.Go(func() { errs[i] = m.Ack(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// A BatchHandler handles messages together. The errors are those of the messages, in their
// order, each as a handler of [Queue.Serve] returns it; nil: all are done.
type BatchHandler[T any] func(ctx context.Context, messages []*Message[T]) []error

// ServeBatch serves the queue, as [Queue.Serve] does, with handlers that take several messages at a
// time: up to most, 1 to 500. A handler begins as soon as it has so many, and otherwise when wait
// has passed since the first of them came; 0 begins with those that are there. Messages that wait
// for others are under their leases. [WithConcurrency] is how many handlers there are, each with
// its batch; the default is one. [WithPrefetch] does nothing. With [WithLimiter] it returns
// [ErrInvalidArgument].
//
// A message that was lost or cancelled while it waited is left out of its batch. If the queue was
// paused meanwhile, the message is put back. The time of [WithTimeout] begins with the handler.
//
// The handler's context ends with the grace of ServeBatch. Those of single messages are
// [Message.Context]. A handler may settle messages itself. A panic, or a wrong number of
// errors, is the error of all messages that are not settled.
//
// Cost and other errors: as [Queue.Serve].
func (q *Queue[T]) ServeBatch(ctx context.Context, most int, wait time.Duration, handler BatchHandler[T], opts ...ServeOption) error {
	err := q.usable(ctx)
	switch {
	case err != nil:
	case handler == nil:
		err = fmt.Errorf("%w: no handler", ErrInvalidArgument)
	case wait < 0 || wait > core.LongestLease:
		err = fmt.Errorf("%w: wait %v is outside of 0 to %v", ErrInvalidArgument, wait, core.LongestLease)
	default:
		err = within("messages", int64(most), mostTaken)
	}
	var s *serving
	if err == nil {
		s, err = q.serving(append([]ServeOption{WithConcurrency(1)}, opts...))
	}
	if err == nil && s.limiter != nil {
		err = fmt.Errorf("%w: a limiter is for Serve", ErrInvalidArgument)
	}
	if err == nil {
		b := &batches[T]{s: s, handler: handler, most: most, wait: wait}
		of := *q
		of.policy = unique.Make(s.policy())
		b.q = &of
		err = b.serve(ctx)
	}
	return q.failed("serve", err)
}

// batches is one ServeBatch.
type batches[T any] struct {
	q       *Queue[T]
	s       *serving
	handler BatchHandler[T]
	most    int
	wait    time.Duration

	mu sync.Mutex
	at map[int64]bool // messages that handlers are at
}

func (b *batches[T]) serve(ctx context.Context) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(errStopped)
	handlers, taking := errgroup.WithContext(ctx)
	b.at = map[int64]bool{}
	for range b.s.concurrency {
		handlers.Go(func() error { return b.works(taking, base) })
	}
	<-taking.Done() // ctx has ended, or a handler has returned an error
	cause := context.Cause(taking)
	if ctx.Err() != nil {
		cause = nil
	}
	if endWithin(b.s.grace, func() { _ = handlers.Wait() }) {
		return cause
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(cause, fmt.Errorf("handlers of %d messages have not ended within %v", len(b.at), b.s.grace))
}

// works handles batches until taking ends.
func (b *batches[T]) works(taking, base context.Context) error {
	for {
		all, err := b.q.receive(taking, b.most)
		switch {
		case taking.Err() != nil && err != nil:
			return nil
		case err != nil && (errors.Is(err, ErrClosed) || errors.Is(err, ErrOtherTerms) || send.Permanent(err)):
			return err
		case err != nil:
			b.q.h.e.Logger.Warn("a reliable queue is not served, and tried again", "name", b.q.of.key, "err", err)
			b.pause(taking)
			continue
		}
		if all = b.begin(taking, b.fill(taking, all)); len(all) > 0 {
			b.note(all, true)
			b.settle(all, b.handled(base, all))
			b.note(all, false)
		}
	}
}

// refusedFor is how long a queue is left alone that cannot be taken from.
const refusedFor = time.Second

// pause waits before what was refused is tried again.
func (b *batches[T]) pause(taking context.Context) {
	timer := time.NewTimer(refusedFor)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-taking.Done():
	case <-b.q.h.e.Closing():
	}
}

// begin returns the messages that a handler may begin with. One that is this process's no more is left out, and what must not
// begin goes back.
func (b *batches[T]) begin(taking context.Context, all []*Message[T]) (good []*Message[T]) {
	may := make([]bool, len(all))
	var asked sync.WaitGroup
	for i, m := range all {
		asked.Go(func() { may[i] = m.d.Err() == nil && m.d.begin(taking, true) })
	}
	asked.Wait()
	var back []*delivery
	ends := taking.Err() != nil
	for i, m := range all {
		switch {
		case m.d.Err() != nil:
		case ends || !may[i]:
			back = append(back, m.d)
		default:
			m.d.starts()
			good = append(good, m)
		}
	}
	if len(back) > 0 {
		back[0].c.giveBack(back)
	}
	return good
}

// fill waits for more messages.
func (b *batches[T]) fill(taking context.Context, all []*Message[T]) []*Message[T] {
	if b.wait == 0 || len(all) == b.most {
		return all
	}
	ctx, cancel := context.WithTimeout(taking, b.wait)
	defer cancel()
	for len(all) < b.most {
		more, err := b.q.receive(ctx, b.most-len(all))
		if err != nil {
			return all
		}
		all = append(all, more...)
	}
	return all
}

// handled calls the handler, which may panic, or end its goroutine.
func (b *batches[T]) handled(base context.Context, all []*Message[T]) (errs []error) {
	errs = []error{errGone}
	done := make(chan struct{})
	go func() { // ends with the handler
		defer close(done)
		defer func() {
			if caught := recover(); caught != nil {
				errs = []error{fmt.Errorf("panic: %v", caught)}
				b.q.h.e.Logger.Error("a handler has panicked", "name", b.q.of.key, "err", errs[0], "stack", string(debug.Stack()))
			}
		}()
		if errs = b.handler(base, all); errs != nil && len(errs) != len(all) {
			errs = []error{fmt.Errorf("%d errors of %d messages", len(errs), len(all))}
		}
	}()
	<-done
	return errs
}

// settle says what became of the messages, each as its error has it; a single error is that of all.
func (b *batches[T]) settle(all []*Message[T], errs []error) {
	var settled sync.WaitGroup
	for i, m := range all {
		var err error
		switch {
		case len(errs) == 1:
			err = errs[0]
		case errs != nil:
			err = errs[i]
		}
		s := outcome(err)
		settled.Add(1)
		s.done = func(failed error) {
			defer settled.Done()
			if failed != nil && !errors.Is(failed, ErrSettled) && !errors.Is(failed, ErrCancelled) && !errors.Is(m.d.ended(), ErrCancelled) {
				b.q.h.e.Logger.Warn("a message was handled, and may be again", "name", b.q.of.key, "id", m.ID, "err", failed)
			}
		}
		m.d.post(s, ErrSettled)
	}
	settled.Wait()
}

// note writes down which messages handlers are at.
func (b *batches[T]) note(all []*Message[T], begins bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range all {
		if begins {
			b.at[m.ID] = true
		} else {
			delete(b.at, m.ID)
		}
	}
}
