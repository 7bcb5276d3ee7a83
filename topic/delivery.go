package topic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// A DeliveryOption changes one loop over [Durable.Deliveries].
type DeliveryOption interface{ applyDelivery(*delivering) error }

type delivering struct {
	attempts int64                             // after which a message is put aside; 0: none
	backoff  func(attempt int64) time.Duration // nil: doubled from a second on
}

type deliveryOption func(*delivering) error

func (o deliveryOption) applyDelivery(c *delivering) error { return o(c) }

// WithMaxAttempts sets after how many failed attempts a message is a dead letter, see
// [Durable.Dead]. Without it none is. An attempt without an outcome counts, too: its process
// died, or stood still for longer than a watchdog timeout. Other messages that a dead process
// had read, or that were lost on their way to it, count an attempt, too.
func WithMaxAttempts(n int) DeliveryOption {
	return deliveryOption(func(c *delivering) error {
		if c.attempts = int64(n); n < 1 {
			return fmt.Errorf("%w: %d attempts: at least 1", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithBackoff sets how long a message waits after a failed attempt, but not longer than the
// watchdog timeout of the client. The attempt is 1 for the first. The default is a second,
// and twice as long after each further attempt. If the process that failed has exited, it
// may be a second longer.
func WithBackoff(f func(attempt int64) time.Duration) DeliveryOption {
	return deliveryOption(func(c *delivering) error {
		if c.backoff = f; f == nil {
			return fmt.Errorf("%w: a nil backoff", ErrInvalidArgument)
		}
		return nil
	})
}

// Delivery is a message that a [Durable] name was given. It is settled once, by [Delivery.Ack],
// [Delivery.Nack] or [Delivery.Bury], before its loop asks for the next.
type Delivery[T any] struct {
	ID      string // of the topic's stream; a message that is redriven has the one that it had
	Value   T      // what was published
	Attempt int64  // 1 for the first

	s       *ReliableSubscription[T]
	it      *entry
	cfg     delivering
	settled atomic.Bool
}

// Deliveries listens from when the loop begins until it ends, as [Durable.Subscribe] does, but
// each message carries its own outcome. One that the loop leaves without an outcome, by
// continue, break or return, is a [Delivery.Nack].
//
//	for m, err := range orders.Durable("billing").Deliveries(ctx, topic.WithMaxAttempts(5)) {
//		switch {
//		case errors.Is(err, topic.ErrDecode): // m has an ID and no value
//			err = m.Bury(ctx, err)
//		case errors.Is(err, rueidisson.ErrNotice): // a lost connection, a LaggedError, or an ErrInterrupted, without m
//			log.Print(err)
//			continue
//		case err != nil:
//			return err // and the loop is over
//		default:
//			if err = bill(ctx, m.Value); err != nil {
//				err = m.Nack(ctx, err) // it comes again, or is put aside
//			} else {
//				err = m.Ack(ctx)
//			}
//		}
//		if err != nil {
//			log.Print(err) // it comes again
//		}
//	}
//
// A message that failed comes again when its backoff is over, to any process of the name,
// and later ones come meanwhile: there is no order between them. What the topic drops while it
// waits, or while a loop has it that does not Ack it, is told by a [LaggedError].
//
// Several loops of a process that have subscribed under the name get each message: it is
// acknowledged when all of them have done so, and comes again to all, or is put aside, if
// one of them says so.
//
// Errors: [ReliableSubscription.Messages] lists those that do not end the loop. If a message
// has had all its attempts and cannot be put aside, the reason is yielded together with it: the
// message is settled, and is redelivered when its lease is over. These end the loop:
// [ErrInvalidArgument], ctx's error and cause, [ErrClosed] and those of Redis.
func (d *Durable[T]) Deliveries(ctx context.Context, opts ...DeliveryOption) iter.Seq2[*Delivery[T], error] {
	return func(yield func(*Delivery[T], error) bool) {
		s, err := d.Listen(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		s.Deliveries(ctx, opts...)(yield)
	}
}

// Deliveries yields what came to a subscription of a [Durable] name, as [Durable.Deliveries]
// does. Of another it yields an [ErrInvalidArgument].
func (s *ReliableSubscription[T]) Deliveries(ctx context.Context, opts ...DeliveryOption) iter.Seq2[*Delivery[T], error] {
	return func(yield func(*Delivery[T], error) bool) {
		cfg, err := s.delivering(ctx, opts)
		if err != nil {
			yield(nil, s.t.failed("listen to", err))
			return
		}
		s.all(ctx, func(err error) bool { return yield(nil, err) }, func(it *entry) bool { return s.deliver(ctx, it, cfg, yield) })
	}
}

func (s *ReliableSubscription[T]) delivering(ctx context.Context, opts []DeliveryOption) (cfg delivering, err error) {
	if err = object.CheckContext(ctx); err == nil && !s.f.durable {
		err = fmt.Errorf("%w: only what a durable name is given carries its outcome", ErrInvalidArgument)
	}
	if err != nil {
		return cfg, err
	}
	return object.Options(cfg, opts, DeliveryOption.applyDelivery)
}

// deliver has the loop handle a message, which fails if the loop does not say how that ended.
func (s *ReliableSubscription[T]) deliver(ctx context.Context, it *entry, cfg delivering, yield func(*Delivery[T], error) bool) (goOn bool) {
	if !s.f.begin(it) {
		return true
	}
	s.f.mu.Lock()
	attempt := it.attempt // how often the group was given it
	s.f.mu.Unlock()
	m := &Delivery[T]{ID: it.shown(), Attempt: attempt, s: s, it: it, cfg: cfg}
	ctx = context.WithoutCancel(ctx)
	if cfg.attempts > 0 && m.Attempt > cfg.attempts {
		if err := m.Bury(ctx, attempts.ErrUnsettled); s.left(m, err) {
			m.Value, _ = s.t.read(it)
			return yield(m, core.Notice(err)) // else it would come and go unseen for as long as that fails
		}
		return true
	}
	defer func() {
		if !m.settled.Load() {
			s.left(m, m.Nack(ctx, attempts.ErrLeft))
		}
	}()
	s.t.h.e.TakenEntry(ctx, s.t.h.kind, s.t.of.key, m.ID)
	var err error
	m.Value, err = s.t.read(it)
	return yield(m, core.Notice(err))
}

// left handles an outcome that the loop has not asked for. It reports whether the message stays
// where it is, though this process has it.
func (s *ReliableSubscription[T]) left(m *Delivery[T], err error) bool {
	if err == nil || errors.Is(err, ErrLost) || errors.Is(err, ErrClosed) {
		return false
	}
	s.t.h.e.Logger.Warn("a message is left to its lease", "name", s.t.of.key, "id", m.ID, "err", err)
	return true
}

// Ack says that the message is handled, and waits until the server knows, so that no process
// of the name gets it any more. Where other loops of the process have it, it does not wait: the last
// of them acknowledges it. After an error the server is told all the same, unless the client closes or
// has to give it up.
//
// Cost: a script call, with those of others that come meanwhile. Errors: [ErrLost] for a message that was settled;
// [ErrOutcomeUnknown], which also ends a ctx that ends before the answer; ctx's error and cause; [ErrClosed]; those of
// Redis. Source: none, Redisson acknowledges what a listener returns from.
func (m *Delivery[T]) Ack(ctx context.Context) error {
	err := m.begin(ctx)
	if err == nil {
		told := m.s.f.ack(m.it)
		if told != nil {
			_, err = send.Writing(m.s.t.h.e.Sender, ctx, func() (struct{}, error) { return struct{}{}, <-told })
		}
	}
	return m.s.t.failed("acknowledge a message of", err)
}

// Nack says that an attempt failed: the message comes again when its backoff is over, see
// [WithBackoff], or is put aside if it was the last, see [WithMaxAttempts].
//
// Cost: one script call, and a share of UNLINK. Errors: as [Delivery.Ack]; [ErrLost] also if another process has it,
// or the topic has dropped it meanwhile. The message comes again after all of them, but not what was dropped: that is
// gone, and told by a [LaggedError].
func (m *Delivery[T]) Nack(ctx context.Context, cause error) error {
	if m.cfg.attempts > 0 && m.Attempt >= m.cfg.attempts {
		return m.Bury(ctx, cause)
	}
	wait := attempts.Backoff(m.cfg.backoff, m.Attempt, m.s.f.lease())
	return m.s.t.failed("give back a message of", m.fail(ctx, verdict{wait: wait, cause: cause}))
}

// Bury puts the message aside, with why: no process of the name gets it any more. [Durable.Dead] lists
// it, [Durable.Redrive] has it come again. Of a name the last 10,000 stay, about.
//
// Cost: one script call, and a share of UNLINK. Errors: as [Delivery.Nack].
func (m *Delivery[T]) Bury(ctx context.Context, cause error) error {
	return m.s.t.failed("put aside a message of", m.fail(ctx, verdict{bury: true, cause: cause}))
}

// begin settles the message, which no other call can then.
func (m *Delivery[T]) begin(ctx context.Context) error {
	err := object.CheckContext(ctx)
	if err == nil && m.settled.Swap(true) {
		err = ErrLost
	}
	return err
}

func (m *Delivery[T]) fail(ctx context.Context, v verdict) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	if !m.s.f.reject(m.it, v) {
		return nil // the last of the loops that have it says so
	}
	_, err := send.Writing(m.s.t.h.e.Sender, ctx, func() (struct{}, error) { return struct{}{}, m.s.f.nack(ctx, m.it) })
	return err
}
