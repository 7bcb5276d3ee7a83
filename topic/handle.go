package topic

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// A message that was perhaps published is not published again.
var (
	publish        = scripts.NewCommand("PUBLISH", scripts.Once)
	publishSharded = scripts.NewCommand("SPUBLISH", scripts.Once)
	count          = scripts.NewCommand("PUBSUB NUMSUB", scripts.Reads)
	countSharded   = scripts.NewCommand("PUBSUB SHARDNUMSUB", scripts.Reads)
)

// handle is what every kind of topic is made of. It holds nothing, so any number
// of goroutines may use it.
type handle[T any] struct {
	e     *locking.Engine
	kind  string // "topic", for errors
	name  string // as the caller wrote it
	on    pubsub.Channel
	codec codec.Codec[T]
	bad   error // what every operation returns, if the handle cannot be used
}

// newHandle checks the options of a handle, and does no I/O.
func newHandle[T any](e *locking.Engine, kind, name string, on pubsub.Channel, opts []Option) handle[T] {
	h := handle[T]{e: e, kind: kind, name: name, on: on}
	cfg, err := resolve(opts)
	if err == nil {
		h.codec, err = object.Codec[T](e, cfg.family, cfg.codec)
	}
	anySlot := func(string) error { return nil } // a channel has no keys that would have to be in its slot
	h.bad = cmp.Or(err, object.CheckNameBy(e, on.Name, anySlot), e.Fits(len(on.Name)))
	return h
}

// usable checks what every operation needs.
func (h *handle[T]) usable(ctx context.Context) error {
	return object.Usable(ctx, h.e, h.bad)
}

// encode returns a message as it is sent.
func (h *handle[T]) encode(ctx context.Context, v T) (string, error) {
	if err := h.usable(ctx); err != nil {
		return "", err
	}
	text, err := codec.Encode(h.codec, v)
	if err == nil {
		err = h.e.Fits(len(text))
	}
	return text, err
}

// decode returns what came by a channel; at is its name, where the topic's says less.
func (h *handle[T]) decode(text, at string) (T, error) {
	v, err := codec.Decode(h.codec, text)
	if err != nil {
		err = h.failed("listen to", &codec.DecodeError{Name: h.name, Key: at, Bytes: []byte(text), Cause: err})
	}
	return v, err
}

// publish sends a message once.
func (h *handle[T]) publish(ctx context.Context, by *scripts.Command, v T) (int64, error) {
	text, err := h.encode(ctx, v)
	if err != nil {
		return 0, h.failed("publish to", err)
	}
	n, err := send.Sent(h.e.Sender, ctx, func(ctx context.Context) (int64, error) {
		return send.Number(h.e.Run(ctx, by, []string{h.on.Name}, []string{text}))
	})
	if err == nil {
		h.e.Offered(ctx, h.kind, h.on.Name, 1)
	}
	return n, h.failed("publish to", err)
}

// count asks how many subscribers the server has.
func (h *handle[T]) count(ctx context.Context, by *scripts.Command) (n int64, err error) {
	if err = h.usable(ctx); err == nil {
		n, err = send.Reading(h.e.Sender, ctx, func() (int64, error) {
			got, err := h.e.Run(ctx, by, []string{h.on.Name}, nil)
			if err != nil {
				return 0, err
			}
			said, err := got.ToArray()
			if err != nil || len(said) != 2 {
				return 0, errors.Join(err, fmt.Errorf("%s said %d things", by.Label(), len(said)))
			}
			return said[1].AsInt64()
		})
	}
	return n, h.failed("count subscribers of", err)
}

// listeners returns how many subscriptions this client has.
func (h *handle[T]) listeners() int { return h.e.ListenersHere(h.on) }

// failed names the operation and the topic.
func (h *handle[T]) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if h.on.Kind == pubsub.Sharded && send.UnknownCommand(err) {
		// What the server said has the message in it.
		err = fmt.Errorf("%w: sharded topics need SPUBLISH and SSUBSCRIBE, which the server does not know", errors.ErrUnsupported)
	}
	return object.Failed(op, h.kind, h.name, err)
}
