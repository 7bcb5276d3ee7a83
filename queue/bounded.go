package queue

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
)

// BoundedQueue is a handle on the queue of one name that holds so many elements at
// most, which Redisson's RBoundedBlockingQueue shares. It keeps no elements, so it may
// be used by any number of goroutines, and any number of handles on one name are
// the same queue. Its name is that of no [Queue]: what a plain queue offers and
// takes is not counted.
type BoundedQueue[T any] struct{ q *bounded[T] }

// bounded is a handle that counts.
type bounded[T any] struct {
	*handle[T]
	channel string
	sharded string // whether scripts publish to sharded channels, too
}

// NewBounded returns a handle. Programs outside of this module call
// rueidisson.BoundedQueue.
func NewBounded[T any](e *engine.Engine, name string, opts ...Option) *BoundedQueue[T] {
	q := &bounded[T]{handle: newHandle[T](e, "bounded queue", name, counted, opts), sharded: "0"}
	q.channel = keys.BoundedChannel(q.key)
	if e.Publish() == "spublish" {
		q.sharded = "1"
	}
	return &BoundedQueue[T]{q}
}

// counted is the keys of a bounded queue.
func counted(key string) []string { return []string{key, keys.BoundedSlots(key)} }

// Name is the name that the handle was made with, before any mapping.
func (q *BoundedQueue[T]) Name() string { return q.q.name }

// TrySetCapacity sets how many elements there may be, unless that was set before,
// and reports whether it did.
//
// Cost: one script call. Wire: SET of redisson_bqs:{name} to the free slots.
// Errors: [ErrOption] for a capacity that is not from 1 to 2^31-1; ctx's error and
// cause; [ErrUnknown], if ctx ends before the answer; [ErrClosed]; Redis' and the
// network's. Source: RBoundedBlockingQueue.trySetCapacity.
func (q *BoundedQueue[T]) TrySetCapacity(ctx context.Context, n int) (bool, error) {
	return q.q.setCapacity(ctx, "set the capacity of", n, "0")
}

// Reconcile makes the free slots what they should be with that capacity, whatever
// they were: capacity minus [BoundedQueue.Len]. It changes a capacity, and brings
// slots back that are lost: a process of Java that dies between its take and its
// release leaves one occupied for ever. With more elements than the
// capacity there is no room until enough were taken.
//
// A slot that a take of Java is about to release is counted twice: call it while no
// Java process takes. Cost and errors: as
// [BoundedQueue.TrySetCapacity]. Redisson has none.
func (q *BoundedQueue[T]) Reconcile(ctx context.Context, capacity int) error {
	_, err := q.q.setCapacity(ctx, "reconcile", capacity, "1")
	return err
}

// Free is how many elements there is room for, or [ErrNoCapacity]. It is negative
// if there are more than the capacity allows. Cost: GET. Errors: [ErrNoCapacity]; as
// [BoundedQueue.Len]. Source: RBoundedBlockingQueue.remainingCapacity.
func (q *BoundedQueue[T]) Free(ctx context.Context) (int64, error) { return q.q.free(ctx) }

// Offer puts elements at the tail when there is room for all of them, and returns
// how many there are then. Only ctx ends the wait; a server that does not answer is
// borne for a watchdog timeout. Those of a process who wait for one queue are served
// in the order in which they came. For more elements than the capacity there is never
// room. At most 5,000 go at once.
//
// Cost: one script call; one for each message that there is room, and one in 5 s,
// while it is the first of its process that waits. Wire: RPUSH and DECRBY
// redisson_bqs:{name}; redisson_sc:redisson_bqs:{name} is listened to. Errors:
// [ErrNoCapacity]; [ErrUnknown]; [ErrOption]; ctx's error and cause; [ErrClosed];
// Redis' and the network's. Source: RBoundedBlockingQueue.put.
func (q *BoundedQueue[T]) Offer(ctx context.Context, v ...T) (size int64, err error) {
	return q.q.put(ctx, "RPUSH", v)
}

// OfferFirst puts elements at the head when there is room for all of them, one after the
// other, so that the last of them is the head then; see [BoundedQueue.Offer]. Wire: LPUSH.
// Redisson has none.
func (q *BoundedQueue[T]) OfferFirst(ctx context.Context, v ...T) (size int64, err error) {
	return q.q.put(ctx, "LPUSH", v)
}

