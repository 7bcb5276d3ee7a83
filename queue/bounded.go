package queue

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Bounded is a handle on the queue of one name that holds so many elements at
// most, which Redisson's RBoundedBlockingQueue shares. It keeps no elements, so it may
// be used by any number of goroutines, and any number of handles on one name are
// the same queue. Its name is that of no [Queue]: what a plain queue offers and
// takes is not counted.
type Bounded[T any] struct {
	common
	q *bounded[T]
}

var (
	boundedOffer    = scripts.Must(lua, "lua/bounded_offer.lua")
	boundedPoll     = scripts.Must(lua, "lua/bounded_poll.lua")
	boundedRemove   = scripts.Must(lua, "lua/bounded_remove.lua")
	boundedCapacity = scripts.Must(lua, "lua/bounded_capacity.lua")

	getCommand = scripts.NewCommand("GET", scripts.Reads)
)

// bounded is a handle that counts.
type bounded[T any] struct {
	*handle[T]
	channel string
	sharded string // whether scripts publish to sharded channels, too
}

// NewBounded returns a handle on the queue of that name that holds a bounded number of elements.
func NewBounded[T any](c Client, name string, opts ...Option) *Bounded[T] {
	e := c.Engine()
	handle := newHandle[T](e, "bounded queue", name, func(key string) []string { return []string{key, keys.BoundedSlots(key)} }, opts)
	q := &bounded[T]{handle: handle, sharded: "0"}
	q.channel = keys.BoundedChannel(q.Key)
	if e.Publish() == "spublish" {
		q.sharded = "1"
	}
	return &Bounded[T]{common{&q.base}, q}
}

// TrySetCapacity sets how many elements there may be, unless that was set before,
// and reports whether it did.
//
// Cost: one script call. Errors: [ErrInvalidArgument] for a capacity that is not from 1 to 2^31-1; ctx's error and
// cause; [ErrOutcomeUnknown], if ctx ends before the answer; [ErrClosed]; Redis' and the network's. Source:
// RBoundedBlockingQueue.trySetCapacity.
func (q *Bounded[T]) TrySetCapacity(ctx context.Context, n int) (bool, error) {
	return q.q.setCapacity(ctx, "set the capacity of", boundedCapacity, n, "0", q.q.channel, q.q.sharded)
}

// Reconcile makes the free slots what they should be with that capacity, whatever
// they were: capacity minus [Bounded.Len]. It changes a capacity, and brings
// slots back that are lost: a process of Java that dies between its take and its
// release leaves one occupied for ever. With more elements than the
// capacity there is no room until enough were taken.
//
// A slot that a take of Java is about to release is counted twice: call it while no
// Java process takes. Cost and errors: as
// [Bounded.TrySetCapacity]. Redisson has none.
func (q *Bounded[T]) Reconcile(ctx context.Context, capacity int) error {
	_, err := q.q.setCapacity(ctx, "reconcile", boundedCapacity, capacity, "1", q.q.channel, q.q.sharded)
	return err
}

// Free returns how many elements there is room for, or [ErrNoCapacity]. It is negative
// if there are more than the capacity allows. Cost: GET. Errors: [ErrNoCapacity]; as
// [Bounded.Len]. Source: RBoundedBlockingQueue.remainingCapacity.
func (q *Bounded[T]) Free(ctx context.Context) (int64, error) { return q.q.setting(ctx) }

// Offer puts elements at the tail when there is room for all of them, and returns how many there
// are then. Only ctx ends the wait; Offer waits for a silent server for a watchdog timeout. The
// waiters of a process for one queue are served in the order in which they came. For more elements
// than the capacity there is never room. At most 5,000 elements can be offered at once.
//
// Cost: one script call; one for each message that there is room, and one in 5 s, while it is the first of its process
// that waits. Errors: [ErrNoCapacity]; [ErrOutcomeUnknown]; [ErrInvalidArgument]; ctx's error and cause; [ErrClosed];
// Redis' and the network's. Source: RBoundedBlockingQueue.put.
func (q *Bounded[T]) Offer(ctx context.Context, v ...T) (size int64, err error) {
	return q.q.put(ctx, "RPUSH", v)
}

// OfferFirst puts elements at the head when there is room for all of them, one after the other, so
// that the last of them is the head then. Only ctx ends the wait. Redisson has none.
//
// Cost and errors: as [Bounded.Offer].
func (q *Bounded[T]) OfferFirst(ctx context.Context, v ...T) (size int64, err error) {
	return q.q.put(ctx, "LPUSH", v)
}

// TryOffer puts an element at the tail if there is room now, or becomes within [WithWait], and else
// returns [ErrFull]. ErrFull is the server's answer. If the last exchange with the server failed,
// the error is that failure, or context.DeadlineExceeded.
//
// Cost and other errors: as [Bounded.Offer]. Source: RBoundedBlockingQueue.offer.
func (q *Bounded[T]) TryOffer(ctx context.Context, v T, opts ...TryOption) (size int64, err error) {
	return q.q.tryPut(ctx, "RPUSH", v, opts)
}

