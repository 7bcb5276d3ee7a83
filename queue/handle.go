package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// handle adds the codec of the elements to a queue. Any number of goroutines may use it.
type handle[T any] struct {
	elements[T]
	coding[T]
}

// coding writes and reads the values of a queue.
type coding[T any] struct {
	of    *base
	codec codec.Codec[T]
}

// newHandle checks what a handle is made with. keysOf returns the keys that a queue of that key has in
// Redis, the key first.
func newHandle[T any](e *locking.Engine, kind, name string, keysOf func(key string) []string, opts []Option) *handle[T] {
	q := new(handle[T])
	q.coding = newCoding[T](&q.base, e, kind, name, keysOf, opts)
	q.value = func(it poller.Item) (T, error) { return q.decode(it.Text) }
	return q
}

// newCoding makes q a queue of that name, and returns the codec of its values.
func newCoding[T any](q *base, e *locking.Engine, kind, name string, keysOf func(key string) []string, opts []Option) coding[T] {
	*q = base{whole.New(e, kind, "list", name, keysOf), hubOf(e), llen}
	c := coding[T]{of: q}
	cfg, err := resolve(opts)
	if err == nil {
		c.codec, err = object.Codec[T](e, cfg.family, cfg.codec)
	}
	q.Bad = cmp.Or(err, object.CheckName(e, q.Key))
	return c
}

// encode returns values as they are in Redis.
func (c *coding[T]) encode(vs ...T) ([]string, error) {
	texts := make([]string, len(vs))
	for i, v := range vs {
		text, err := codec.Encode(c.codec, v)
		if err == nil {
			err = c.of.h.e.Fits(len(text))
		}
		if err != nil {
			return nil, fmt.Errorf("element: %w", err)
		}
		texts[i] = text
	}
	return texts, nil
}

// decode returns the value of a text.
func (c *coding[T]) decode(text string) (T, error) {
	v, err := codec.Decode(c.codec, text)
	if err != nil {
		return v, &codec.DecodeError{Name: c.of.Name, Bytes: []byte(text), Cause: err}
	}
	return v, nil
}

// mostWritten bounds the bytes of one command of several elements: the server
// does nothing else meanwhile.
const mostWritten = 1 << 20

// offer offers in as many commands as it takes.
func (q *handle[T]) offer(ctx context.Context, op string, push *scripts.Command, vs []T) (size int64, err error) {
	if err = q.Usable(ctx); err != nil {
		return 0, q.Failed(op, err)
	}
	if len(vs) == 0 {
		return q.length(ctx)
	}
	texts, err := q.encode(vs...)
	for err == nil && len(texts) > 0 {
		some := texts[:cut(texts)]
		texts = texts[len(some):]
		if size, err = q.h.offers.Do(ctx, side{push, q.Key}, some); err != nil && ctx.Err() != nil && !errors.Is(err, ErrOutcomeUnknown) {
			err = core.Left(err) // a caller that has left is not told whether it did
		}
		if size == 0 {
			break // there is none to offer to
		}
		q.offered(ctx, len(some), err)
	}
	return size, q.Failed(op, err)
}

// cut returns how many of some texts go out as one.
func cut(texts []string) int {
	return portion(len(texts), paging.Most, mostWritten, func(i int) int { return len(texts[i]) })
}

// portion returns how many of n things go out as one: up to most, and up to size bytes, but one at least.
func portion(n, most, size int, bytes func(i int) int) int {
	for i := range n {
		if size -= bytes(i); i > 0 && (i == most || size < 0) {
			return i
		}
	}
	return n
}

func (q *handle[T]) peek(ctx context.Context, index string) (v T, err error) {
	if err = q.Usable(ctx); err == nil {
		v, err = q.one(itemsOf(whole.Read(ctx, &q.Object, single, lindex, index)))
	}
	return v, q.Failed("peek at", err)
}

// single returns an answer that is a text or nil.
func single(got send.Answer, err error) ([]string, error) {
	text, there, err := send.Text(got, err)
	if !there {
		return nil, err
	}
	return []string{text}, err
}

