package queue

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Priority is a handle on the priority queue of one name, whose elements come
// by their scores, the lowest first: Redisson's RScoredSortedSet shares it. It keeps
// no elements, so it may be used by any number of goroutines, and any number of handles
// on one name are the same queue.
//
// Elements that are equal, in their bytes, are one: an offer of one that is there
// changes its score. Elements of one score come in the order of their bytes, not in
// that in which they were offered.
type Priority[T any] struct {
	common
	q *priority[T]
}

// Scored is an element of a [Priority] with its score.
type Scored[T any] struct {
	Value T       // the element
	Score float64 // the lowest is taken first
}

// NewPriority returns a handle on the priority queue of that name, whose elements come by their scores.
func NewPriority[T any](c Client, name string, opts ...Option) *Priority[T] {
	e := c.Engine()
	q := new(priority[T])
	q.coding = newCoding[T](&q.base, e, "priority queue", name, whole.Alone, opts)
	q.Type, q.count = "sorted set", zcard
	q.value = func(it poller.Item) (Scored[T], error) { // with its score also if it does not decode
		v, err := q.decode(it.Text)
		return Scored[T]{v, it.Score}, err
	}
	return &Priority[T]{common{&q.base}, q}
}

// Offer puts an element there with a score, a finite number, and reports whether it
// is a new one. One that is there already has that score from now on.
//
// Cost: one command. Errors: [ErrInvalidArgument], also for a score that is no finite number; [ErrOutcomeUnknown],
// which also ends a ctx that ends before the answer; ctx's error and cause; [ErrClosed]; Redis' and the network's.
// Source: RScoredSortedSet.add.
func (q *Priority[T]) Offer(ctx context.Context, v T, score float64) (added bool, err error) {
	n, err := q.q.offer(ctx, nil, []Scored[T]{{v, score}})
	return n > 0, err
}

// OfferAll offers several elements, as [Priority.Offer] does one, and returns how many are new. Up
// to 5,000 of them or 1 MB are offered together. More are offered in parts, one after the other,
// and after an error the first of them may have been offered.
//
// Cost: one command for each part. Errors: as [Priority.Offer]. Source: RScoredSortedSet.addAll.
func (q *Priority[T]) OfferAll(ctx context.Context, vs ...Scored[T]) (added int64, err error) {
	return q.q.offer(ctx, nil, vs)
}

// OfferIfAbsent offers an element if it is not there yet, and reports whether it did. An element
// that is there keeps its score.
//
// Cost and errors: as [Priority.Offer]. Source: RScoredSortedSet.addIfAbsent.
func (q *Priority[T]) OfferIfAbsent(ctx context.Context, v T, score float64) (added bool, err error) {
	n, err := q.q.offer(ctx, []string{"NX"}, []Scored[T]{{v, score}})
	return n > 0, err
}

// Poll takes the element of the lowest score, or returns [ErrEmpty].
//
// It is sent once. After [ErrOutcomeUnknown] an element may have been taken, and is lost
// then. If ctx ends, Poll takes none: an element on its way is put back with its score,
// unless it was offered again meanwhile, with another. An element that does not
// decode is removed from the queue; Poll then returns a *[codec.DecodeError], which has its
// bytes, together with its score.
//
// Polls of a process that come at the same time go out together. Cost: a share of one command. Errors: [ErrEmpty];
// [ErrDecode]; as [Priority.Offer]. Source: RScoredSortedSet.pollFirst, pollFirstEntry.
func (q *Priority[T]) Poll(ctx context.Context) (Scored[T], error) { return q.q.poll(ctx, lowest) }

// PollLast takes the element of the highest score, or returns [ErrEmpty], as [Priority.Poll] does
// for the lowest.
//
// Cost and errors: as [Priority.Poll]. Source: RScoredSortedSet.pollLast.
func (q *Priority[T]) PollLast(ctx context.Context) (Scored[T], error) {
	return q.q.poll(ctx, highest)
}

