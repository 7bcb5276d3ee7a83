package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Ring is a handle on the ring buffer of one name, which keeps so many of the
// newest elements and drops the oldest when more are offered: Redisson's RRingBuffer
// shares it. It keeps no elements, so it may be used by any number of goroutines, and any
// number of handles on one name are the same ring buffer.
//
// A ring buffer has no waits; a [Queue] of the same name can wait for those elements
// that were not dropped before.
type Ring[T any] struct {
	common
	q *ring[T]
}

// ring is a handle that keeps the newest.
type ring[T any] struct{ *handle[T] }

// NewRing returns a handle on the ring buffer of that name, which keeps the newest elements.
func NewRing[T any](c Client, name string, opts ...Option) *Ring[T] {
	e := c.Engine()
	q := newHandle[T](e, "ring buffer", name, func(key string) []string { return []string{key, keys.RingCapacity(key)} }, opts)
	return &Ring[T]{common{&q.base}, &ring[T]{q}}
}

// TrySetCapacity sets how many elements there may be, unless that was set before,
// and reports whether it did.
//
// Cost: one script call. Errors: [ErrInvalidArgument] for a capacity that is not from 1 to 2^31-1; ctx's error and
// cause; [ErrOutcomeUnknown], if ctx ends before the answer; [ErrClosed]; Redis' and the network's. Source:
// RRingBuffer.trySetCapacity.
func (q *Ring[T]) TrySetCapacity(ctx context.Context, n int) (bool, error) {
	return q.q.setCapacity(ctx, "set the capacity of", ringCapacity, n, "0")
}

// SetCapacity sets how many elements there may be, whatever that was, and drops the oldest of more. Cost and errors:
// as [Ring.TrySetCapacity]. Source: RRingBuffer.setCapacity.
func (q *Ring[T]) SetCapacity(ctx context.Context, n int) error {
	_, err := q.q.setCapacity(ctx, "set the capacity of", ringCapacity, n, "1")
	return err
}

// Capacity returns how many elements there may be, or [ErrNoCapacity]. Cost: GET. Errors:
// [ErrNoCapacity]; as [Ring.Len]. Source: RRingBuffer.capacity, which is 0 then.
func (q *Ring[T]) Capacity(ctx context.Context) (int64, error) { return q.q.setting(ctx) }

// Offer puts elements at the tail, in their order, and returns how many the buffer has
// then. It drops the oldest above the capacity. Up to 5,000 of
// them or 1 MB are offered together. More are offered in parts, one after the other, and
// after an error the first of them may have been offered. Without elements it is
// [Ring.Len].
//
// Offers of a process that come at the same time go out together, in their order. An
// element is offered once, however often the call has to be sent.
//
// Cost: one script call for each part, or a share of one. Errors: [ErrNoCapacity], and nothing was offered;
// [ErrOutcomeUnknown] if the reply was lost again and again, or ctx ended before it: the elements are there, or never
// will be; [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source:
// RRingBuffer.add.
func (q *Ring[T]) Offer(ctx context.Context, v ...T) (size int64, err error) {
	return q.q.offer(ctx, v)
}

// Poll takes the oldest element, or returns [ErrEmpty]. It is sent once. Poll waits for the
// answer even if ctx ends meanwhile, for as long as a call may take, so that no element is taken
// without a caller. After [ErrOutcomeUnknown] an element may be lost.
//
// Cost: one command. Errors: [ErrEmpty]; [ErrDecode]; [ErrOutcomeUnknown]; [ErrInvalidArgument]; ctx's error and
// cause; [ErrClosed]; Redis' and the network's. Source: RRingBuffer.poll.
func (q *Ring[T]) Poll(ctx context.Context) (T, error) {
	return q.q.pollOne(ctx, func() ([]poller.Item, error) { return q.q.pop(ctx, 1, q.q.seen.takes(1)) })
}

// PollN takes up to n of the oldest elements, as [Ring.Poll] does one; see
// [Queue.PollN].
func (q *Ring[T]) PollN(ctx context.Context, n int) ([]T, error) {
	return q.q.pollN(ctx, n, q.q.pops(ctx))
}

// Peek returns the oldest element and leaves it there, or [ErrEmpty].
//
// Cost and errors: as [Queue.Peek].
func (q *Ring[T]) Peek(ctx context.Context) (T, error) { return q.q.peek(ctx, "0") }

// PeekLast returns the newest element and leaves it there, or [ErrEmpty].
//
// Cost and errors: as [Queue.Peek].
func (q *Ring[T]) PeekLast(ctx context.Context) (T, error) { return q.q.peek(ctx, "-1") }

// Oldest returns up to n elements from the oldest on, and leaves them there. Elements that do
// not decode are left out; Oldest then returns the others together with an error.
//
// Cost: one script call for each 5,000 elements or megabyte. What is offered between two of them to a full buffer
// drops elements that were not read yet; they are left out, and new ones may come in their places. Errors:
// [ErrDecode]; as [Ring.Len]. Source: RRingBuffer.readOldest.
func (q *Ring[T]) Oldest(ctx context.Context, n int) ([]T, error) {
	return q.q.look(ctx, 0, n)
}

// Newest returns the newest n elements, or all if there are fewer, in the order in which they came,
// and leaves them there. Those of one script call were the newest at its moment.
//
// Cost and errors: as [Ring.Oldest]. Source: RRingBuffer.readNewest.
func (q *Ring[T]) Newest(ctx context.Context, n int) ([]T, error) {
	return q.q.look(ctx, -int64(n), n)
}