// TryOffer puts an element at the tail if there is room now, or becomes within
// [WithWait], and else returns [ErrFull]. That is the server's answer: where it was not
// reached of late, the error is the last failure, or context.DeadlineExceeded. See
// [BoundedQueue.Offer]. Source: RBoundedBlockingQueue.offer.
func (q *BoundedQueue[T]) TryOffer(ctx context.Context, v T, opts ...TryOption) (size int64, err error) {
	return q.q.tryPut(ctx, "RPUSH", v, opts)
}

// TryOfferFirst puts an element at the head if there is room now, or becomes within
// [WithWait], and else returns [ErrFull]; see [BoundedQueue.OfferFirst].
func (q *BoundedQueue[T]) TryOfferFirst(ctx context.Context, v T, opts ...TryOption) (size int64, err error) {
	return q.q.tryPut(ctx, "LPUSH", v, opts)
}

// Poll takes the head and frees its slot, in one step, or returns [ErrEmpty]. It is
// sent once, and its answer is waited for also if ctx ends meanwhile, for as long as
// a call may take: nothing is taken for nobody.
//
// Cost: one script call. Wire: LPOP, INCRBY and PUBLISH; on a cluster with sharded
// channels SPUBLISH, too. Errors: [ErrEmpty]; [ErrDecode]; [ErrUnknown]; as
// [BoundedQueue.Offer]. Source: RBoundedBlockingQueue.poll.
func (q *BoundedQueue[T]) Poll(ctx context.Context) (T, error) { return q.q.poll(ctx) }

// PollN takes up to n elements, as [BoundedQueue.Poll] does one; see [Queue.PollN].
func (q *BoundedQueue[T]) PollN(ctx context.Context, n int) ([]T, error) { return q.q.pollN(ctx, n) }

// Peek returns the head and leaves it there, or [ErrEmpty]; see [Queue.Peek].
func (q *BoundedQueue[T]) Peek(ctx context.Context) (T, error) { return q.q.peek(ctx, "0") }

// Take takes the head and frees its slot, in one step, and waits for one while the
// queue is empty. Only ctx ends the wait; a server that does not answer is borne for a
// watchdog timeout. The callers of a process are served in the order in which they
// came; the first of them asks for all. When the server is being asked, the answer is
// waited for also if ctx ends meanwhile: nothing is taken for nobody. If that answer is
// lost, the error wraps [ErrUnknown], and an element may be lost with its slot free; of an
// answer that is lost while ctx lives only the log says so, and the wait goes on. If ctx
// ends behind a command that failed, the error wraps rueidisson.ErrUnreached; see
// [Queue.Take].
//
// Cost: one script call for up to 100 callers, and if the queue is empty one command
// that blocks, and two script calls for each element that is offered, in each process
// that waits. The command takes nothing, so that a connection that breaks frees or
// keeps no slot by mistake. Queues that are waited for have a connection each, up to
// those of rueidisson.WithBlockedConnections; beyond, they are polled. Wire: as
// [BoundedQueue.Poll], and BLMOVE name name LEFT LEFT, CLIENT UNBLOCK. Errors:
// [ErrDecode]; ctx's error and cause; [ErrUnknown]; [ErrOption]; [ErrClosed]; Redis'
// and the network's. Source: RBoundedBlockingQueue.take.
func (q *BoundedQueue[T]) Take(ctx context.Context) (T, error) { return q.q.take(ctx) }

// Consume takes element after element, as [BoundedQueue.Take] does; see
// [Queue.Consume].
func (q *BoundedQueue[T]) Consume(ctx context.Context) iter.Seq2[T, error] {
	return consume(ctx, q.q.take)
}

// Remove removes elements that are v and frees their slots, and returns how many
// there were, which Java gets wrong where one stands there twice; see
// [Queue.Remove].
func (q *BoundedQueue[T]) Remove(ctx context.Context, v T, n int) (int64, error) {
	return q.q.remove(ctx, v, n)
}

// Drain takes all elements and frees their slots, 5,000 or about 1 MB at a time; see [Queue.Drain].
func (q *BoundedQueue[T]) Drain(ctx context.Context) ([]T, error) { return q.q.drain(ctx) }

// Values walks the elements from the head on, and leaves them there; see
// [Queue.Values].
func (q *BoundedQueue[T]) Values(ctx context.Context) iter.Seq2[T, error] { return q.q.values(ctx) }

// Len is how many elements there are; see [Queue.Len].
func (q *BoundedQueue[T]) Len(ctx context.Context) (int64, error) { return q.q.length(ctx) }

// Delete deletes the queue and its capacity, and reports whether there was one; see
// [Queue.Delete].
func (q *BoundedQueue[T]) Delete(ctx context.Context) (bool, error) { return q.q.deleteAll(ctx) }

