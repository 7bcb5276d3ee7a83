package topic

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Sharded is a [Topic] whose messages stay, on a cluster, within the shard of
// its name, where those of a Topic go to every node. It is another topic than the
// Topic of that name, also on one server, and no pattern hears it. It is safe for
// concurrent use.
type Sharded[T any] struct{ h handle[T] }

// NewSharded returns a handle on the topic of that name, whose messages stay within a shard of a cluster.
func NewSharded[T any](c Client, name string, opts ...Option) *Sharded[T] {
	e := c.Engine()
	return &Sharded[T]{newHandle[T](e, "sharded topic", name, pubsub.Channel{Kind: pubsub.Sharded, Name: e.Map(name)}, opts)}
}

// Name returns the name that the topic was made with.
func (t *Sharded[T]) Name() string { return t.h.name }

// Publish sends a message to the present listeners, and returns how many subscribers
// the server gave it to: one for each process, however many listen in it. On a
// cluster those of the master are counted, where every process subscribes, Java
// too.
//
// Cost: one command. Errors: ctx's error and cause; [ErrInvalidArgument] for a message that the codec cannot write, or
// one that is too long; [ErrOutcomeUnknown] if the reply was lost, since it is sent once; errors.ErrUnsupported where
// there is no SPUBLISH, as on the server of rueidissontest; [ErrClosed]; those of Redis. Source:
// RShardedTopic.publish.
func (t *Sharded[T]) Publish(ctx context.Context, v T) (receivers int64, err error) {
	return t.h.publish(ctx, publishSharded, v)
}

// Subscribe listens from when the loop over the messages begins until it ends, as [Topic.Subscribe]
// does. The loop waits for messages until ctx ends.
//
// Cost and errors: as [Sharded.Listen] and [Subscription.Messages].
func (t *Sharded[T]) Subscribe(ctx context.Context, opts ...SubscribeOption) iter.Seq2[T, error] {
	return subscribed(ctx, func() (*Subscription[T], error) { return t.Listen(ctx, opts...) })
}

// Listen subscribes, and returns when the server has confirmed it; see
// [Topic.Listen]. In a slot migration of the name the subscription moves with it,
// which yields [ErrDisconnected] and [ErrReconnected].
//
// Cost: as that of a Topic, on a connection in addition to that one. Errors: those of Topic.Listen, and
// errors.ErrUnsupported. Source: RShardedTopic.addListener.
func (t *Sharded[T]) Listen(ctx context.Context, opts ...SubscribeOption) (*Subscription[T], error) {
	return listen(ctx, &t.h, opts, func(m message) (T, error) { return t.h.decode(m.payload, "") })
}

// CountSubscribers returns how many subscribers the server has, one for each process
// that listens. Who left a moment ago may still be counted.
//
// Cost: one command, PUBSUB SHARDNUMSUB. Errors: ctx's error and cause;
// [ErrInvalidArgument]; [ErrClosed]; those of Redis. Source: RShardedTopic.countSubscribers.
func (t *Sharded[T]) CountSubscribers(ctx context.Context) (int64, error) {
	return t.h.count(ctx, countSharded)
}

// CountListeners returns how many subscriptions this client has. It does no I/O.
// Source: RShardedTopic.countListeners.
func (t *Sharded[T]) CountListeners() int { return t.h.listeners() }
