package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Delayed is a handle on the delayed queue of one name: elements wait next to a
// [Queue] of the same name, and are moved to its tail when they are due. It keeps
// no elements, so it may be used by any number of goroutines, and any number of handles on one
// name are the same queue.
//
// Waiting elements are stored in one of two formats. Our own is the default: an element costs
// the server the logarithm of their number, whatever its delay. [WithRedissonFormat] chooses
// that of Redisson's RDelayedQueue. Each handle moves what is due in both. [Delayed.Len],
// [Delayed.Waiting], [Delayed.Remove] and [Delayed.Delete] see only elements in
// the handle's own format. Java sees, and moves, elements in Redisson's format. What is due in
// either is moved into the queue, where Java sees it.
//
// Only clients move what is due. A client that has offered does so until it is
// closed, also with elements of others. So does one that waits in
// [Delayed.Take], and one that runs [Delayed.Keep].
type Delayed[T any] struct{ q *delayed[T] }

// Waiting is an element that is not due yet, or was not moved yet.
type Waiting[T any] struct {
	Value T         // the element
	Due   time.Time // when it is moved into the queue, by the clocks of the clients
}

// delayed is a handle on what waits, and on where it goes.
type delayed[T any] struct {
	*handle[T]
	of delays
	to *Queue[T]
}

// NewDelayed returns a handle on the delayed queue of that name.
func NewDelayed[T any](c Client, name string, opts ...Option) *Delayed[T] {
	e := c.Engine()
	q := &delayed[T]{of: newDelays(e, e.Map(name)), to: New[T](e, name, opts...)}
	q.handle = newHandle[T](e, "delayed queue", name, func(string) []string { return q.of.object() }, opts)
	if cfg, err := resolve(opts); err == nil {
		q.of.shared = cfg.shared
	}
	return &Delayed[T]{q}
}

// Name returns the name that the handle was made with, before any mapping.
func (q *Delayed[T]) Name() string { return q.q.Name }

// Queue returns the queue that elements are moved to when they are due. Others may offer
// to it and take from it as they like.
func (q *Delayed[T]) Queue() *Queue[T] { return q.q.to }

// Offer lets an element wait for a delay, and returns how many wait then. It is due
// by the clock of this machine, as in Java, and to the millisecond: a client whose clock is
// ahead moves it earlier. An element with a delay of 0 is due at once, and is moved as any other.
//
// Calls of a process on one queue that come at the same time are sent together, in
// their order. An element is offered once, however often the call has to be sent.
//
// Cost: one script call; see [Delayed.Move] for what comes later. Errors: [ErrInvalidArgument] for a delay that is
// negative or ends beyond 2^53 ms since 1970; [ErrOutcomeUnknown] if the reply was lost again and again, or ctx ended
// before it: the element is there, or never will be; ctx's error and cause; [ErrClosed]; Redis' and the network's.
// Source: RDelayedQueue.offer.
func (q *Delayed[T]) Offer(ctx context.Context, v T, delay time.Duration) (size int64, err error) {
	return q.q.postpone(ctx, v, delay)
}

// Move moves elements that are due now to the queue, and returns how many it moved.
// Programs that offer or take need not call it. Data of another program that is no element is
// set aside, in a list of its own; Move reports it by one [ErrDecode] for each. It is not looked
// at again.
//
// Any number of clients, Go and Java, may do so at once: each element is moved once.
//
// Cost: one script call for 100 elements or 1 MB of each format. Our own format has no walks. Redisson's list has the
// elements in the order in which they were offered. One that is due out of that order costs the server a walk over the
// list, about 14 ns for each element that it passes. A call walks over 50,000 elements, or for one element: where
// delays are mixed and 100,000 wait, it moves one. Errors: [ErrDecode]; [ErrOutcomeUnknown]; as [Delayed.Offer].
// Redisson does it only automatically.
func (q *Delayed[T]) Move(ctx context.Context) (moved int64, err error) {
	return q.q.moveAll(ctx)
}

