package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson/internal/blocked"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Take takes the head, and waits for one while the queue is empty. Only ctx ends
// the wait; Take waits for a silent server for a watchdog timeout.
//
// The waiters of a process share a connection for each server, also for many
// queues, and are served in the order in which they came. If ctx ends, Take takes
// nothing, and nothing is lost by that: a pop does not end with its caller, and an
// element without a caller is put back at the head. A connection that breaks can lose
// the element that it was transferring; the wait continues then. If ctx ends after a command
// that failed, because no server was reached or one refused to answer, the error also wraps
// rueidisson.ErrUnreached. If a server is silent and nothing has failed yet, the error is that
// of ctx alone.
//
// Cost: one command, and if the queue is empty a share of one that blocks. Errors: [ErrDecode]; ctx's error and cause,
// with [ErrOutcomeUnknown] if an answer was lost as ctx ended, which may have brought an element;
// [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source: RBlockingQueue.take, poll(timeout).
func (q *Queue[T]) Take(ctx context.Context) (T, error) { return q.q.take(ctx, head) }

// TakeLast takes the tail, as [Queue.Take] does the head, on a second connection. Source: RBlockingDeque.takeLast.
func (q *Queue[T]) TakeLast(ctx context.Context) (T, error) { return q.q.take(ctx, tail) }

// TakeAny takes the head of one of several queues of a client, and returns which queue it was: the
// first in their order that has an element, or the first to get one. It waits while all are empty,
// as [Queue.Take] does: only ctx ends the wait. On a cluster the queues may be in any slots.
//
// Cost: one command for each run of queues in one slot, and for all on a server that is no cluster;
// if they are empty also a share of one that blocks.
// Errors: as [Queue.Take]; [ErrInvalidArgument] for no queues, and for queues of several clients.
// Source: RBlockingQueue.pollFromAny.
func TakeAny[T any](ctx context.Context, qs ...*Queue[T]) (v T, from *Queue[T], err error) {
	if err = together(qs); err != nil {
		return v, nil, fmt.Errorf("take from any queue: %w", err)
	}
	byKey := make(map[string]*Queue[T], len(qs))
	for _, q := range qs {
		if err = q.q.Usable(ctx); err != nil {
			return v, nil, q.q.Failed("take from", err)
		}
		byKey[q.q.Key] = q
	}
	longest, distinct := int64(0), make([]string, 0, len(byKey))
	for _, q := range qs {
		longest = max(longest, q.q.seen.most())
		if !slices.Contains(distinct, q.q.Key) {
			distinct = append(distinct, q.q.Key)
		}
	}
	key, it, err := qs[0].q.h.take(ctx, head, distinct, longest)
	from = byKey[key]
	if err != nil {
		return v, nil, fmt.Errorf("take from any queue: %w", err)
	}
	from.q.seen.saw(it)
	v, err = from.q.decode(it.Text)
	from.q.took(ctx, 1, err)
	return v, from, from.q.Failed("take from", err)
}

// together refuses queues that nobody can wait for at once.
func together[T any](qs []*Queue[T]) error {
	if len(qs) == 0 {
		return fmt.Errorf("%w: no queues", ErrInvalidArgument)
	}
	for _, q := range qs {
		if q == nil {
			return fmt.Errorf("%w: a nil queue", ErrInvalidArgument)
		}
		if q.q.h != qs[0].q.h {
			return fmt.Errorf("%w: queues %q and %q are of different clients", ErrInvalidArgument, qs[0].q.Name, q.q.Name)
		}
	}
	return nil
}

// Consume takes element after element, as [Queue.Take] does, until ctx ends or the
// loop is left; what was not yielded was not taken. If an element does not decode, Consume
// yields [ErrDecode] and continues. Any other error, that of ctx too, is the last.
//
// Source: RBlockingQueue.subscribeOnElements.
func (q *Queue[T]) Consume(ctx context.Context) iter.Seq2[T, error] {
	return consume(ctx, func(ctx context.Context) (T, error) { return q.q.take(ctx, head) })
}

