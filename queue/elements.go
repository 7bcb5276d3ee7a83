package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// mostWritten bounds the bytes of one command of several elements: the server
// does nothing else meanwhile.
const mostWritten = 1 << 20

// offer offers in as many commands as it takes.
func (q *handle[T]) offer(ctx context.Context, op string, push *scripts.Command, vs []T) (size int64, err error) {
	if err = q.usable(ctx); err != nil {
		return 0, q.failed(op, err)
	}
	if len(vs) == 0 {
		return q.length(ctx)
	}
	texts, err := q.encode(vs...)
	for err == nil && len(texts) > 0 {
		some := texts[:cut(texts)]
		texts = texts[len(some):]
		if size, err = q.offerSome(ctx, push, some); size == 0 {
			break // there is none to offer to
		}
		q.offered(ctx, len(some), err)
	}
	return size, q.failed(op, err)
}

// offerSome offers what goes out as one. A ctx that has ended tells nobody whether
// it did.
func (q *handle[T]) offerSome(ctx context.Context, push *scripts.Command, texts []string) (int64, error) {
	size, err := q.h.offers.Do(ctx, side{push, q.key}, texts)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrUnknown) {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return size, err
}

// cut is how many of some texts go out as one.
func cut(texts []string) int {
	size := 0
	for i, text := range texts {
		if size += len(text); i > 0 && size > mostWritten || i == mostInOne {
			return i
		}
	}
	return len(texts)
}

func (q *handle[T]) poll(ctx context.Context, from *end) (v T, err error) {
	if err = q.usable(ctx); err == nil {
		v, err = q.one(q.seen.watch(textsOf(q.h.pop(ctx, from, q.key, q.seen.most()))))
		q.took(ctx, 1, err)
	}
	return v, q.failed("poll", err)
}

// one is the only element of what was asked for, or that there is none.
func (q *handle[T]) one(texts []string, err error) (v T, _ error) {
	switch {
	case err != nil:
		return v, err
	case len(texts) == 0:
		return v, ErrEmpty
	}
	return q.decode(texts[0])
}

func (q *handle[T]) pollN(ctx context.Context, from *end, n int) ([]T, error) {
	return q.pollBy(ctx, n, func(n int, p pages) ([]string, error) { return textsOf(q.h.popMany(ctx, from, q.key, n, p)) })
}

// pollBy takes up to n elements by a pop of so many.
func (q *handle[T]) pollBy(ctx context.Context, n int, pop func(n int, p pages) ([]string, error)) (vs []T, err error) {
	var texts []string
	if err = q.usable(ctx); err == nil {
		err = countable(n)
	}
	if err == nil {
		texts, err = q.popUpTo(int64(n), pop)
		vs, err = q.some(texts, err)
		q.took(ctx, len(texts), nil)
	}
	return vs, q.failed("poll", err)
}

// popUpTo takes up to n elements, about a megabyte at a time. What was taken before an error
// comes with it.
func (q *handle[T]) popUpTo(n int64, pop func(n int, p pages) ([]string, error)) (texts []string, err error) {
	for p := q.seen.takes(n); n > 0; {
		p = p.upTo(n)
		ask := p.n
		some, err := pop(int(ask), p)
		p.saw(len(some), q.seen.saw(some...))
		texts = append(texts, some...)
		if n -= int64(len(some)); err != nil || int64(len(some)) < ask {
			return texts, err
		}
	}
	return texts, nil
}

// countable refuses a number of elements that a command cannot take.
func countable(n int) error {
	if n < 1 || n > math.MaxInt32 {
		return fmt.Errorf("%w: %d elements: from 1 to %d", ErrOption, n, math.MaxInt32)
	}
	return nil
}

// some decodes what several pops brought. It returns ErrEmpty if they brought nothing and did
// not fail, and the error that ended them beside the elements.
func (q *handle[T]) some(texts []string, err error) ([]T, error) {
	switch {
	case len(texts) == 0 && err == nil:
		return nil, ErrEmpty
	case len(texts) == 0:
		return nil, err
	}
	vs, bad := q.decodeAll(texts)
	return vs, errors.Join(bad, err)
}