// Keep moves elements that are due until ctx ends, those of all clients, and returns ctx's
// error and cause. It is for fleets whose processes neither take by
// [Delayed.Take] nor live for as long as their elements wait. It continues while a server
// does not answer.
//
// Elements are moved when they are due, and at most 5 s late if a notification was lost. All
// that a client moves uses one timer.
//
// Cost: a subscription, and one script call when something is due and every 5 s. Errors: ctx's error and cause;
// [ErrClosed]; Redis', if a key is of another type, or if it refuses for a whole watchdog timeout, such as for want of
// memory or replicas. The first refusal is logged.
func (q *Delayed[T]) Keep(ctx context.Context) error { return q.q.keep(ctx) }

// Poll takes the head of the queue. If it is empty, what is due is moved first, and
// then it is [ErrEmpty] where nothing is. See [Queue.Poll]: what waits is not touched,
// while Java's RDelayedQueue.poll takes an element before its time, for which there is
// [Delayed.Remove].
//
// Cost: one command, and if the queue is empty one script call and another command.
// Errors: [ErrEmpty]; [ErrDecode]; [ErrOutcomeUnknown]; as [Delayed.Offer].
func (q *Delayed[T]) Poll(ctx context.Context) (T, error) { return q.q.poll(ctx) }

// Take takes the head of the queue, and waits for one while it is empty, as
// [Queue.Take] does. While it waits, this client moves what is due: see
// [Delayed.Keep].
//
// Errors: as [Queue.Take], and what ends [Delayed.Keep].
func (q *Delayed[T]) Take(ctx context.Context) (T, error) { return q.q.take(ctx) }

// Consume takes element after element, as [Delayed.Take] does; see
// [Queue.Consume].
func (q *Delayed[T]) Consume(ctx context.Context) iter.Seq2[T, error] {
	return consume(ctx, q.q.take)
}

// Remove removes elements equal to v before they are due, up to n of them, 0 for all,
// and returns how many it removed. An element that was moved already is in the queue:
// see [Queue.Remove]. Which of several equal elements is removed is not defined.
//
// Cost: one script call for each 100 that it removes, each for the logarithm of how many wait. With
// [WithRedissonFormat]: one for each 1,000 that wait and for each 16 that it removes, and the server walks to each of
// these. A call walks over 50,000 elements, or to one: where 100,000 wait, it removes one. Errors:
// [ErrOutcomeUnknown], since it is sent once; [ErrInvalidArgument] for an n below 0; as [Delayed.Offer]. Source:
// RDelayedQueue.remove.
func (q *Delayed[T]) Remove(ctx context.Context, v T, n int) (removed int64, err error) {
	return q.q.removeWaiting(ctx, v, n)
}

// Waiting walks the waiting elements, the first to be due first, and leaves them
// there. Elements that are moved or offered meanwhile may make it miss others. If an element
// does not decode, Waiting yields [ErrDecode] and continues; any other error is the last.
//
// Cost: one script call for each 1,000 or 1 MB; with [WithRedissonFormat] ZRANGE for each
// 1,000 or 1 MB; the first four read less. Errors: [ErrDecode]; ctx's error and
// cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source: RDelayedQueue.readAll,
// iterator, in another order.
func (q *Delayed[T]) Waiting(ctx context.Context) iter.Seq2[Waiting[T], error] {
	return q.q.waiting(ctx)
}

// Len returns how many elements wait, and does not count those that were moved: see
// [Queue.Len]. Cost: ZCARD, or LLEN. Errors: as [Queue.Len]. Source: RDelayedQueue.size.
func (q *Delayed[T]) Len(ctx context.Context) (int64, error) { return q.q.count(ctx) }

// Delete deletes the waiting elements, and reports whether there were some. With
// [WithRedissonFormat] it also deletes what was set aside. Elements that were moved stay in the
// queue. Cost: UNLINK. Errors: as [Delayed.Offer]. Source: RDelayedQueue.delete.
func (q *Delayed[T]) Delete(ctx context.Context) (there bool, err error) {
	if err = q.q.Usable(ctx); err == nil {
		there, err = whole.Write(ctx, &q.q.Object, send.Yes, whole.Unlink, q.q.of.waits())
	}
	return there, q.q.Failed("delete", err)
}

