package reliable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Serve handles messages until ctx ends, several at once ([WithConcurrency]). A handler
// that returns nil has its message acknowledged. An error fails the attempt: the message
// is tried again after a while ([WithBackoff], [RetryIn]), or buried ([WithMaxAttempts],
// [Discard]), or given back for a while ([Snooze]). A panic is an error; it is logged. The handler's context ends when the
// message may be another's, see [Message.Context], and not with ctx. A handler may
// settle its message itself.
//
// When ctx ends, Serve takes no more, gives back what no handler has seen, and waits for
// its handlers ([WithGrace]). Then it returns nil. Otherwise it ends their contexts and
// returns an error that names the messages which it has left: those stay under their leases
// until their handlers return, and are settled then, for as long as this process lives.
// An outage of the server is waited out. Other errors: [ErrOutcomeUnknown] if the handlers have
// returned, but the server has not answered by then; [ErrOtherTerms], [ErrInvalidArgument], [ErrClosed], and that of
// Redis for a key of another type.
//
// Cost: one script call settles and takes for all handlers.
func (q *Queue[T]) Serve(ctx context.Context, handler func(ctx context.Context, m *Message[T]) error, opts ...ServeOption) error {
	err := q.usable(ctx)
	if err == nil && handler == nil {
		err = fmt.Errorf("%w: no handler", ErrInvalidArgument)
	}
	var s *serving
	if err == nil {
		s, err = q.serving(opts)
	}
	if err == nil {
		err = q.serve(ctx, s, handler)
	}
	return q.failed("serve", err)
}

// server is one Serve, or one queue of a ServeAll.
type server[T any] struct {
	q       *Queue[T]
	s       *serving
	handler func(ctx context.Context, m *Message[T]) error
	base    context.Context // of the handlers
	taking  context.Context // ends when no handler is to begin any more
	c       *consumer
	t       *taker
	workers sync.WaitGroup // those at work, and settles under way

	// Of a Serve. A semaphore.Weighted would bound the handlers, too, but does not say how many are free: so many messages are
	// asked for.
	work chan *delivery
	busy []atomic.Int64 // what each of the workers is at; 0: nothing

	freed func(n int) // of one of a ServeAll: n handlers are free; else nil

	// Of a Serve with a limiter: workers that are free, and messages that have come.
	free chan struct{}
	came chan struct{}
}

func (q *Queue[T]) serve(ctx context.Context, s *serving, handler func(ctx context.Context, m *Message[T]) error) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	taking, ends := context.WithCancel(ctx)
	defer ends()
	room := s.concurrency + s.prefetch
	w := &server[T]{
		q: q, s: s, handler: handler, base: base, taking: taking, c: q.consumer(unique.Make(s.policy())), t: newTaker(room, true),
		work: make(chan *delivery, room), busy: make([]atomic.Int64, s.concurrency),
	}
	w.t.ahead = s.prefetch
	defer q.done(w.c)
	refused := make(chan error, 1) // by the limiter
	if s.limiter != nil {
		w.t.want, w.free, w.came = 0, make(chan struct{}, room), make(chan struct{}, room)
		for range room {
			w.free <- struct{}{}
		}
		got := func() {
			w.c.wants(w.t, 1)
			w.c.look()
		}
		go w.turns(w.free, got, w.came, func(err error) { refused <- err }) // ends with taking
	}
	for i := range w.busy {
		w.workers.Add(1)
		go works(w.work, func(d *delivery) { w.handle(d, &w.busy[i]) }, w.workers.Done) // ends when the channel is closed
	}
	w.c.join(w.t)
	w.c.hear()
	w.c.look()
	var err error
	for err == nil && ctx.Err() == nil {
		select {
		case <-w.t.news:
			var got []*delivery
			got, err = w.c.take(w.t)
			for _, d := range got {
				w.work <- d // there is room for all that it wants
				if w.came != nil {
					w.came <- struct{}{}
				}
			}
			err = w.c.lasting(err)
		case <-ctx.Done():
		case <-q.h.e.Closing():
			err = ErrClosed
		case err = <-refused:
		}
	}
	ends()
	left := w.stop()
	cancel(errors.Join(errStopped, left))
	return errors.Join(err, left)
}

var errStopped = errors.New("serving has ended")

// lasting returns an error that ends a Serve. Any other is logged: what failed is tried again.
func (c *consumer) lasting(err error) error {
	if err == nil || send.Permanent(err) || errors.Is(err, ErrOtherTerms) {
		return err
	}
	c.h.e.Logger.Warn("a reliable queue is not served, and tried again", "name", c.of.key, "err", err)
	return nil
}

// works handles what comes until work is closed. A handler that ends its goroutine gets another for the rest.
func works[W any](work <-chan W, handle func(W), done func()) {
	ended := false
	defer func() {
		if !ended {
			go works(work, handle, done)
			return
		}
		done()
	}()
	for one := range work {
		handle(one)
	}
	ended = true
}

