package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/keys"
)

// handle is what every kind of queue is made of: a key, and a codec for what is
// in it. It remembers how long elements were. Any number of goroutines may use it.
type handle[T any] struct {
	h      *hub
	kind   string // "queue", for errors
	is     string // "list", likewise
	name   string // as the caller wrote it
	key    string // as it is mapped
	object []string
	bad    error // what every operation returns, if the handle cannot be used
	codec  codec.Codec[T]
	seen   lengths
}

// newHandle checks what a handle is made with, and asks nobody. Object is the
// keys that a queue of that key has in Redis, the key first.
func newHandle[T any](e *engine.Engine, kind, name string, object func(key string) []string, opts []Option) *handle[T] {
	q := &handle[T]{h: hubOf(e), kind: kind, is: "list", name: name, key: e.Map(name)}
	q.object = object(q.key)
	cfg, err := resolve(opts)
	if err == nil {
		q.codec, err = chosen[T](e, cfg)
	}
	switch {
	case err != nil:
		q.bad = err
	case q.key == "":
		q.bad = fmt.Errorf("%w: empty name", ErrOption)
	case e.Cluster():
		if err := keys.OnCluster(q.key); err != nil {
			q.bad = fmt.Errorf("%w: name %q cannot be used on a cluster: %w", ErrOption, q.key, err)
		}
	}
	return q
}

// usable checks what every operation needs.
func (q *handle[T]) usable(ctx context.Context) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("%w: nil context", ErrOption)
	case q.bad != nil:
		return q.bad
	}
	if err := q.h.e.Open(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return engine.ContextError(ctx)
	}
	return nil
}

// encode is values as they are in Redis.
func (q *handle[T]) encode(vs ...T) ([]string, error) {
	texts := make([]string, len(vs))
	for i, v := range vs {
		text, err := codec.Encode(q.codec, v)
		if err == nil {
			err = q.h.e.Fits(len(text))
		}
		if err != nil {
			return nil, fmt.Errorf("element: %w", err)
		}
		texts[i] = text
	}
	return texts, nil
}

// decode is an element.
func (q *handle[T]) decode(text string) (T, error) {
	v, err := codec.Decode(q.codec, text)
	if err != nil {
		return v, &codec.DecodeError{Name: q.name, Bytes: []byte(text), Cause: err}
	}
	return v, nil
}

// decodeAll leaves out what does not decode, and tells.
func (q *handle[T]) decodeAll(texts []string) ([]T, error) {
	vs := make([]T, 0, len(texts))
	var undecoded []error
	for _, text := range texts {
		if v, err := q.decode(text); err != nil {
			undecoded = append(undecoded, err)
		} else {
			vs = append(vs, v)
		}
	}
	return vs, errors.Join(undecoded...)
}

// failed names the operation and the queue.
func (q *handle[T]) failed(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*codec.DecodeError)):
		return fmt.Errorf("%s %s %w", op, q.kind, err) // which names it
	case engine.WrongType(err):
		err = q.wrongType(err)
	}
	return fmt.Errorf("%s %s %q: %w", op, q.kind, q.name, err)
}

// offered tells of elements that were offered, unless err says otherwise.
func (q *handle[T]) offered(ctx context.Context, n int, err error) {
	if err == nil {
		q.h.e.Offered(ctx, q.kind, q.key, n)
	}
}

// took tells of elements that were taken, unless err says otherwise. What does not decode was.
func (q *handle[T]) took(ctx context.Context, n int, err error) {
	if err == nil || errors.Is(err, ErrDecode) {
		q.h.e.Taken(ctx, q.kind, q.key, n)
	}
}

// wrongType names the key of another type, or those that it is one of.
func (q *handle[T]) wrongType(err error) error {
	if len(q.object) > 1 {
		return fmt.Errorf("one of the keys %q is of another type: %w", q.object, err)
	}
	return fmt.Errorf("key %q is no %s: %w", q.key, q.is, err)
}

// run sends one command or script about the queue.
func (q *handle[T]) run(ctx context.Context, op engine.Operation, on []string, args ...string) (engine.Answer, error) {
	return q.h.e.Run(ctx, op, on, args)
}

// read is one command that changes nothing. ctx bounds the wait for it.
func read[T, A any](ctx context.Context, q *handle[T], as func(engine.Answer, error) (A, error), cmd engine.Operation, args ...string) (A, error) {
	return engine.Reading(q.h.e, ctx, func() (A, error) { return as(q.run(ctx, cmd, []string{q.key}, args...)) })
}

// write is one command, or script, that changes something, and takes nothing
// that would be lost. ctx bounds the wait for it; it may be done still when that
// has ended.
func write[T, A any](ctx context.Context, q *handle[T], as func(engine.Answer, error) (A, error), op engine.Operation, on []string, args ...string) (A, error) {
	return engine.Writing(q.h.e, ctx, func() (A, error) { return as(q.run(ctx, op, on, args...)) })
}