func (q *delayed[T]) postpone(ctx context.Context, v T, delay time.Duration) (size int64, err error) {
	var texts []string
	if err = q.Usable(ctx); err == nil {
		texts, err = q.encode(v)
	}
	due := q.h.e.Wall() + int64(math.Ceil(float64(delay)/float64(time.Millisecond))) // ms
	if err == nil && (delay < 0 || due > latest) {
		err = fmt.Errorf("%w: a delay of %v: from 0 to 2^53 ms after 1970", ErrInvalidArgument, delay)
	}
	if err == nil {
		size, err = send.Writing(q.h.e.Sender, ctx, func() (int64, error) {
			p := postponed{of: &q.of, due: due, id: pack(texts[0])}
			if !q.of.shared {
				p.id, p.text = newDelayID(texts[0]), texts[0]
			}
			return q.h.delayed.Do(context.Background(), q.of.waits()[0], p)
		})
		q.offered(ctx, 1, err)
	}
	return size, q.Failed("offer to", err)
}

func (q *delayed[T]) moveAll(ctx context.Context) (elements int64, err error) {
	var aside []error
	if err = q.Usable(ctx); err == nil {
		now := q.h.e.Wall()
		for more := true; more && err == nil; {
			var got moved
			got, err = send.Writing(q.h.e.Sender, ctx, func() (moved, error) { return q.h.move(ctx, &q.of, now) })
			more, elements = got.more, elements+got.elements
			for _, packed := range got.aside {
				_, err := q.unpacked(packed)
				aside = append(aside, err)
			}
			for range got.gone {
				aside = append(aside, &codec.DecodeError{Name: q.Name, Cause: errNoElement})
			}
		}
	}
	return elements, q.Failed("move what is due in", errors.Join(append(aside, err)...))
}

func (q *delayed[T]) keep(ctx context.Context) error {
	if err := q.Usable(ctx); err != nil {
		return q.Failed("keep", err)
	}
	keeping, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := q.h.movers.hold(&q.of, cancel)
	defer release()
	select {
	case <-ctx.Done():
		return q.Failed("keep", core.ContextError(ctx))
	case <-keeping.Done(): // it is not moved any more, or ctx has ended
		if ctx.Err() != nil {
			return q.Failed("keep", core.ContextError(ctx))
		}
		return q.Failed("keep", context.Cause(keeping))
	case <-q.h.e.Closing():
		return q.Failed("keep", ErrClosed)
	}
}

func (q *delayed[T]) poll(ctx context.Context) (v T, err error) {
	if err = q.Usable(ctx); err != nil {
		return v, q.Failed("poll", err)
	}
	items, err := q.h.pop(ctx, head, q.Key, q.seen.most())
	for got := (moved{more: true}); err == nil && len(items) == 0 && got.more && got.elements == 0; {
		got, err = send.Writing(q.h.e.Sender, ctx, func() (moved, error) { return q.h.move(ctx, &q.of, q.h.e.Wall()) })
		q.h.tellOf(&q.of, got)
		if err == nil {
			items, err = q.h.pop(ctx, head, q.Key, q.seen.most())
		}
	}
	v, err = q.one(items, err)
	q.took(ctx, 1, err)
	return v, q.Failed("poll", err)
}

func (q *delayed[T]) take(ctx context.Context) (v T, err error) {
	text, err := q.takeText(ctx)
	if err == nil {
		v, err = q.one([]poller.Item{{Text: text}}, nil)
		q.took(ctx, 1, err)
	}
	return v, q.Failed("take from", err)
}

func (q *delayed[T]) takeText(ctx context.Context) (string, error) {
	if err := q.Usable(ctx); err != nil {
		return "", err
	}
	it, done, err := q.h.first(ctx, head, q.Key, q.seen.most())
	if done {
		return it.Text, err
	}
	moving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := q.h.movers.hold(&q.of, cancel)
	defer release()
	got, over := q.h.await(moving, head, []string{q.Key}, q.seen.most(), unserved{q.Key: err})
	switch {
	case !over:
		return got.Item.Text, got.Err
	case ctx.Err() != nil:
		return "", send.Unanswered(ctx, got.Err)
	case moving.Err() != nil:
		return "", context.Cause(moving)
	}
	return "", ErrClosed
}