func (q *handle[T]) peek(ctx context.Context, index string) (v T, err error) {
	if err = q.usable(ctx); err == nil {
		v, err = q.one(read(ctx, q, single, lindex, index))
	}
	return v, q.failed("peek at", err)
}

// single is an answer that is a text or nil.
func single(got engine.Answer, err error) ([]string, error) {
	text, there, err := engine.Text(got, err)
	if !there {
		return nil, err
	}
	return []string{text}, err
}

func (q *handle[T]) moveTo(ctx context.Context, other *Queue[T]) (v T, err error) {
	if err = q.usable(ctx); err == nil {
		err = q.reaches(other)
	}
	if err == nil {
		v, err = q.one(write(ctx, q, single, lmove, []string{q.key, other.q.key}, "LEFT", "RIGHT"))
		q.moved(ctx, other, err)
	}
	return v, q.failed("move the head of", err)
}

// moved tells of an element that was moved.
func (q *handle[T]) moved(ctx context.Context, to *Queue[T], err error) {
	if q.took(ctx, 1, err); errors.Is(err, ErrDecode) {
		err = nil
	}
	to.q.offered(ctx, 1, err)
}

// reaches refuses a queue that no command can name beside this one.
func (q *handle[T]) reaches(other *Queue[T]) error {
	switch {
	case other == nil:
		return fmt.Errorf("%w: no queue to move to", ErrOption)
	case other.q.bad != nil:
		return other.q.bad
	case other.q.h.e != q.h.e:
		return fmt.Errorf("%w: queue %q is another client's", ErrOption, other.q.name)
	}
	return q.together(other.q.key)
}

func (q *handle[T]) remove(ctx context.Context, v T, n int) (gone int64, err error) {
	var texts []string
	if err = q.usable(ctx); err == nil {
		texts, err = q.encode(v)
	}
	if err == nil {
		gone, err = write(ctx, q, engine.Number, lrem, []string{q.key}, decimal(int64(n)), texts[0])
	}
	return gone, q.failed("remove from", err)
}

func (q *handle[T]) drain(ctx context.Context) ([]T, error) {
	return q.drainBy(ctx, func(n int, p pages) ([]string, error) { return textsOf(q.h.popMany(ctx, head, q.key, n, p)) })
}

// drainBy takes as many elements as there are, by a pop of up to n.
func (q *handle[T]) drainBy(ctx context.Context, pop func(n int, p pages) ([]string, error)) (vs []T, err error) {
	var undecoded []error
	n, err := q.length(ctx)
	if err != nil {
		return nil, err
	}
	p := q.seen.takes(n)
	for n > 0 && err == nil {
		p = p.upTo(n)
		var texts []string
		if texts, err = pop(int(p.n), p); len(texts) == 0 {
			break
		}
		p.saw(len(texts), q.seen.saw(texts...))
		q.took(ctx, len(texts), nil)
		some, bad := q.decodeAll(texts)
		vs, undecoded, n = append(vs, some...), append(undecoded, bad), n-int64(len(texts))
	}
	return vs, q.failed("drain", errors.Join(append(undecoded, err)...))
}

// page is how many elements a walk looks at, at a time, at most.
const page = 1000

func (q *handle[T]) values(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		p := q.seen.walks(page)
		for at := int64(0); ; {
			n := p.n
			texts, err := q.window(ctx, at, p)
			if err != nil {
				var none T
				yield(none, q.failed("walk", err))
				return
			}
			for _, text := range texts {
				if v, err := q.decode(text); !yield(v, engine.Notice(q.failed("walk", err))) {
					return
				}
			}
			if int64(len(texts)) < n {
				return
			}
			at += n
			p.saw(len(texts), q.seen.saw(texts...))
		}
	}
}

func (q *handle[T]) window(ctx context.Context, at int64, p pages) ([]string, error) {
	if err := q.usable(ctx); err != nil {
		return nil, err
	}
	return read(ctx, q, engine.Texts, p.expecting(lrange), decimal(at), decimal(at+p.n-1))
}
