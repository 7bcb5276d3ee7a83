package reliable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// The defaults of Serve.
const (
	defaultConcurrency = 10
	defaultGrace       = 10 * time.Second
	mostConcurrency    = 1 << 20
)

// serving is what the options of a Serve say.
type serving struct {
	terms
	changed     bool // the terms are not those of the handle
	concurrency int
	prefetch    int // below 0: as concurrency
	grace       time.Duration
}

// A ServeOption changes one Serve.
type ServeOption interface{ applyServe(*serving) error }

type serveOption func(*serving) error

func (o serveOption) applyServe(s *serving) error { return o(s) }

// WithConcurrency is how many messages are handled at once. Without it that is 10.
func WithConcurrency(n int) ServeOption {
	return serveOption(func(s *serving) error {
		s.concurrency = n
		return within("concurrency", int64(n), mostConcurrency)
	})
}

// WithPrefetch is how many messages wait in this process for a handler, so that none has
// to wait for the server. Without it that is as many as are handled at once. 0 leaves
// messages to other processes until a handler is free: for long jobs, and always so with
// [WithMaxAttempts] of 1.
func WithPrefetch(n int) ServeOption {
	return serveOption(func(s *serving) error {
		s.prefetch = n
		return within("prefetch", int64(n)+1, mostConcurrency)
	})
}

// WithGrace is how long Serve waits for handlers when it is to end. Without it that is
// 10 s.
func WithGrace(d time.Duration) ServeOption {
	return serveOption(func(s *serving) error {
		s.grace = d
		if d < 0 || d > engine.LongestLease {
			return fmt.Errorf("%w: grace %v is outside of 0 to %v", ErrOption, d, engine.LongestLease)
		}
		return nil
	})
}

// retryError is what RetryIn returns.
type retryError struct {
	error
	delay time.Duration
}

func (e *retryError) Unwrap() error { return e.error }

// RetryIn is err as a handler returns it whose message is to be tried again in d. It is
// nil for a nil err.
func RetryIn(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryError{err, min(max(d, 0), engine.LongestLease)}
}

// discardError is what Discard returns.
type discardError struct{ error }

func (e *discardError) Unwrap() error { return e.error }

// Discard is err as a handler returns it whose message is not to be tried again: it is
// buried at once. It is nil for a nil err.
func Discard(err error) error {
	if err == nil {
		return nil
	}
	return &discardError{err}
}

// outcome is how a message is settled whose handler has returned err.
func (s *serving) outcome(attempt int, err error) *settle {
	if err == nil {
		return &settle{}
	}
	var retry *retryError
	var discard *discardError
	switch {
	case errors.As(err, &discard):
		return buriedBy(err)
	case errors.As(err, &retry):
		return failedBy(err, retry.delay)
	}
	return failedBy(err, s.backoff(attempt))
}

func (q *Queue[T]) serving(opts []ServeOption) (*serving, error) {
	s := &serving{terms: q.cfg.terms, concurrency: defaultConcurrency, prefetch: -1, grace: defaultGrace}
	for _, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("%w: a nil option", ErrOption)
		}
		if err := o.applyServe(s); err != nil {
			return nil, err
		}
	}
	if s.prefetch < 0 {
		s.prefetch = s.concurrency
	}
	if s.policy.attempts == 1 {
		s.prefetch = 0 // of which a message would lose its only attempt
	}
	if s.changed {
		s.terms.resolve()
	}
	return s, nil
}