const (
	// looked is how many of those that wait are looked at, at a time.
	looked = 1000
	// walks is how many of them are removed at a time: the server walks to each.
	walks = 16
)

func (q *delayed[T]) removeWaiting(ctx context.Context, v T, n int) (removed int64, err error) {
	var texts []string
	if err = q.Usable(ctx); err == nil && n < 0 {
		err = fmt.Errorf("%w: %d elements: 0 or more", ErrInvalidArgument, n)
	}
	if err == nil {
		texts, err = q.encode(v)
	}
	left := int64(math.MaxInt64)
	if n > 0 {
		left = int64(n)
	}
	if err == nil && !q.of.shared {
		removed, err = q.removeOwn(ctx, texts[0], left)
		return removed, q.Failed("remove from", err)
	}
	for step := (removal{at: "0"}); err == nil && !step.over && removed < left; {
		step, err = whole.Write(ctx, &q.Object, removalOf, delayedRemove, []string{q.of.times, q.of.list},
			step.at, strconv.Itoa(looked), decimal(min(left-removed, walks)), texts[0], strconv.Itoa(mostWalked))
		removed += step.removed
	}
	return removed, q.Failed("remove from", err)
}

// removal is one step of a walk that removes.
type removal struct {
	removed int64
	at      string // where it goes on
	over    bool
}

func removalOf(got send.Answer, err error) (r removal, _ error) {
	if err != nil {
		return r, err
	}
	parts, err := got.ToArray()
	if err == nil {
		r.removed, err = parts[0].AsInt64()
	}
	if err == nil {
		r.at, err = parts[1].ToString()
	}
	if err == nil {
		r.over, err = parts[2].AsBool()
	}
	return r, err
}

func (q *delayed[T]) waiting(ctx context.Context) iter.Seq2[Waiting[T], error] {
	if !q.of.shared {
		return q.waitingOwn(ctx)
	}
	return func(yield func(Waiting[T], error) bool) {
		p := paging.Walk(page)
		for at := int64(0); ; {
			n := p.N
			all, err := q.upcoming(ctx, at, p)
			if err != nil {
				yield(Waiting[T]{}, q.Failed("walk", err))
				return
			}
			bytes := int64(0)
			for _, it := range all {
				bytes += int64(len(it.Member))
				w := Waiting[T]{Due: time.UnixMilli(int64(min(max(it.Score, -latest), latest)))}
				w.Value, err = q.unpacked(it.Member)
				if !yield(w, core.Notice(q.Failed("walk", err))) {
					return
				}
			}
			if int64(len(all)) < n {
				return
			}
			at += n
			p.Saw(len(all), bytes)
		}
	}
}

// upcoming returns packed elements and their times, from that place on.
func (q *delayed[T]) upcoming(ctx context.Context, at int64, p paging.Plan) ([]rueidis.ZScore, error) {
	if err := q.Usable(ctx); err != nil {
		return nil, err
	}
	return send.Reading(q.h.e.Sender, ctx, func() ([]rueidis.ZScore, error) {
		got, err := q.run(ctx, p.Expect(zrange), []string{q.of.times}, decimal(at), decimal(at+p.N-1), "WITHSCORES")
		if err != nil {
			return nil, err
		}
		return got.AsZScores()
	})
}

// unpacked returns the element in a packed one.
func (q *delayed[T]) unpacked(packed string) (v T, err error) {
	text, err := unpack(packed)
	if err != nil {
		return v, &codec.DecodeError{Name: q.Name, Bytes: []byte(packed), Cause: err}
	}
	return q.decode(text)
}

func (q *delayed[T]) count(ctx context.Context) (n int64, err error) {
	if err = q.Usable(ctx); err == nil {
		n, err = send.Reading(q.h.e.Sender, ctx, func() (int64, error) {
			if q.of.shared {
				return send.Number(q.run(ctx, llen, []string{q.of.list}))
			}
			return send.Number(q.run(ctx, zcard, []string{q.of.dues}))
		})
	}
	return n, q.Failed("count", err)
}
