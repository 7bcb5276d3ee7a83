package reliable

import (
	"context"
	"iter"
	"time"
	"unique"
)

// Receive waits for a message, and holds it for as long as this process lives, or until
// it is settled; see [Message]. The waiters of a process are served in turns. A message that
// was taken for a waiter that has left is given to the next waiter, or put back, untried.
//
// The wait ends with ctx. It ends with an error if the server does not answer for a watchdog timeout.
//
// Cost: one script call, shared with other settlements and takes of this process on the queue;
// another one for a further attempt if this client also runs [Queue.Serve]. While the queue is
// empty, one call every five seconds, and one connection for all subscriptions of the client.
// Errors: ctx's error and cause; [ErrOtherTerms]; [ErrInvalidArgument];
// [ErrClosed]; those of Redis.
func (q *Queue[T]) Receive(ctx context.Context) (*Message[T], error) {
	all, err := q.receive(ctx, 1)
	if err != nil {
		return nil, q.failed("receive from", err)
	}
	all[0].d.starts()
	return all[0], nil
}

// Poll takes a message if one is ready, and otherwise returns [ErrEmpty]. Cost: one script
// call, or two, as [Queue.Receive]. Errors: as there; [ErrOutcomeUnknown] if no answer came: a
// message that was taken is put back when the answer comes, or redelivered when its lease expires.
func (q *Queue[T]) Poll(ctx context.Context) (*Message[T], error) {
	m, err := q.poll(ctx)
	if err == nil {
		m.d.starts()
	}
	return m, q.failed("poll", err)
}

// Consume receives one message after the other, until the loop ends. The body of the loop has
// to settle each. The first error is the last. Cost and errors: as [Queue.Receive].
func (q *Queue[T]) Consume(ctx context.Context) iter.Seq2[*Message[T], error] {
	return func(yield func(*Message[T], error) bool) {
		if q.bad == nil { // what it hears stays between two messages
			defer q.done(q.consumer(q.policy))
		}
		for {
			m, err := q.Receive(ctx)
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// consumer returns who takes from the queue by that policy. Each is followed by one done.
func (q *Queue[T]) consumer(as unique.Handle[policy]) *consumer {
	return q.h.consumers.Get(consumerKey{q.of.key, as})
}

func (q *Queue[T]) done(c *consumer) { q.h.consumers.Put(c.key, c) }

// receive waits for a message, and takes up to n that are there.
func (q *Queue[T]) receive(ctx context.Context, n int) ([]*Message[T], error) {
	if err := q.usable(ctx); err != nil {
		return nil, err
	}
	c := q.consumer(q.policy)
	defer q.done(c)
	t := newTaker(n, true)
	c.join(t)
	defer c.leave(t)
	c.look()
	began := time.Now()
	o := q.h.e.Observer
	if o != nil {
		o.WaitStarted(ctx, label, q.of.key)
	}
	all, err := q.await(ctx, c, t)
	if o != nil {
		o.WaitEnded(ctx, label, q.of.key, time.Since(began), err)
		for range all {
			o.Acquired(ctx, label, q.of.key, false)
		}
	}
	return all, err
}

// await waits until t has a message that can be decoded.
func (q *Queue[T]) await(ctx context.Context, c *consumer, t *taker) (all []*Message[T], err error) {
	for {
		select {
		case <-t.news:
		case <-ctx.Done():
			return nil, c.unanswered(ctx)
		case <-q.h.e.Closing():
			return nil, ErrClosed
		}
		got, err := c.take(t)
		for _, d := range got {
			if m, good := q.handed(ctx, c, d); good {
				all = append(all, m)
				continue
			}
			c.wants(t, 1)
			c.look()
		}
		if len(all) > 0 {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// handed returns a delivery as the caller gets it. If a Serve of this client also takes, the
// delivery might have waited for a handler, so the server is told that it has not.
func (q *Queue[T]) handed(ctx context.Context, c *consumer, d *delivery) (*Message[T], bool) {
	if !d.begin(ctx, false) {
		c.giveBack([]*delivery{d})
		return nil, false
	}
	return q.message(d)
}

func (q *Queue[T]) poll(ctx context.Context) (*Message[T], error) {
	if err := q.usable(ctx); err != nil {
		return nil, err
	}
	c := q.consumer(q.policy)
	defer q.done(c)
	t := newTaker(1, false)
	c.join(t)
	defer c.leave(t)
	for {
		looked, err := q.h.steps.Do(ctx, c.key, ask{})
		got, failed := c.take(t)
		for _, d := range got {
			if m, good := q.handed(ctx, c, d); good {
				return m, nil
			}
			c.wants(t, 1)
		}
		switch {
		case err != nil:
			return nil, err
		case looked.err != nil:
			return nil, looked.err
		case failed != nil:
			return nil, failed
		case len(got) == 0 && !looked.more:
			return nil, ErrEmpty
		}
	}
}