// handle handles one message.
func (w *server[T]) handle(d *delivery, at *atomic.Int64) {
	if d.Err() != nil {
		w.next(1)
		return
	}
	if !d.begin(w.taking, w.s.prefetch > 0) || w.taking.Err() != nil {
		w.putBack(d)
		return
	}
	h := w.q.h
	if h.e.Handlers != nil { // before it can be settled
		d.watched = &watched{}
	}
	m, good := w.q.message(d)
	if !good {
		w.next(1)
		return
	}
	d.starts()
	ctx := d.under(w.base)
	at.Store(d.id)
	err := errGone
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
			h.e.Logger.Error("a handler has panicked", "name", w.q.of.key, "id", d.id, "err", err, "stack", string(debug.Stack()))
		}
		at.Store(0)
		if d.watched != nil {
			d.watched.ends(func(is *core.Handled) { is.Took, is.Err = time.Since(d.watched.began), err })
		}
		w.settle(d, err)
	}()
	if h.e.Observer != nil {
		h.e.Observer.Acquired(w.base, label, w.q.of.key, false)
	}
	err = w.handler(d.handling(ctx, m.Header), m)
}

var errGone = errors.New("the handler has ended its goroutine")

// settle says what became of a message, in the exchange that takes the next.
func (w *server[T]) settle(d *delivery, err error) {
	s := outcome(err)
	w.workers.Add(1)
	s.done = func(failed error) {
		defer w.workers.Done()
		o := w.q.h.e.Observer
		switch {
		case failed == nil && o != nil:
			o.Released(w.base, label, w.q.of.key, false)
		case errors.Is(failed, ErrSettled): // by the handler
			w.c.look()
		case errors.Is(failed, ErrCancelled), failed != nil && errors.Is(d.ended(), ErrCancelled):
			w.q.h.e.Logger.Info("a message was cancelled while its handler was at it", "name", w.q.of.key, "id", d.id)
			w.c.look()
		case failed != nil:
			w.q.h.e.Logger.Warn("a message was handled, and may be again", "name", w.q.of.key, "id", d.id, "err", failed)
			w.c.look()
		}
	}
	if w.freed == nil {
		w.wants(1)
	}
	d.post(s, ErrSettled)
	if w.freed != nil {
		w.freed(1)
	}
}

// wants has n more messages come, with the next exchange.
func (w *server[T]) wants(n int) {
	switch {
	case w.freed != nil:
		w.freed(n)
	case w.s.limiter == nil:
		w.c.wants(w.t, n)
	default:
		for range n {
			w.free <- struct{}{} // there is room for all workers
		}
	}
}

func (w *server[T]) next(n int) {
	w.wants(n)
	w.c.look()
}

// putBack gives back a message that must not begin, with those that wait for it, in their order.
func (w *server[T]) putBack(d *delivery) {
	all := []*delivery{d}
	for more := true; more; {
		select {
		case d, open := <-w.work:
			if more = open; open {
				all = append(all, d)
			}
		default:
			more = false
		}
	}
	w.c.giveBack(all)
	w.next(len(all))
}

// stop gives back what no handler has seen, and waits for the handlers. The error names what it has left.
func (w *server[T]) stop() error {
	w.c.leave(w.t)
	var unseen []*delivery
	for more := true; more; {
		select {
		case d := <-w.work:
			unseen = append(unseen, d)
		default:
			more = false
		}
	}
	close(w.work)
	w.c.giveBack(unseen)
	if endWithin(w.s.grace, w.workers.Wait) {
		return nil
	}
	var at []int64
	for i := range w.busy {
		if id := w.busy[i].Load(); id != 0 {
			at = append(at, id)
		}
	}
	if len(at) == 0 {
		return fmt.Errorf("%w: what the last handlers have said of their messages has no answer within %v", ErrOutcomeUnknown, w.s.grace)
	}
	return fmt.Errorf("handlers of %d messages have not ended within %v, such as %v", len(at), w.s.grace, at[:min(len(at), 10)])
}

// endWithin reports whether wait has returned within the grace.
func endWithin(grace time.Duration, wait func()) bool {
	done := make(chan struct{})
	go func() { // ends with the last handler
		wait()
		close(done)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// turns gets one turn of the limiter after the other: when a handler is free, unless free is nil, and the turn before is used.
func (w *server[T]) turns(free <-chan struct{}, got func(), used <-chan struct{}, fail func(error)) {
	// Without the deadline of Serve: a limiter may refuse at once what would have to wait beyond it.
	turn, cancel := context.WithCancelCause(context.WithoutCancel(w.taking))
	defer cancel(nil)
	stop := context.AfterFunc(w.taking, func() { cancel(context.Cause(w.taking)) })
	defer stop()
	for {
		if free != nil {
			select {
			case <-free:
			case <-w.taking.Done():
				return
			}
		}
		if err := w.admit(turn); err != nil {
			fail(fmt.Errorf("limiter: %w", err))
			return
		}
		if w.taking.Err() != nil {
			return
		}
		got()
		select {
		case <-used:
		case <-w.taking.Done():
			return
		}
	}
}

// askAgain is how long a limiter that does not answer is left alone.
const askAgain = time.Second

// admit waits for a turn, also while the limiter's server does not answer.
func (w *server[T]) admit(turn context.Context) error {
	for {
		err := w.s.limiter.Wait(turn)
		if err == nil || turn.Err() != nil {
			return nil
		}
		var reply *rueidis.RedisError
		var broken net.Error
		if !errors.As(err, &reply) && !errors.As(err, &broken) && !errors.Is(err, ErrOutcomeUnknown) || !send.Transient(err) {
			return err // not of a server that does not answer
		}
		w.q.h.e.Logger.Warn("a limiter does not answer, and is asked again", "name", w.q.of.key, "err", err)
		select {
		case <-time.After(askAgain):
		case <-turn.Done():
		}
	}
}
