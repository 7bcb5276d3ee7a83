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
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// The defaults of Serve.
const (
	defaultConcurrency = 10
	defaultGrace       = 10 * time.Second
	mostConcurrency    = 1 << 20
)

// serving is what the options of a Serve say.
type serving struct {
	given
	concurrency int
	prefetch    int
	limiter     Limiter // nil: none
	grace       time.Duration
}

// A ServeOption changes one Serve.
type ServeOption interface{ applyServe(*serving) error }

type serveOption func(*serving) error

func (o serveOption) applyServe(s *serving) error { return o(s) }

// WithConcurrency sets how many messages are handled at once. Without it that is 10.
func WithConcurrency(n int) ServeOption {
	return serveOption(func(s *serving) error {
		s.concurrency = n
		return within("concurrency", int64(n), mostConcurrency)
	})
}

// WithPrefetch sets how many messages wait in this process for a handler, so that no handler
// has to wait for the server. Without it that is none: a message stays with the queue, and
// so with all processes, until a handler is free. With very short handlers as many as are
// handled at once make it faster. It does nothing where a message has one attempt
// ([WithMaxAttempts]).
func WithPrefetch(n int) ServeOption {
	return serveOption(func(s *serving) error {
		s.prefetch = n
		return within("prefetch", int64(n)+1, mostConcurrency)
	})
}

// A Limiter has callers wait for their turn, such as a *ratelimiter.Bucket of this module or a
// *rate.Limiter of golang.org/x/time. Wait returns nil when the turn has come, or an error.
type Limiter interface {
	Wait(ctx context.Context) error
}

// WithLimiter asks a limiter before each message is taken. A message that has to wait for its turn
// stays with the queue, without a lease and a handler. While nothing is ready, Serve has one turn
// in hand. It takes one message at a time, so a Serve has at most as many in a second as there are
// round trips in it; [WithPrefetch] does nothing. An error of the limiter ends Serve, if
// it would not pass. [Queue.ServeBatch] refuses it with [ErrOption].
func WithLimiter(l Limiter) ServeOption {
	return serveOption(func(s *serving) error {
		s.limiter = l
		if l == nil {
			return fmt.Errorf("%w: no limiter", ErrOption)
		}
		return nil
	})
}

// WithGrace sets how long Serve waits for handlers when it is to end. Without it that is
// 10 s.
func WithGrace(d time.Duration) ServeOption {
	return serveOption(func(s *serving) error {
		s.grace = d
		if d < 0 || d > core.LongestLease {
			return fmt.Errorf("%w: grace %v is outside of 0 to %v", ErrOption, d, core.LongestLease)
		}
		return nil
	})
}

func (q *Queue[T]) serving(opts []ServeOption) (*serving, error) {
	s := &serving{given: q.cfg.given, concurrency: defaultConcurrency, grace: defaultGrace}
	if err := object.Apply(s, opts, ServeOption.applyServe); err != nil {
		return nil, err
	}
	if s.limiter != nil {
		s.prefetch = 0
	}
	return s, s.given.resolve()
}

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
// An outage of the server is waited out. Other errors: [ErrUnknown] if the handlers have
// returned, but the server has not answered by then; [ErrOtherTerms], [ErrOption], [ErrClosed], and that of
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

	freed func(n int) // of one of a ServeAll: n handlers are free; else nil

	// Of one with a limiter: workers that are free, messages that have come, and why it ended.
	free    chan struct{}
	came    chan struct{}
	refused chan error
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
	if s.limiter != nil {
		w.t.want, w.free, w.came, w.refused = 0, make(chan struct{}, room), make(chan struct{}, room), make(chan error, 1)
		for range room {
			w.free <- struct{}{}
		}
		go w.admits() // ends with taking
	}
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
		case err := <-w.refused:
			return err
		}
		got, err := w.c.take(w.t)
		for _, d := range got {
			w.work <- d // there is room for all that it wants
			if w.came != nil {
				w.came <- struct{}{}
			}
		}
		if err != nil && (send.Permanent(err) || errors.Is(err, ErrOtherTerms)) {
			return err
		}
		if err != nil {
			w.q.h.e.Logger.Warn("a reliable queue is not served, and tried again", "name", w.q.of.key, "err", err)
		}
	}
}

// admits asks for a message whenever a worker is free, the one before has come, and the limiter gives a turn.
func (w *server[T]) admits() {
	// Without the deadline of Serve: a limiter may refuse at once what would have to wait beyond it.
	turn, cancel := context.WithCancelCause(context.WithoutCancel(w.taking))
	defer cancel(nil)
	stop := context.AfterFunc(w.taking, func() { cancel(context.Cause(w.taking)) })
	defer stop()
	for {
		select {
		case <-w.free:
		case <-w.taking.Done():
			return
		}
		if err := w.admit(turn); err != nil {
			w.refused <- fmt.Errorf("limiter: %w", err) // there is room
			return
		}
		if w.taking.Err() != nil {
			return
		}
		w.c.wants(w.t, 1)
		w.c.look()
		select {
		case <-w.came:
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
		switch {
		case err == nil, turn.Err() != nil:
			return nil
		case !outage(err):
			return err
		}
		w.q.h.e.Logger.Warn("a limiter does not answer, and is asked again", "name", w.q.of.key, "err", err)
		select {
		case <-time.After(askAgain):
		case <-turn.Done():
		}
	}
}

// outage reports whether an error of a limiter is of a server that does not answer.
func outage(err error) bool {
	var reply *rueidis.RedisError
	var broken net.Error
	return (errors.As(err, &reply) || errors.As(err, &broken) || errors.Is(err, ErrUnknown)) && send.Transient(err)
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

// left returns how many messages handlers are at, and some of them.
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
	d.watch()
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

// wants has n more messages come, with the next exchange.
func (w *server[T]) wants(n int) {
	if w.freed != nil {
		w.freed(n)
		return
	}
	if w.s.limiter == nil {
		w.c.wants(w.t, n)
		return
	}
	for range n {
		w.free <- struct{}{} // there is room for all workers
	}
}

func (w *server[T]) next(n int) {
	w.wants(n)
	w.c.look()
}

// putBack gives back a message that must not begin, with those that wait behind it, in their order.
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
