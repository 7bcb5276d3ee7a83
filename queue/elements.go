package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
)

// elements adds the type of the elements to a queue, and remembers how long they were.
type elements[E any] struct {
	base
	value func(poller.Item) (E, error)
	seen  lengths
}

// popping takes up to n elements. p has how many bytes they have if they are like those before.
type popping func(n int, p paging.Plan) ([]poller.Item, error)

// poll takes the element at an end.
func (q *elements[E]) poll(ctx context.Context, from *end) (v E, err error) {
	return q.pollOne(ctx, func() ([]poller.Item, error) { return q.h.pop(ctx, from, q.Key, q.seen.most()) })
}

// pollOne takes an element by a pop of one.
func (q *elements[E]) pollOne(ctx context.Context, pop func() ([]poller.Item, error)) (v E, err error) {
	if err = q.Usable(ctx); err == nil {
		v, err = q.one(pop())
		q.took(ctx, 1, err)
	}
	return v, q.Failed("poll", err)
}

// one returns the only element of an answer, or [ErrEmpty].
func (q *elements[E]) one(items []poller.Item, err error) (v E, _ error) {
	switch {
	case err != nil:
		return v, err
	case len(items) == 0:
		return v, ErrEmpty
	}
	q.seen.saw(items...)
	return q.value(items[0])
}

// all leaves out what does not decode, and tells.
func (q *elements[E]) all(items []poller.Item) ([]E, error) {
	vs := make([]E, 0, len(items))
	var undecoded []error
	for _, it := range items {
		if v, err := q.value(it); err != nil {
			undecoded = append(undecoded, err)
		} else {
			vs = append(vs, v)
		}
	}
	return vs, errors.Join(undecoded...)
}

// popsFrom pops up to n elements at an end, of about so many bytes as p has seen. ctx ends the wait as that of hub.pop.
func (q *elements[E]) popsFrom(ctx context.Context, from *end) popping {
	return func(n int, p paging.Plan) ([]poller.Item, error) {
		_, items, err := q.h.popBy(ctx, from, q.Key, func() (string, []poller.Item, error) {
			items, err := q.h.popNow(ctx, from, q.Key, n, p)
			return q.Key, items, err
		})
		return items, err
	}
}

// pollN takes up to n elements.
func (q *elements[E]) pollN(ctx context.Context, n int, pop popping) (vs []E, err error) {
	var items []poller.Item
	if err = q.Usable(ctx); err == nil {
		err = countable(n)
	}
	if err == nil {
		if items, err = q.popUpTo(int64(n), pop); err == nil && len(items) == 0 {
			err = ErrEmpty
		}
	}
	if len(items) > 0 {
		var bad error
		vs, bad = q.all(items)
		err = errors.Join(bad, err)
		q.took(ctx, len(items), nil)
	}
	return vs, q.Failed("poll", err)
}

// popUpTo takes up to n elements, about a megabyte at a time. What was taken before an error
// comes with it.
func (q *elements[E]) popUpTo(n int64, pop popping) (items []poller.Item, err error) {
	for p := q.seen.takes(n); n > 0; {
		p = p.UpTo(n)
		ask := p.N
		some, err := pop(int(ask), p)
		p.Saw(len(some), q.seen.saw(some...))
		items = append(items, some...)
		if n -= int64(len(some)); err != nil || int64(len(some)) < ask {
			return items, err
		}
	}
	return items, nil
}

// countable refuses a number of elements that a command cannot take.
func countable(n int) error {
	if n < 1 || n > math.MaxInt32 {
		return fmt.Errorf("%w: %d elements: from 1 to %d", ErrInvalidArgument, n, math.MaxInt32)
	}
	return nil
}

// drain takes as many elements as there are when it begins. What is decoded of an answer is forgotten before the next.
func (q *elements[E]) drain(ctx context.Context, pop popping) (vs []E, err error) {
	var undecoded []error
	n, err := q.length(ctx)
	if err != nil {
		return nil, err
	}
	p := q.seen.takes(n)
	for n > 0 && err == nil {
		p = p.UpTo(n)
		var items []poller.Item
		if items, err = pop(int(p.N), p); len(items) == 0 {
			break
		}
		p.Saw(len(items), q.seen.saw(items...))
		q.took(ctx, len(items), nil)
		some, bad := q.all(items)
		vs, undecoded, n = append(vs, some...), append(undecoded, bad), n-int64(len(items))
	}
	return vs, q.Failed("drain", errors.Join(append(undecoded, err)...))
}

// take takes the element at an end, and waits for one.
func (q *elements[E]) take(ctx context.Context, from *end) (v E, err error) {
	var it poller.Item
	if err = q.Usable(ctx); err == nil {
		_, it, err = q.h.take(ctx, from, []string{q.Key}, q.seen.most())
	}
	if err == nil {
		v, err = q.one([]poller.Item{it}, nil)
		q.took(ctx, 1, err)
	}
	return v, q.Failed("take from", err)
}

// page is how many elements a walk looks at, at a time, at most.
const page = 1000

// walk yields element after element. Window reads those from an index on.
func (q *elements[E]) walk(ctx context.Context, window func(at int64, p paging.Plan) ([]poller.Item, error)) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		p := q.seen.walks(page)
		for at := int64(0); ; {
			n := p.N
			items, err := []poller.Item(nil), q.Usable(ctx)
			if err == nil {
				items, err = window(at, p)
			}
			if err != nil {
				var none E
				yield(none, q.Failed("walk", err))
				return
			}
			for _, it := range items {
				if v, err := q.value(it); !yield(v, core.Notice(q.Failed("walk", err))) {
					return
				}
			}
			if int64(len(items)) < n {
				return
			}
			at += n
			p.Saw(len(items), q.seen.saw(items...))
		}
	}
}

// itemsOf returns the elements of a list.
func itemsOf(texts []string, err error) ([]poller.Item, error) {
	items := make([]poller.Item, len(texts))
	for i, text := range texts {
		items[i].Text = text
	}
	return items, err
}
