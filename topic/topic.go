package topic

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Topic is messages of T for all listeners of the moment, Go or Java; see the package's
// documentation. It is safe for concurrent use.
type Topic[T any] struct{ h handle[T] }

// New returns a handle on the topic of that name, whose messages reach all present listeners.
func New[T any](c Client, name string, opts ...Option) *Topic[T] {
	e := c.Engine()
	return &Topic[T]{newHandle[T](e, "topic", name, pubsub.Channel{Kind: pubsub.Plain, Name: e.Map(name)}, opts)}
}

// Name returns the name that the topic was made with.
func (t *Topic[T]) Name() string { return t.h.name }

// Publish sends a message to the present listeners, and returns how many subscribers the server
// gave it to: one for each process, however many listen in it, and one for each pattern that
// matches. On a cluster the subscribers of the node that serves the name are counted, where every
// process subscribes, Java too. Patterns, and subscribers of other nodes, get the message and are
// not counted.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument] for a message that the codec cannot write, or
// one that is too long; [ErrOutcomeUnknown] if the reply was lost, since it is sent once; [ErrClosed]; those of Redis.
// Source: RTopic.publish.
func (t *Topic[T]) Publish(ctx context.Context, v T) (receivers int64, err error) {
	return t.h.publish(ctx, publish, v)
}

// Subscribe listens from when the loop over the messages begins until it ends. A
// loop sees what Messages of [Subscription] shows: also errors that do not end it.
//
// The last of it is an error, unless the loop was left: ctx's error and cause;
// [ErrInvalidArgument]; [ErrClosed]; or why the subscription did not come about, such as
// NOPERM. See [Topic.Listen] for its cost.
func (t *Topic[T]) Subscribe(ctx context.Context, opts ...SubscribeOption) iter.Seq2[T, error] {
	return subscribed(ctx, func() (*Subscription[T], error) { return t.Listen(ctx, opts...) })
}

// Listen subscribes, and returns when the server has confirmed it: messages that are
// published from then on arrive, also if they are not read yet. ctx bounds the wait,
// not the subscription, which lasts until its Close.
//
// Cost: a round trip for the first subscription of a client to the name, and nothing for the others: they share it.
// All topics of a client share one connection on each node. Errors: ctx's error and cause; [ErrInvalidArgument];
// [ErrClosed]; those of Redis. Source: RTopic.addListener.
func (t *Topic[T]) Listen(ctx context.Context, opts ...SubscribeOption) (*Subscription[T], error) {
	return listen(ctx, &t.h, opts, func(m message) (T, error) { return t.h.decode(m.payload, "") })
}

// CountSubscribers returns how many subscribers the server has, one for each process
// that listens; on a cluster those of the node that serves the name. Who left a
// moment ago may still be counted.
//
// Cost: one command, PUBSUB NUMSUB. Errors: ctx's error and cause; [ErrInvalidArgument];
// [ErrClosed]; those of Redis. Source: RTopic.countSubscribers.
func (t *Topic[T]) CountSubscribers(ctx context.Context) (int64, error) {
	return t.h.count(ctx, count)
}

// CountListeners returns how many subscriptions this client has. It does no I/O.
// Source: RTopic.countListeners.
func (t *Topic[T]) CountListeners() int { return t.h.listeners() }