// PollN takes up to n elements of the lowest scores, or returns [ErrEmpty], as [Queue.PollN] does from the head. See
// [Priority.Poll]. Source: RScoredSortedSet.pollFirst(count).
func (q *Priority[T]) PollN(ctx context.Context, n int) ([]Scored[T], error) {
	return q.q.pollN(ctx, n, q.q.popsFrom(ctx, lowest))
}

// Take takes the element of the lowest score, and waits for one while there is none, as
// [Queue.Take] does. All such waiters of a process share a connection. The waiters of one queue are
// served in the order in which they came.
//
// Cost: one command, and if the queue is empty a share of one that blocks. Errors: [ErrDecode]; ctx's error and cause,
// with [ErrOutcomeUnknown] or rueidisson.ErrUnreached as those of [Queue.Take]; [ErrInvalidArgument]; [ErrClosed];
// Redis' and the network's. Source: RScoredSortedSet.takeFirst, pollFirst(timeout).
func (q *Priority[T]) Take(ctx context.Context) (Scored[T], error) { return q.q.take(ctx, lowest) }

// TakeLast takes the element of the highest score, as [Priority.Take] does the lowest, on a second connection. Source:
// RScoredSortedSet.takeLast.
func (q *Priority[T]) TakeLast(ctx context.Context) (Scored[T], error) {
	return q.q.take(ctx, highest)
}

// Consume takes element after element, as [Priority.Take] does; see
// [Queue.Consume].
func (q *Priority[T]) Consume(ctx context.Context) iter.Seq2[Scored[T], error] {
	return consume(ctx, q.Take)
}

// Peek returns the element of the lowest score and leaves it there, or [ErrEmpty]. Cost: one command. Errors:
// [ErrEmpty]; as [Priority.Len]; [ErrDecode]. Source: RScoredSortedSet.first, firstScore.
func (q *Priority[T]) Peek(ctx context.Context) (Scored[T], error) { return q.q.peek(ctx, "0") }

// PeekLast returns the element of the highest score and leaves it there, or [ErrEmpty].
//
// Cost and errors: as [Priority.Peek]. Source: RScoredSortedSet.last.
func (q *Priority[T]) PeekLast(ctx context.Context) (Scored[T], error) {
	return q.q.peek(ctx, "-1")
}

// Score returns the score of an element, and whether it is there. Cost: ZSCORE. Errors: as
// [Priority.Len]. Source: RScoredSortedSet.getScore.
func (q *Priority[T]) Score(ctx context.Context, v T) (score float64, there bool, err error) {
	return q.q.score(ctx, v)
}

// Remove removes elements, and returns how many were there. Bytes are compared, not values: a codec may have several
// for one value. Cost: one command. Errors: as [Priority.Offer]. Source: RScoredSortedSet.remove.
func (q *Priority[T]) Remove(ctx context.Context, v ...T) (int64, error) {
	return q.q.remove(ctx, v)
}

// Drain takes all elements from the lowest score on, 5,000 or about 1 MB at a time, as
// [Queue.Drain] does. It never waits for elements; ctx bounds the calls.
//
// Cost: ZCARD, and ZPOPMIN for each 5,000 or 1 MB; the first seven take less. Errors: as
// [Priority.Poll], but ErrEmpty.
func (q *Priority[T]) Drain(ctx context.Context) ([]Scored[T], error) {
	return q.q.drain(ctx, q.q.popsFrom(ctx, lowest))
}

// Values walks the elements from the lowest score on, and leaves them there. It looks
// at 1,000 or about 1 MB at a time: if others change the queue meanwhile it may miss
// some, and see some twice. If an element does not decode, Values yields [ErrDecode] and
// continues; another error ends the walk.
//
// Cost: ZRANGE for each 1,000 or 1 MB; the first four read less. Errors: as
// [Priority.Peek], but ErrEmpty. Source: RScoredSortedSet.entryRange.
func (q *Priority[T]) Values(ctx context.Context) iter.Seq2[Scored[T], error] {
	return q.q.walk(ctx, func(at int64, p paging.Plan) ([]poller.Item, error) {
		return whole.Read(ctx, &q.q.Object, scores, p.Expect(zrange), decimal(at), decimal(at+p.N-1), "WITHSCORES")
	})
}
