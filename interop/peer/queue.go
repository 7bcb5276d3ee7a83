package peer

import (
	"context"
	"strconv"
	"time"
)

// Queue is an RQueue of Redisson, or what is made of one, as one Java thread uses it.
type Queue struct{ object }

// Queue returns the queue of that name with a codec of its own, used by the thread. Kind is queue, deque, blockingqueue,
// blockingdeque, boundedqueue or delayedqueue; an operation that it does not have is an error. Codecs are named as in [Options]; ""
// is the one of the options.
func (p *Peer) Queue(kind, thread, name, codec string) Queue {
	return Queue{p.mapOf(kind, thread, name, codec)}
}

// Add puts an element at the tail.
func (q Queue) Add(ctx context.Context, v Datum) (bool, error) { return q.truth(ctx, "add", v) }

// Offer is Add that says whether there was room.
func (q Queue) Offer(ctx context.Context, v Datum) (bool, error) { return q.truth(ctx, "offer", v) }

// Poll takes the head, null for none.
func (q Queue) Poll(ctx context.Context) (Datum, error) { return q.datum(ctx, "poll") }

// Peek returns the head, null for none.
func (q Queue) Peek(ctx context.Context) (Datum, error) { return q.datum(ctx, "peek") }

// Remove removes the first that is equal.
func (q Queue) Remove(ctx context.Context, v Datum) (bool, error) { return q.truth(ctx, "remove", v) }

// ReadAll returns all elements.
func (q Queue) ReadAll(ctx context.Context) ([]Datum, error) { return q.elements(ctx, "readAll") }

func (q Queue) elements(ctx context.Context, operation string, args ...any) ([]Datum, error) {
	reply, err := q.do(ctx, operation, args...)
	if err != nil {
		return nil, err
	}
	return reply.data()
}

// Size returns how many elements there are.
func (q Queue) Size(ctx context.Context) (int64, error) { return q.number(ctx, "size") }

// Delete removes the queue; false if there was none.
func (q Queue) Delete(ctx context.Context) (bool, error) { return q.truth(ctx, "delete") }

// AddFirst puts an element at the head of a deque.
func (q Queue) AddFirst(ctx context.Context, v Datum) error { return q.void(ctx, "addFirst", v) }

// PollLast takes the tail of a deque, null for none.
func (q Queue) PollLast(ctx context.Context) (Datum, error) { return q.datum(ctx, "pollLast") }

// PeekLast returns the tail of a deque, null for none.
func (q Queue) PeekLast(ctx context.Context) (Datum, error) { return q.datum(ctx, "peekLast") }

// RemoveLastOccurrence removes the last that is equal.
func (q Queue) RemoveLastOccurrence(ctx context.Context, v Datum) (bool, error) {
	return q.truth(ctx, "removeLastOccurrence", v)
}

// Put puts an element at the tail when there is room.
func (q Queue) Put(ctx context.Context, v Datum) error { return q.void(ctx, "put", v) }

// Take takes the head when there is one.
func (q Queue) Take(ctx context.Context) (Datum, error) { return q.datum(ctx, "take") }

// TakeLast takes the tail when there is one.
func (q Queue) TakeLast(ctx context.Context) (Datum, error) { return q.datum(ctx, "takeLast") }

// PollFor takes the head if one comes in time, else null.
func (q Queue) PollFor(ctx context.Context, wait time.Duration) (Datum, error) {
	return q.datum(ctx, "pollFor", wait)
}

// OfferFor puts an element at the tail if there is room in time.
func (q Queue) OfferFor(ctx context.Context, wait time.Duration, v Datum) (bool, error) {
	return q.truth(ctx, "offerFor", wait, v)
}

// DrainTo takes all elements.
func (q Queue) DrainTo(ctx context.Context) ([]Datum, error) { return q.elements(ctx, "drainTo") }

// TakeMany takes so many, one after the other, or fewer when one has not come for so long.
func (q Queue) TakeMany(ctx context.Context, count int, wait time.Duration) ([]Datum, error) {
	return q.elements(ctx, "takeMany", strconv.Itoa(count), wait)
}

// PutMany puts so many texts, with a number behind.
func (q Queue) PutMany(ctx context.Context, prefix string, count int) error {
	return q.void(ctx, "putMany", prefix, strconv.Itoa(count))
}

// TrySetCapacity says whether it was set.
func (q Queue) TrySetCapacity(ctx context.Context, n int) (bool, error) {
	return q.truth(ctx, "trySetCapacity", strconv.Itoa(n))
}

// RemainingCapacity returns how many elements there is room for.
func (q Queue) RemainingCapacity(ctx context.Context) (int64, error) {
	return q.number(ctx, "remainingCapacity")
}

// OfferIn puts an element into a delayed queue.
func (q Queue) OfferIn(ctx context.Context, delay time.Duration, v Datum) error {
	return q.void(ctx, "offerIn", delay, v)
}

// OfferMany puts so many texts, with a number behind, into a delayed queue, due at times from now to spread.
func (q Queue) OfferMany(ctx context.Context, prefix string, count int, spread time.Duration) error {
	return q.void(ctx, "offerMany", prefix, strconv.Itoa(count), spread)
}
