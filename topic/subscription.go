package topic

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Subscription has the messages of one subscriber until they are read. It lasts
// until Close, or until the client closes. It is safe for concurrent use.
type Subscription[M any] struct {
	e        *locking.Engine
	name     string
	kind, on string // "topic", and the channel or pattern
	in       *inbox
	sub      *pubsub.Subscription
	read     func(message) (M, error)
	failed   func(op string, err error) error
}

// listen subscribes, and returns when that is confirmed.
func listen[T, M any](ctx context.Context, h *handle[T], opts []SubscribeOption, read func(message) (M, error)) (*Subscription[M], error) {
	cfg, err := object.Options(subscribing{buffer: defaultBuffer}, opts, SubscribeOption.applySubscribe)
	if err == nil {
		err = h.usable(ctx)
	}
	if err != nil {
		return nil, h.failed("listen to", err)
	}
	s := &Subscription[M]{e: h.e, name: h.name, kind: h.kind, on: h.on.Name, in: newInbox(cfg.buffer), read: read, failed: h.failed}
	w := &watched{tell: cfg.status}
	if s.sub, err = h.e.SubscribeTo(ctx, h.on, func(ev pubsub.Event) {
		w.hear(ev.Kind)
		s.in.hear(ev)
	}); err != nil {
		return nil, h.failed("listen to", err)
	}
	w.begin()
	s.sub.Losses()
	return s, nil
}

// watched tells a program what happens to its subscription.
type watched struct {
	tell func(Status) // nil: nothing

	mu   sync.Mutex
	last Status // that was told; 0: none yet
}

// begin tells that it stands. What was heard before is of no interest.
func (w *watched) begin() {
	if w.tell == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say(Subscribed)
}

// hear handles an event, on the hub's goroutine. A subscription that is restored was lost, also if nobody has noticed.
func (w *watched) hear(kind pubsub.EventKind) {
	if w.tell == nil || kind == pubsub.Message {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.last == 0:
	case kind == pubsub.Lost && w.last != Lost:
		w.say(Lost)
	case kind == pubsub.Resumed:
		if w.last != Lost {
			w.say(Lost)
		}
		w.say(Restored)
	}
}

func (w *watched) say(s Status) {
	w.last = s
	w.tell(s)
}

// subscribed returns a subscription that lasts as long as the loop over it.
func subscribed[M any](ctx context.Context, listen func() (*Subscription[M], error)) iter.Seq2[M, error] {
	return func(yield func(M, error) bool) {
		s, err := listen()
		if err != nil {
			var none M
			yield(none, err)
			return
		}
		defer s.Close()
		s.Messages(ctx)(yield)
	}
}

// Messages yields messages in the order in which they were published, and waits for
// more. Some errors are yielded in place of messages, and the loop continues:
//
//   - *[LaggedError] if messages were dropped, because the buffer was full;
//   - [ErrDisconnected] when the connection is lost, and [ErrReconnected] with
//     [ErrInterrupted] when it is back, once each;
//   - *[codec.DecodeError] for a message that is not of the topic's type.
//
// Any other error is the last: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed],
// when the client was closed and all that had come was read. Close ends the loop
// without one. Several loops share the messages: each of these comes to one of
// them.
//
// Cost: nothing is sent; the server pushes messages.
func (s *Subscription[M]) Messages(ctx context.Context) iter.Seq2[M, error] {
	return func(yield func(M, error) bool) {
		var none M
		if ctx == nil {
			yield(none, s.failed("listen to", object.CheckContext(ctx)))
			return
		}
		for {
			next, open, err := s.next(ctx)
			switch {
			case err != nil:
				yield(none, s.failed("listen to", err))
				return
			case !open:
				return
			case next.cut != 0 && s.e.Open() != nil:
				continue // it is the client that has ended the connection
			}
			switch {
			case next.missed > 0:
				s.e.Missed(s.kind, s.on, next.missed)
			case next.cut == 0:
				s.e.Taken(ctx, s.kind, s.on, 1)
			}
			if !yield(s.show(next)) {
				return
			}
		}
	}
}

// show returns what the loop sees of a notice.
func (s *Subscription[M]) show(next notice) (m M, err error) {
	switch {
	case next.missed > 0:
		return m, &LaggedError{s.name, next.missed}
	case next.cut == disconnected:
		return m, core.Notice(s.failed("listen to", ErrDisconnected))
	case next.cut == reconnected:
		return m, core.Notice(s.failed("listen to", fmt.Errorf("%w: %w", ErrReconnected, ErrInterrupted)))
	}
	m, err = s.read(next.message)
	return m, core.Notice(err)
}

// next waits for what comes. It is not open any more once it was closed.
func (s *Subscription[M]) next(ctx context.Context) (next notice, open bool, err error) {
	for {
		if ctx.Err() != nil {
			return next, true, core.ContextError(ctx)
		}
		next, some, closed := s.in.take()
		switch {
		case closed:
			s.in.poke() // for the other loops
			return next, false, nil
		case some:
			return next, true, nil
		case s.e.Open() != nil:
			return next, true, ErrClosed
		}
		select {
		case <-s.in.news:
		case <-ctx.Done():
		case <-s.e.Closing():
		}
	}
}

// Close ends the subscription. It never waits, and drops messages that were not read. When the last
// subscription of the client to the name is closed, the client unsubscribes. Closing it again is
// fine.
func (s *Subscription[M]) Close() {
	s.sub.Leave()
	s.in.close()
}
