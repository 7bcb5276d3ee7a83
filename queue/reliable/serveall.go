package reliable

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unique"

	"github.com/rueidisson/rueidisson/internal/object"
)

// Served is a queue with its handler, for [ServeAll]: [Queue.With] or [Weighted].
type Served interface {
	// opens returns what p serves, which taking from it begins with.
	opens(p *pool) (*source, error)
}

// With returns the queue with a handler, for [ServeAll]. The handler and the options are as for [Queue.Serve].
// [WithConcurrency] bounds how many of the messages of this queue are handled at once. The default is the bound of
// ServeAll. [WithPrefetch] does nothing. If an option is invalid, ServeAll returns [ErrInvalidArgument].
func (q *Queue[T]) With(handler func(ctx context.Context, m *Message[T]) error, opts ...ServeOption) Served {
	return &served[T]{q, handler, opts}
}

type served[T any] struct {
	q       *Queue[T]
	handler func(ctx context.Context, m *Message[T]) error
	opts    []ServeOption
}

// Weighted gives a queue a weight, from 1 to 1,000,000, among the other weighted ones in the
// arguments of [ServeAll].
func Weighted(queue Served, weight int) Served { return weighted{queue, weight} }

type weighted struct {
	Served
	weight int
}

func (w weighted) opens(p *pool) (*source, error) {
	if err := within("weight", int64(w.weight), mostAttempts); err != nil {
		return nil, err
	}
	if w.Served == nil {
		return nil, errNoQueue
	}
	s, err := w.Served.opens(p)
	if err == nil {
		s.weight = w.weight
	}
	return s, err
}

var errNoQueue = fmt.Errorf("%w: no queue", ErrInvalidArgument)

// ServeAll serves several queues, as [Queue.Serve] does one: n handlers serve all of them together,
// until ctx ends. A handler that is free gets a message of the first of the queues that has one.
// Neighbouring queues with a weight ([Weighted]) are served in proportion to their weights, for as
// long as each of them has messages. The queues before them come first, and the rest after them.
//
//	err := reliable.ServeAll(ctx, 64,
//		urgent.With(alert),
//		reliable.Weighted(mails.With(send), 3),
//		reliable.Weighted(reports.With(build), 1),
//	)
//
// Pauses, limiters, leases and terms are those of each queue. A queue that cannot be served, as an error of
// [Queue.Serve] says, ends ServeAll. While the server of one queue does not answer, the others are served.
// The queues may be of several clients. When ctx ends, ServeAll waits for its handlers for the longest [WithGrace] of the queues.
//
// Cost: as [Queue.Serve] of each queue; while handlers are free now and then, one script call more for each queue
// that is asked in vain. Errors: as [Queue.Serve]; [ErrInvalidArgument] for an n outside of 1 to 1,048,576, or no queue.
func ServeAll(ctx context.Context, n int, queues ...Served) error {
	return serveAll(ctx, n, askPatience, queues)
}

func serveAll(ctx context.Context, n int, patience time.Duration, queues []Served) error {
	err := object.Checked(ctx, within("handlers", int64(n), mostConcurrency))
	if err == nil && len(queues) == 0 {
		err = errNoQueue
	}
	if err != nil {
		return fmt.Errorf("serve reliable queues: %w", err)
	}
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	taking, ends := context.WithCancel(ctx)
	defer ends()
	p := newPool(base, taking, n, patience)
	if err := p.opens(queues); err != nil {
		cancel(errStopped)
		return err
	}
	err = p.serve(ctx, ends)
	left := p.rest()
	cancel(errors.Join(errStopped, left))
	return errors.Join(err, left)
}

func newPool(base, taking context.Context, n int, patience time.Duration) *pool {
	return &pool{n: n, base: base, taking: taking, news: make(chan struct{}, 1), work: make(chan job, n), at: make([]position, n), patience: patience}
}

// opens has the pool serve these queues, or none of them.
func (p *pool) opens(queues []Served) error {
	p.refused = make(chan error, len(queues))
	for _, q := range queues {
		var s *source
		err := errNoQueue
		if q != nil {
			s, err = q.opens(p)
		}
		if err != nil {
			p.close()
			return fmt.Errorf("serve reliable queues: %w", err)
		}
		p.all = append(p.all, s)
		// Weighted queues that stand one after the other are a rank. Any other queue is a rank of its own.
		if last := len(p.ranks) - 1; last >= 0 && s.weight > 0 && p.ranks[last][0].weight > 0 {
			p.ranks[last] = append(p.ranks[last], s)
		} else {
			p.ranks = append(p.ranks, []*source{s})
		}
	}
	return nil
}

func (s *served[T]) opens(p *pool) (*source, error) {
	q := s.q
	err := errNoQueue
	if q != nil {
		err = q.usable(p.taking)
	}
	if err == nil && s.handler == nil {
		err = fmt.Errorf("%w: no handler", ErrInvalidArgument)
	}
	var of *serving
	if err == nil {
		of, err = q.serving(append([]ServeOption{WithConcurrency(p.n)}, s.opts...))
	}
	if err != nil {
		if q != nil {
			err = q.failed("serve", err)
		}
		return nil, err
	}
	of.prefetch = 0
	w := &server[T]{q: q, s: of, handler: s.handler, base: p.base, taking: p.taking, c: q.consumer(unique.Make(of.policy())), t: newTaker(0, true)}
	w.t.news = p.news
	src := &source{
		name: q.name, c: w.c, t: w.t, most: min(of.concurrency, p.n), handle: w.handle, awaits: w.workers.Wait,
		failed: func(err error) error { return q.failed("serve", err) }, leave: func() { q.done(w.c) },
	}
	w.freed = func(n int) {
		p.mu.Lock()
		p.busy -= n
		src.busy -= n
		p.mu.Unlock()
		p.poke()
	}
	if of.limiter != nil {
		src.limited, src.used = true, make(chan struct{}, 1)
		got := func() {
			p.mu.Lock()
			src.turn = true
			p.mu.Unlock()
			p.poke()
		}
		src.admits = func(fail func(error)) { w.turns(nil, got, src.used, fail) }
	}
	p.grace = max(p.grace, of.grace)
	return src, nil
}