// Serve handles messages until ctx ends, several at once ([WithConcurrency]). A handler
// that returns nil has its message acknowledged. An error fails the attempt: the message
// is tried again after a while ([WithBackoff], [RetryIn]), or buried ([WithMaxAttempts],
// [Discard]). A panic is an error; it is logged. The handler's context ends when the
// message may be another's, see [Message.Context], and not with ctx. A handler may
// settle its message itself.
//
// When ctx ends, Serve takes no more, gives back what no handler has seen, and waits for
// its handlers ([WithGrace]). Then it returns nil. Otherwise it ends their contexts and
// returns an error that names the messages which it has left: those stay under their leases
// until their handlers return, and are settled then, for as long as this process lives.
// An outage of the server is waited out. Other errors: [ErrUnknown] if the handlers have
// returned, but the server has not answered by then; [ErrOption], [ErrClosed], and that of
// Redis for a key of another type.
//
// Cost: one script call settles and takes for all handlers.
func (q *Queue[T]) Serve(ctx context.Context, handler func(ctx context.Context, m *Message[T]) error, opts ...ServeOption) error {
	err := q.usable(ctx)
	if err == nil && handler == nil {
		err = fmt.Errorf("%w: no handler", ErrOption)
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

// server is one Serve.
type server[T any] struct {
	q       *Queue[T]
	s       *serving
	handler func(ctx context.Context, m *Message[T]) error
	base    context.Context // of the handlers
	taking  context.Context // ends when no handler is to begin any more
	c       *consumer
	t       *taker
	work    chan *delivery
	workers sync.WaitGroup // those at work, and settles under way

	busy []atomic.Int64 // what each of the workers is at; 0: nothing
}

func (q *Queue[T]) serve(ctx context.Context, s *serving, handler func(ctx context.Context, m *Message[T]) error) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	taking, ends := context.WithCancel(ctx)
	defer ends()
	room := s.concurrency + s.prefetch
	w := &server[T]{
		q: q, s: s, handler: handler, base: base, taking: taking, c: q.consumer(unique.Make(s.policy)), t: newTaker(room, true),
		work: make(chan *delivery, room), busy: make([]atomic.Int64, s.concurrency),
	}
	w.t.ahead = s.prefetch > 0
	defer q.done(w.c)
	for i := range w.busy {
		w.workers.Add(1)
		go w.works(&w.busy[i]) // ends when the channel is closed
	}
	w.c.join(w.t)
	w.c.hear()
	w.c.look()
	err := w.take(ctx)
	ends()
	w.stop()
	if left := w.rest(); left != nil {
		cancel(errors.Join(errStopped, left))
		return errors.Join(err, left)
	}
	cancel(errStopped)
	return err
}

var errStopped = errors.New("serving has ended")

// take hands messages to the workers, of whom each gets to all in the end.
func (w *server[T]) take(ctx context.Context) error {
	for {
		select {
		case <-w.t.news:
		case <-ctx.Done():
			return nil
		case <-w.q.h.e.Closing():
			return ErrClosed
		}
		got, err := w.c.take(w.t)
		for _, d := range got {
			w.work <- d // there is room for all that it wants
		}
		if err != nil && engine.Hopeless(err) {
			return err
		}
		if err != nil {
			w.q.h.e.Logger.Warn("a reliable queue is not served, and tried again", "name", w.q.of.key, "err", err)
		}
	}
}

// stop gives back what no handler has seen.
func (w *server[T]) stop() {
	w.c.leave(w.t)
	var unseen []*delivery
	for {
		select {
		case d := <-w.work:
			unseen = append(unseen, d)
			continue
		default:
		}
		close(w.work)
		w.c.giveBack(unseen)
		return
	}
}

// rest waits for the handlers, and returns an error that names what it has left.
func (w *server[T]) rest() error {
	done := make(chan struct{})
	go func() { // ends with the last handler
		w.workers.Wait()
		close(done)
	}()
	timer := time.NewTimer(w.s.grace)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
	}
	n, some := w.left()
	if n == 0 {
		return fmt.Errorf("%w: what the last handlers have said of their messages has no answer within %v", ErrUnknown, w.s.grace)
	}
	return fmt.Errorf("handlers of %d messages have not ended within %v, such as %v", n, w.s.grace, some)
}

// left is how many messages handlers are at, and some of them.
func (w *server[T]) left() (n int, some []int64) {
	const most = 10
	for i := range w.busy {
		if id := w.busy[i].Load(); id != 0 {
			n++
			some = append(some, id)
		}
	}
	return n, some[:min(n, most)]
}

// works handles messages. A handler that ends its goroutine gets another for the rest.
func (w *server[T]) works(at *atomic.Int64) {
	ended := false
	defer func() {
		if !ended {
			go w.works(at)
			return
		}
		w.workers.Done()
	}()
	for d := range w.work {
		w.handle(d, at)
	}
	ended = true
}

// handle is one message.
func (w *server[T]) handle(d *delivery, at *atomic.Int64) {
	if d.Err() != nil {
		w.free()
		return
	}
	if !d.begin(w.taking) || w.taking.Err() != nil {
		w.c.giveBack([]*delivery{d})
		w.free()
		return
	}
	d.watch()
	m, good := w.q.message(d, w.s.backoff)
	if !good {
		w.free()
		return
	}
	ctx := d.under(w.base)
	at.Store(d.id)
	err := errGone
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
			w.q.h.e.Logger.Error("a handler has panicked", "name", w.q.of.key, "id", d.id, "err", err, "stack", string(debug.Stack()))
		}
		at.Store(0)
		d.watched.returned(err)
		w.settle(d, err)
	}()
	if o := w.q.h.e.Observer; o != nil {
		o.Acquired(w.base, label, w.q.of.key, false)
	}
	err = w.handler(d.handling(ctx, m.Header), m)
}

var errGone = errors.New("the handler has ended its goroutine")

// free has the next message come.
func (w *server[T]) free() {
	w.c.wants(w.t, 1)
	w.c.look()
}

// settle says what became of a message, in the exchange that takes the next.
func (w *server[T]) settle(d *delivery, err error) {
	s := w.s.outcome(d.attempt, err)
	w.workers.Add(1)
	s.done = func(failed error) {
		defer w.workers.Done()
		o := w.q.h.e.Observer
		switch {
		case failed == nil && o != nil:
			o.Released(w.base, label, w.q.of.key, false)
		case errors.Is(failed, ErrSettled): // by the handler
			w.c.look()
		case failed != nil:
			w.q.h.e.Logger.Warn("a message was handled, and may be again", "name", w.q.of.key, "id", d.id, "err", failed)
			w.c.look()
		}
	}
	w.c.wants(w.t, 1)
	d.post(s, ErrSettled)
}