func (q *handle[T]) moveTo(ctx context.Context, other *Queue[T]) (v T, err error) {
	if err = q.Usable(ctx); err == nil {
		err = q.reaches(other)
	}
	if err == nil {
		v, err = q.one(itemsOf(whole.Write(ctx, &q.Object, single, lmove, []string{q.Key, other.q.Key}, "LEFT", "RIGHT")))
		q.moved(ctx, other, err)
	}
	return v, q.Failed("move the head of", err)
}

// moved tells of an element that was moved.
func (q *handle[T]) moved(ctx context.Context, to *Queue[T], err error) {
	if q.took(ctx, 1, err); errors.Is(err, ErrDecode) {
		err = nil
	}
	to.q.offered(ctx, 1, err)
}

// reaches refuses a queue that no command can name together with this one.
func (q *handle[T]) reaches(other *Queue[T]) error {
	switch {
	case other == nil:
		return fmt.Errorf("%w: no queue to move to", ErrInvalidArgument)
	case other.q.Bad != nil:
		return other.q.Bad
	case other.q.h.e != q.h.e:
		return fmt.Errorf("%w: queue %q is another client's", ErrInvalidArgument, other.q.Name)
	}
	return object.Together(q.h.e, q.Key, other.q.Key)
}

// remove removes v by a command or script whose last word is the element.
func (q *handle[T]) remove(ctx context.Context, by send.Operation, on []string, v T, args ...string) (gone int64, err error) {
	var texts []string
	if err = q.Usable(ctx); err == nil {
		texts, err = q.encode(v)
	}
	if err == nil {
		gone, err = whole.Write(ctx, &q.Object, send.Number, by, on, append(args, texts[0])...)
	}
	return gone, q.Failed("remove from", err)
}

func (q *handle[T]) values(ctx context.Context) iter.Seq2[T, error] {
	return q.walk(ctx, func(at int64, p paging.Plan) ([]poller.Item, error) {
		return itemsOf(whole.Read(ctx, &q.Object, send.Texts, p.Expect(lrange), decimal(at), decimal(at+p.N-1)))
	})
}

// setting returns the number that bounded queues and ring buffers have in addition to their elements.
func (q *handle[T]) setting(ctx context.Context) (n int64, err error) {
	if err = q.Usable(ctx); err == nil {
		n, err = send.Reading(q.h.e.Sender, ctx, func() (int64, error) {
			got, err := q.run(ctx, getCommand, q.Keys[1:])
			if err == nil && got.Nil {
				return 0, ErrNoCapacity
			}
			return send.Number(got, err)
		})
	}
	return n, q.Failed("look at", err)
}

// setCapacity sets that number by a script, if anyway is "1" or it was not set before.
func (q *handle[T]) setCapacity(ctx context.Context, op string, by *scripts.Script, n int, anyway string, args ...string) (done bool, err error) {
	if n < 1 || n > math.MaxInt32 {
		return false, q.Failed(op, fmt.Errorf("%w: a capacity of %d: from 1 to %d", ErrInvalidArgument, n, math.MaxInt32))
	}
	if err = q.Usable(ctx); err == nil {
		done, err = send.Writing(q.h.e.Sender, ctx, func() (bool, error) {
			return send.Yes(q.once(ctx, by, append(args[:len(args):len(args)], decimal(int64(n)), anyway)...))
		})
	}
	return done, q.Failed(op, err)
}

// once runs a script that the server knows when it comes again.
func (q *handle[T]) once(ctx context.Context, script *scripts.Script, args ...string) (send.Answer, error) {
	request := keys.QueueDone(q.Key, q.h.requests.ID())
	on := append(q.Keys[:len(q.Keys):len(q.Keys)], request)
	got, err := q.run(ctx, send.Identified{Script: script}, on, append([]string{memory}, args...)...)
	if err == nil && !got.Replayed && !send.OnCleanup(ctx) {
		q.h.requests.Forget(q.Key, request) // there is no copy of it that may come late
	}
	return got, err
}