// Exists reports whether there is an element at all; see [Queue.Exists].
func (q *BoundedQueue[T]) Exists(ctx context.Context) (bool, error) { return q.q.exists(ctx) }

// Expire lets the whole queue go in d, with its capacity; see [Queue.Expire].
func (q *BoundedQueue[T]) Expire(ctx context.Context, d time.Duration) (bool, error) {
	return q.q.expire(ctx, d)
}

// Persist lets the queue stay, and reports whether it was to go; see
// [Queue.Persist].
func (q *BoundedQueue[T]) Persist(ctx context.Context) (bool, error) { return q.q.persist(ctx) }

// Remaining is how long the elements stay; see [Queue.Remaining].
func (q *BoundedQueue[T]) Remaining(ctx context.Context) (time.Duration, error) {
	return q.q.remaining(ctx)
}

// Rename gives the queue another name, with its capacity, over a queue that has it;
// see [Queue.Rename].
func (q *BoundedQueue[T]) Rename(ctx context.Context, to string) (bool, error) {
	return q.q.rename(ctx, to, counted, false)
}

// RenameIfAbsent is [BoundedQueue.Rename] if nothing has the new name; see
// [Queue.RenameIfAbsent].
func (q *BoundedQueue[T]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return q.q.rename(ctx, to, counted, true)
}

// Copy copies the queue, with its capacity, under another name if nothing has that; see [Queue.Copy].
func (q *BoundedQueue[T]) Copy(ctx context.Context, to string) (bool, error) {
	return q.q.copyTo(ctx, to, counted)
}

// ExpireAt is [BoundedQueue.Expire] at a time; see [Queue.ExpireAt].
func (q *BoundedQueue[T]) ExpireAt(ctx context.Context, at time.Time) (bool, error) {
	return q.q.expireAt(ctx, at)
}

// SizeInMemory is about how many bytes the queue takes on the server; see
// [Queue.SizeInMemory].
func (q *BoundedQueue[T]) SizeInMemory(ctx context.Context) (int64, error) {
	return q.q.sizeInMemory(ctx)
}

func (q *bounded[T]) setCapacity(ctx context.Context, op string, n int, anyway string) (done bool, err error) {
	if n < 1 || n > math.MaxInt32 {
		return false, q.failed(op, fmt.Errorf("%w: a capacity of %d: from 1 to %d", ErrOption, n, math.MaxInt32))
	}
	if err = q.usable(ctx); err == nil {
		done, err = engine.Writing(q.h.e, ctx, func() (bool, error) {
			return engine.Yes(q.once(ctx, boundedCapacity, q.channel, q.sharded, decimal(int64(n)), anyway))
		})
	}
	return done, q.failed(op, err)
}

func (q *bounded[T]) free(ctx context.Context) (n int64, err error) {
	if err = q.usable(ctx); err == nil {
		n, err = q.setting(ctx)
	}
	return n, q.failed("look at", err)
}

func (q *bounded[T]) poll(ctx context.Context) (v T, err error) {
	if err = q.usable(ctx); err == nil {
		v, err = q.one(q.seen.watch(q.pop(ctx, 1, q.seen.takes(1), nil)))
		q.took(ctx, 1, err)
	}
	return v, q.failed("poll", err)
}

func (q *bounded[T]) pollN(ctx context.Context, n int) ([]T, error) {
	return q.pollBy(ctx, n, func(n int, p pages) ([]string, error) { return q.pop(ctx, n, p, nil) })
}

// pop takes elements and frees their slots. Its answer is always waited for: what
// is put back would have no slot any more. Tell is called at each failed send, if it is not nil.
func (q *bounded[T]) pop(ctx context.Context, n int, p pages, tell func(why error)) (texts []string, err error) {
	during := q.h.e.During(func() {
		texts, err = engine.Texts(q.h.e.RunTold(ctx, p.expecting(boundedPoll), q.object, []string{q.channel, q.sharded, decimal(int64(n))}, tell))
	})
	if !during {
		return nil, ErrClosed
	}
	return texts, err
}

func (q *bounded[T]) drain(ctx context.Context) ([]T, error) {
	return q.drainBy(ctx, func(n int, p pages) ([]string, error) { return q.pop(ctx, n, p, nil) })
}

func (q *bounded[T]) remove(ctx context.Context, v T, n int) (gone int64, err error) {
	var texts []string
	if err = q.usable(ctx); err == nil {
		texts, err = q.encode(v)
	}
	if err == nil {
		gone, err = write(ctx, q.handle, engine.Number, boundedRemove, q.object, q.channel, q.sharded, decimal(int64(n)), texts[0])
	}
	return gone, q.failed("remove from", err)
}