func consume[T any](ctx context.Context, take func(context.Context) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			v, err := take(ctx)
			over := err != nil && !errors.Is(err, ErrDecode)
			if err != nil && !over {
				err = core.Notice(err)
			}
			if !yield(v, err) || over {
				return
			}
		}
	}
}

// unserved has the reasons for which a caller was not served, by keys.
type unserved map[string]error

// take takes an element from one of the queues with these keys, and waits for one. Longest has the bytes
// of the longest element that those queues are known to have had.
func (h *hub) take(ctx context.Context, from *end, keys []string, longest int64) (key string, it poller.Item, err error) {
	if len(keys) == 1 {
		it, done, err := h.first(ctx, from, keys[0], longest)
		if done {
			return keys[0], it, err
		}
		return h.wait(ctx, from, keys, longest, unserved{keys[0]: err})
	}
	var free []string // for which nobody waits who was here first
	for _, key := range keys {
		if !h.poller.Waiting(from.kind, key) {
			free = append(free, key)
		}
	}
	failed, began := make(unserved), time.Now()
	for len(free) > 0 && ctx.Err() == nil {
		n := 1
		for n < len(free) && h.e.Slot(free[n]) == h.e.Slot(free[0]) {
			n++
		}
		key, items, err := h.popAny(ctx, from, free[:n], longest)
		if len(items) > 0 {
			return key, items[0], nil
		}
		err, over := h.unpopped(ctx, keys, err, began)
		if over {
			return "", it, err
		}
		for _, key := range free[:n] {
			failed[key] = err
		}
		free = free[n:]
	}
	return h.wait(ctx, from, keys, longest, failed)
}

// first takes an element that is there, unless others wait for one, who were here
// first. If it is not done, err is why the server did not serve the caller.
func (h *hub) first(ctx context.Context, from *end, key string, longest int64) (it poller.Item, done bool, err error) {
	if h.poller.Waiting(from.kind, key) {
		return it, false, nil
	}
	began := time.Now()
	items, err := h.pop(ctx, from, key, longest)
	if len(items) > 0 {
		return items[0], true, nil
	}
	err, over := h.unpopped(ctx, []string{key}, err, began)
	return it, over, err
}

// unpopped judges a pop that brought nothing, for a caller that has waited for one of the keys since began. It
// reports whether that ends the wait. If ctx has ended, the error says whether the server was reached.
func (h *hub) unpopped(ctx context.Context, keys []string, err error, began time.Time) (_ error, over bool) {
	switch over = ctx.Err() != nil; {
	case err == nil:
		return nil, false
	case over && errors.Is(err, ErrOutcomeUnknown):
		return send.Unanswered(ctx, err), true
	case over && blocked.Passes(err):
		return send.Unanswered(ctx, h.whyUnserved(keys, began)), true
	case !over && errors.Is(err, ErrOutcomeUnknown): // the wait goes on, and others may be told of what failed
		err = cmp.Or(h.whyUnserved(keys, began), err)
	}
	return err, over || !blocked.Passes(err)
}

// wait stands in line for an element of one of the queues with these keys.
func (h *hub) wait(ctx context.Context, from *end, keys []string, longest int64, failed unserved) (key string, it poller.Item, err error) {
	got, ended := h.await(ctx, from, keys, longest, failed)
	switch {
	case !ended:
		return got.Key, got.Item, got.Err
	case ctx.Err() != nil:
		return "", it, send.Unanswered(ctx, got.Err)
	}
	return "", it, ErrClosed
}

// await stands in line, of a caller whom the server did not serve for some of the keys. Ended says that ctx
// or the client has ended and nothing was taken. Then got has only an error: why the server did not serve.
func (h *hub) await(ctx context.Context, from *end, keys []string, longest int64, failed unserved) (got poller.Taken, ended bool) {
	return h.poller.Await(ctx, h.poller.JoinFor(from.kind, longest, failed, keys...))
}
