package queue

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Queue is a handle on the queue of one name, which Redisson's RQueue, RDeque,
// RBlockingQueue and RBlockingDeque share. It keeps no elements, so it may be used by
// any number of goroutines, and any number of handles on one name are the same
// queue.
type Queue[T any] struct {
	common
	q *handle[T]
}

// New returns a handle on the queue of that name, which is a deque, too.
func New[T any](c Client, name string, opts ...Option) *Queue[T] {
	e := c.Engine()
	q := newHandle[T](e, "queue", name, whole.Alone, opts)
	return &Queue[T]{common{&q.base}, q}
}

// Offer puts elements at the tail, in their order, and returns how many the queue has
// then. Up to 5,000 of them or 1 MB are offered together. More are offered in parts, one
// after the other, and after an error the first of them may have been offered.
// Without elements it is [Queue.Len].
//
// Cost: one command for each part, or a share of one. Errors: [ErrOutcomeUnknown], also if ctx ends before the answer;
// [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RQueue.add,
// RBlockingQueue.put.
func (q *Queue[T]) Offer(ctx context.Context, v ...T) (size int64, err error) {
	return q.q.offer(ctx, "offer to", rpush, v)
}

// OfferFirst puts elements at the head, one after the other, so that the last of them is the head
// then, and returns how many the queue has.
//
// Cost and errors: as [Queue.Offer]. Source: RDeque.addFirst.
func (q *Queue[T]) OfferFirst(ctx context.Context, v ...T) (size int64, err error) {
	return q.q.offer(ctx, "offer first to", lpush, v)
}

// OfferIfExists puts elements at the tail if the queue is not empty, and returns how many there are
// then: 0 if it was, and nothing was offered.
//
// Cost and errors: as [Queue.Offer]. Source: RDeque.addLastIfExists.
func (q *Queue[T]) OfferIfExists(ctx context.Context, v ...T) (size int64, err error) {
	return q.q.offer(ctx, "offer to", rpushx, v)
}

// Poll takes the head, or returns [ErrEmpty].
//
// It is sent once. After [ErrOutcomeUnknown] an element may have been taken, and is lost
// then. If ctx ends, Poll takes none: an element on its way is put back at the head,
// perhaps after others were taken meanwhile. An element that does not decode is
// removed from the queue; Poll then returns a *[codec.DecodeError], which has its bytes.
//
// Cost: a share of one command. Errors: [ErrEmpty]; [ErrDecode]; as [Queue.Offer]. Source: RQueue.poll.
func (q *Queue[T]) Poll(ctx context.Context) (T, error) { return q.q.poll(ctx, head) }

// PollLast takes the tail, as [Queue.Poll] does the head. Source: RDeque.pollLast.
func (q *Queue[T]) PollLast(ctx context.Context) (T, error) { return q.q.poll(ctx, tail) }

// PollN takes up to n elements from the head, or returns [ErrEmpty]. Elements that do not decode
// are left out; PollN then returns the others together with an error. So it does if the further
// elements fail.
//
// A handle remembers the longest element that it has seen lately. One command takes as many
// elements as make about a megabyte if each is that long. Between two commands others may take
// some. PollN never waits for elements; ctx bounds the calls.
//
// Cost: one command for each 5,000 elements or megabyte. A handle that has seen no element begins
// with 1, 4, 16 and 64 elements, by a command for each. Errors: as [Queue.Poll]. Source:
// RQueue.poll(limit).
func (q *Queue[T]) PollN(ctx context.Context, n int) ([]T, error) {
	return q.q.pollN(ctx, n, q.q.popsFrom(ctx, head))
}

// Peek returns the head and leaves it there, or [ErrEmpty]. Cost: one command. Errors: [ErrEmpty]; as [Queue.Len];
// [ErrDecode]. Source: RQueue.peek.
func (q *Queue[T]) Peek(ctx context.Context) (T, error) { return q.q.peek(ctx, "0") }

// PeekLast returns the tail and leaves it there, or [ErrEmpty].
//
// Cost and errors: as [Queue.Peek]. Source: RDeque.peekLast.
func (q *Queue[T]) PeekLast(ctx context.Context) (T, error) { return q.q.peek(ctx, "-1") }

// MoveTo takes the head, puts it at the tail of another queue of this client, and
// returns it, or [ErrEmpty]. It may be the same queue, which turns then. On a
// cluster both share a hash tag, such as a:{1} and b:{1}. What does not decode has
// been moved nevertheless.
//
// Cost: one command. Errors: [ErrEmpty]; [ErrDecode]; as [Queue.Offer]. Source: RDeque.move.
func (q *Queue[T]) MoveTo(ctx context.Context, other *Queue[T]) (T, error) {
	return q.q.moveTo(ctx, other)
}

// Remove removes up to n elements that are v, and returns how many it removed. It begins at the
// head, or at the tail if n is negative; 0 removes all of them. It compares bytes, not values: a
// codec may have several for one value.
//
// Cost: one command, which looks at every element until it has found them. Errors: as [Queue.Offer]. Source:
// RQueue.remove, removeLastOccurrence.
func (q *Queue[T]) Remove(ctx context.Context, v T, n int) (int64, error) {
	return q.q.remove(ctx, lrem, []string{q.q.Key}, v, decimal(int64(n)))
}

// Drain takes all elements from the head on: as many as the queue has when it begins.
// It takes 5,000 or about 1 MB at a time, so others may take some in between. If an error
// occurs, Drain returns it together with what was taken before it. Elements that do not decode
// are left out; Drain then returns the others together with an error.
//
// The first answer has one element. Each answer has time for the bytes of the one before.
// An element that arrives too slowly is lost: Drain then returns [ErrOutcomeUnknown].
//
// Cost: LLEN, and LPOP for each 5,000 or 1 MB; the first seven take less.
// Errors: as [Queue.Poll], but ErrEmpty. Source: RBlockingQueue.drainTo.
func (q *Queue[T]) Drain(ctx context.Context) ([]T, error) {
	return q.q.drain(ctx, q.q.popsFrom(ctx, head))
}

// Values walks the elements from the head on, and leaves them there. It looks at
// 1,000 or about 1 MB at a time: if others change the queue meanwhile it may miss
// some, and see some twice. If an element does not decode, Values yields [ErrDecode] and
// continues; another error ends the walk.
//
// Cost: LRANGE for each 1,000 or 1 MB; the first four read less. Errors: as
// [Queue.Peek], but ErrEmpty. Source: RQueue.readAll.
func (q *Queue[T]) Values(ctx context.Context) iter.Seq2[T, error] { return q.q.values(ctx) }
