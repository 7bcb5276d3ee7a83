package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/poller"
)

// Take takes the head, and waits for one while the queue is empty. Only ctx ends
// the wait; a server that does not answer is borne for a watchdog timeout.
//
// Those of a process who wait share a connection for each server, also for many
// queues, and are served in the order in which they came. A ctx that ends takes
// nothing, and nothing is lost by it: a pop never ends with its caller, and what
// it brings for nobody goes back to the head. A connection that breaks can lose
// what it was bringing; the wait goes on then. If ctx ends while the server is not
// reached, its error wraps rueidisson.ErrUnreached, too.
//
// Cost: one command, and if the queue is empty a share of one that blocks. Wire:
// LPOP, BLPOP, CLIENT UNBLOCK. Errors: [ErrDecode]; ctx's error and cause;
// [ErrOption]; [ErrClosed]; Redis' and the network's. Source: RBlockingQueue.take,
// poll(timeout).
func (q *Queue[T]) Take(ctx context.Context) (T, error) { return q.q.take(ctx, head) }

// TakeLast takes the tail, as [Queue.Take] does the head, on a second connection.
// Wire: RPOP, BRPOP, CLIENT UNBLOCK. Source: RBlockingDeque.takeLast.
func (q *Queue[T]) TakeLast(ctx context.Context) (T, error) { return q.q.take(ctx, tail) }

// TakeAny takes the head of one of several queues of a client, and returns which
// one it was: of the first that has one, in their order, or of that which is the
// first to have one. See [Queue.Take]; on a cluster the queues may be in any slots.
//
// Cost: one command for all queues that are behind each other in one slot, of a server
// that is no cluster for all, and if they are empty a share of one that blocks. Wire:
// LMPOP, BLPOP, CLIENT UNBLOCK. Source: RBlockingQueue.pollFromAny.
func TakeAny[T any](ctx context.Context, qs ...*Queue[T]) (v T, from *Queue[T], err error) {
	if err = together(qs); err != nil {
		return v, nil, fmt.Errorf("take from any queue: %w", err)
	}
	byKey := make(map[string]*Queue[T], len(qs))
	for _, q := range qs {
		if err = q.q.usable(ctx); err != nil {
			return v, nil, q.q.failed("take from", err)
		}
		byKey[q.q.key] = q
	}
	key, it, err := qs[0].q.h.take(ctx, head, distinct(qs), &qs[0].q.seen)
	from = byKey[key]
	if err != nil {
		return v, nil, fmt.Errorf("take from any queue: %w", err)
	}
	from.q.seen.saw(it.Text)
	v, err = from.q.decode(it.Text)
	from.q.took(ctx, 1, err)
	return v, from, from.q.failed("take from", err)
}

// together refuses queues that nobody can wait for at once.
func together[T any](qs []*Queue[T]) error {
	if len(qs) == 0 {
		return fmt.Errorf("%w: no queues", ErrOption)
	}
	for _, q := range qs {
		if q == nil {
			return fmt.Errorf("%w: a nil queue", ErrOption)
		}
		if q.q.h != qs[0].q.h {
			return fmt.Errorf("%w: queues %q and %q are of different clients", ErrOption, qs[0].q.name, q.q.name)
		}
	}
	return nil
}

func distinct[T any](qs []*Queue[T]) (keys []string) {
	for _, q := range qs {
		if !slices.Contains(keys, q.q.key) {
			keys = append(keys, q.q.key)
		}
	}
	return keys
}

// Consume takes element after element, as [Queue.Take] does, until ctx ends or the
// loop is left; what was not yielded was not taken. An element that does not decode
// is an [ErrDecode], and the sequence goes on. Any other error, that of ctx too, is
// the last.
//
// Source: RBlockingQueue.subscribeOnElements.
func (q *Queue[T]) Consume(ctx context.Context) iter.Seq2[T, error] {
	return consume(ctx, func(ctx context.Context) (T, error) { return q.q.take(ctx, head) })
}

func (q *handle[T]) take(ctx context.Context, from *end) (v T, err error) {
	var it poller.Item
	if err = q.usable(ctx); err == nil {
		_, it, err = q.h.take(ctx, from, []string{q.key}, &q.seen)
	}
	if err == nil {
		q.seen.saw(it.Text)
		v, err = q.decode(it.Text)
		q.took(ctx, 1, err)
	}
	return v, q.failed("take from", err)
}

func consume[T any](ctx context.Context, take func(context.Context) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			v, err := take(ctx)
			over := err != nil && !errors.Is(err, ErrDecode)
			if err != nil && !over {
				err = engine.Notice(err)
			}
			if !yield(v, err) || over {
				return
			}
		}
	}
}

// take takes an element from one of the queues with these keys, and waits for one.
func (h *hub) take(ctx context.Context, from *end, keys []string, like *lengths) (key string, it poller.Item, err error) {
	if len(keys) == 1 {
		if it, done, err := h.first(ctx, from, keys[0], like); done {
			return keys[0], it, err
		}
		return h.wait(ctx, from, keys)
	}
	var free []string // for which nobody waits who was here first
	for _, key := range keys {
		if !h.poller.Waiting(from.kind, key) {
			free = append(free, key)
		}
	}
	for len(free) > 0 {
		n := 1
		for n < len(free) && h.e.Slot(free[n]) == h.e.Slot(free[0]) {
			n++
		}
		key, items, err := h.popAny(ctx, from, free[:n])
		switch {
		case len(items) > 0:
			return key, items[0], nil
		case err != nil && !waitable(ctx, err):
			return free[0], it, err
		case errors.Is(err, ErrUnknown):
			h.e.Logger.Warn("an element may be lost: the answer that brought it was", "names", free[:n], "err", err)
		}
		free = free[n:]
	}
	return h.wait(ctx, from, keys)
}

// first takes an element that is there, unless others wait for one, who were here
// first.
func (h *hub) first(ctx context.Context, from *end, key string, like *lengths) (it poller.Item, done bool, err error) {
	if h.poller.Waiting(from.kind, key) {
		return it, false, nil
	}
	items, err := h.pop(ctx, from, key, like)
	switch {
	case len(items) > 0:
		return items[0], true, nil
	case err != nil && !waitable(ctx, err):
		return it, true, err
	case errors.Is(err, ErrUnknown):
		h.e.Logger.Warn("an element may be lost: the answer that brought it was", "name", key, "err", err)
	}
	return it, false, nil
}

// wait stands in line for an element of one of the queues with these keys.
func (h *hub) wait(ctx context.Context, from *end, keys []string) (key string, it poller.Item, err error) {
	got, ended := h.poller.Wait(ctx, from.kind, keys...)
	switch {
	case !ended:
		return got.Key, got.Item, got.Err
	case ctx.Err() != nil:
		return "", it, engine.Unanswered(ctx, got.Err)
	}
	return "", it, ErrClosed
}

// waitable reports whether a pop that failed is no reason not to wait.
func waitable(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (engine.Passing(err) || errors.Is(err, ErrUnknown)) && !errors.Is(err, ErrClosed)
}

// unwanted puts back what the poller has and nobody wants any more.
func (h *hub) unwanted(k *poller.Kind, key string, items []poller.Item) {
	h.putBack(endOf(k), key, items)
}