// TryOfferFirst puts an element at the head if there is room now, or becomes within [WithWait], and
// else returns [ErrFull].
//
// Cost and other errors: as [Bounded.TryOffer].
func (q *Bounded[T]) TryOfferFirst(ctx context.Context, v T, opts ...TryOption) (size int64, err error) {
	return q.q.tryPut(ctx, "LPUSH", v, opts)
}

// Poll takes the head and frees its slot, in one step, or returns [ErrEmpty]. It is
// sent once. Poll waits for the answer even if ctx ends meanwhile, for as long as
// a call may take, so that no element is taken without a caller.
//
// Cost: one script call. Errors: [ErrEmpty]; [ErrDecode]; [ErrOutcomeUnknown]; as [Bounded.Offer]. Source:
// RBoundedBlockingQueue.poll.
func (q *Bounded[T]) Poll(ctx context.Context) (T, error) {
	return q.q.pollOne(ctx, func() ([]poller.Item, error) { return q.q.pop(ctx, 1, q.q.seen.takes(1), nil) })
}

// PollN takes up to n elements, as [Bounded.Poll] does one; see [Queue.PollN].
func (q *Bounded[T]) PollN(ctx context.Context, n int) ([]T, error) {
	return q.q.pollN(ctx, n, q.q.pops(ctx))
}

// Peek returns the head and leaves it there, or [ErrEmpty].
//
// Cost and errors: as [Queue.Peek].
func (q *Bounded[T]) Peek(ctx context.Context) (T, error) { return q.q.peek(ctx, "0") }

// Take takes the head and frees its slot, in one step, and waits for one while the
// queue is empty. Only ctx ends the wait; Take waits for a silent server for a
// watchdog timeout. The callers of a process are served in the order in which they
// came; the first of them asks the server for all. Take waits for the answer of a request under
// way even if ctx ends meanwhile, so that no element is taken without a caller. If ctx ends and
// that answer is lost, the error wraps [ErrOutcomeUnknown], and an element may be lost with its
// slot free. If an answer is lost while ctx lives, Take logs that and continues to wait. If
// ctx ends after a command that failed, the error wraps rueidisson.ErrUnreached; see
// [Queue.Take].
//
// Cost: one script call for up to 100 callers. If the queue is empty: one command that blocks, and
// in each process that waits two script calls for each element that is offered. The command takes
// nothing, so a connection that breaks neither frees nor keeps a slot by mistake. Queues with
// waiters have a connection each, up to those of rueidisson.WithBlockedConnections; beyond, they
// are polled. Errors: [ErrDecode]; ctx's error and cause; [ErrOutcomeUnknown];
// [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source: RBoundedBlockingQueue.take.
func (q *Bounded[T]) Take(ctx context.Context) (T, error) { return q.q.take(ctx) }

// Consume takes element after element, as [Bounded.Take] does; see
// [Queue.Consume].
func (q *Bounded[T]) Consume(ctx context.Context) iter.Seq2[T, error] {
	return consume(ctx, q.q.take)
}

// Remove removes elements that are v, as [Queue.Remove] does, frees their slots, and returns how
// many there were. Java returns a wrong number if an element is in the queue twice.
//
// Cost: one script call, which looks at every element until it has found them. Errors: as
// [Queue.Remove].
func (q *Bounded[T]) Remove(ctx context.Context, v T, n int) (int64, error) {
	return q.q.remove(ctx, boundedRemove, q.q.Keys, v, q.q.channel, q.q.sharded, decimal(int64(n)))
}

// Drain takes all elements and frees their slots, 5,000 or about 1 MB at a time, as [Queue.Drain]
// does. It never waits for elements; ctx bounds the calls.
//
// Cost: LLEN, and one script call for each 5,000 or 1 MB; the first seven take less. Errors: as
// [Bounded.Poll], but ErrEmpty.
func (q *Bounded[T]) Drain(ctx context.Context) ([]T, error) {
	return q.q.drain(ctx, q.q.pops(ctx))
}

// Values walks the elements from the head on, and leaves them there, as [Queue.Values] does.
//
// Cost and errors: as [Queue.Values].
func (q *Bounded[T]) Values(ctx context.Context) iter.Seq2[T, error] { return q.q.values(ctx) }

// pop takes elements and frees their slots. Its answer is always waited for: what
// is put back would have no slot any more. Tell is called at each failed send, if it is not nil.
func (q *bounded[T]) pop(ctx context.Context, n int, p paging.Plan, tell func(why error)) (items []poller.Item, err error) {
	during := q.h.e.During(func() {
		items, err = itemsOf(send.Texts(q.h.e.RunTold(ctx, p.Expect(boundedPoll), q.Keys, []string{q.channel, q.sharded, decimal(int64(n))}, tell)))
	})
	if !during {
		return nil, ErrClosed
	}
	return items, err
}

// pops pops elements for callers that are told of no failed send.
func (q *bounded[T]) pops(ctx context.Context) popping {
	return func(n int, p paging.Plan) ([]poller.Item, error) { return q.pop(ctx, n, p, nil) }
}