// Remove removes elements that are v, as [Queue.Remove] does, and returns how many there were.
//
// Cost and errors: as [Queue.Remove].
func (q *Ring[T]) Remove(ctx context.Context, v T, n int) (int64, error) {
	return q.q.remove(ctx, lrem, []string{q.q.Key}, v, decimal(int64(n)))
}

// Drain takes all elements from the oldest on, 5,000 or about 1 MB at a time, as [Queue.Drain]
// does. It never waits for elements; ctx bounds the calls.
//
// Cost and errors: as [Queue.Drain].
func (q *Ring[T]) Drain(ctx context.Context) ([]T, error) {
	return q.q.drain(ctx, q.q.pops(ctx))
}

// Values walks the elements from the oldest on, and leaves them there, as [Queue.Values] does.
//
// Cost and errors: as [Queue.Values].
func (q *Ring[T]) Values(ctx context.Context) iter.Seq2[T, error] { return q.q.values(ctx) }

// Clear drops all elements, and reports whether there were any; the capacity stays.
// Cost: UNLINK. Errors: as [Queue.Offer]. Source: RRingBuffer.clear.
func (q *Ring[T]) Clear(ctx context.Context) (there bool, err error) {
	if err = q.q.Usable(ctx); err == nil {
		there, err = whole.Write(ctx, &q.q.Object, send.Yes, whole.Unlink, q.q.Keys[:1])
	}
	return there, q.q.Failed("clear", err)
}

var (
	ringOffer    = scripts.Must(lua, "lua/ring_offer.lua")
	ringCapacity = scripts.Must(lua, "lua/ring_capacity.lua")
	lookScript   = scripts.Must(lua, "lua/ring_look.lua")
	ringLook     = send.Sized(lookScript, send.Sizing{})
)

func (q *ring[T]) offer(ctx context.Context, vs []T) (size int64, err error) {
	if err = q.Usable(ctx); err == nil && len(vs) == 0 {
		return q.length(ctx)
	}
	var texts []string
	if err == nil {
		texts, err = q.encode(vs...)
	}
	for err == nil && len(texts) > 0 {
		some := texts[:cut(texts)]
		texts = texts[len(some):]
		size, err = send.Writing(q.h.e.Sender, ctx, func() (int64, error) {
			return q.h.rings.Do(context.Background(), q.Key, some)
		})
		q.offered(ctx, len(some), err)
	}
	return size, q.Failed("offer to", err)
}

// sendToRing offers the elements of all calls, in order. Each call gets the number of elements
// up to the last of its own.
func (h *hub) sendToRing(key string, flight int, batch []*offerCall) error {
	if err := h.e.Open(); err != nil {
		return err
	}
	got, err := h.e.RunNumbered(keys.Lane(key, h.e.ClientID), flight, ringOffer, key, []string{keys.RingCapacity(key)}, joined(batch)...)
	switch {
	case err != nil:
		return err
	case len(got) != 2:
		return fmt.Errorf("%w: the script said %v", ErrOutcomeUnknown, got)
	case got[0] == -2:
		return ErrNoCapacity
	}
	answer(batch, got[1], got[0])
	return nil
}

// pop takes elements. Its answer is always waited for: what is put back would stand
// in for newer ones.
func (q *ring[T]) pop(ctx context.Context, n int, p paging.Plan) (items []poller.Item, err error) {
	during := q.h.e.During(func() {
		items, err = itemsOf(send.Texts(q.run(ctx, p.Expect(lpop), q.Keys[:1], decimal(int64(n)))))
	})
	if !during {
		return nil, ErrClosed
	}
	return items, err
}

func (q *ring[T]) pops(ctx context.Context) popping {
	return func(n int, p paging.Plan) ([]poller.Item, error) { return q.pop(ctx, n, p) }
}

// look reads up to n elements from an index on, about a megabyte at a time. What is offered
// meanwhile moves elements to lower indices: some may be missing. None is read twice, unless one is put back at
// the head meanwhile, by a Queue of that name.
func (q *ring[T]) look(ctx context.Context, at int64, n int) (vs []T, err error) {
	if err = q.Usable(ctx); err == nil {
		err = countable(n)
	}
	var all []poller.Item
	p := q.seen.takes(int64(n))
	for left, over := int64(n), false; err == nil && left > 0 && !over; {
		var part ringPart
		part, err = whole.Read(ctx, &q.Object, ringPartOf, p.Expect(ringLook), decimal(at), decimal(min(left, paging.Most)), decimal(paging.Bytes))
		all = append(all, part.items...)
		at, left, over = part.next, left-int64(len(part.items)), part.next < 0
		p.Saw(len(part.items), q.seen.saw(part.items...))
	}
	if err == nil {
		vs, err = q.all(all)
	}
	return vs, q.Failed("look at", err)
}

// ringPart has what one call read.
type ringPart struct {
	items []poller.Item
	next  int64 // the index at which the next call begins, or -1
}

func ringPartOf(got send.Answer, err error) (part ringPart, _ error) {
	var words []rueidis.RedisMessage
	if err == nil {
		words, err = got.ToArray()
	}
	if err == nil && len(words) == 0 {
		err = errors.New("an answer without an index")
	}
	if err != nil {
		return part, err
	}
	if part.next, err = words[0].AsInt64(); err != nil {
		return part, err
	}
	part.items = make([]poller.Item, len(words)-1)
	for i, word := range words[1:] {
		if part.items[i].Text, err = word.ToString(); err != nil {
			return part, err
		}
	}
	return part, nil
}
