package topic

import (
	"context"
	"iter"
	"slices"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Pattern is the messages of all [Topic]s whose names match a pattern, as
// PSUBSCRIBE matches: ? is one character, * any number of them, [ab] one of these,
// and \ takes the next for itself. The pattern is matched as it is with the names
// in Redis: a name mapper maps neither. It is safe for concurrent use.
//
// The server compares every published message with every pattern: a
// few patterns are cheap, one for each of many objects is not.
type Pattern[T any] struct{ h handle[T] }

// NewPattern returns a handle on the messages of all topics whose names match pattern.
func NewPattern[T any](c Client, pattern string, opts ...Option) *Pattern[T] {
	e := c.Engine()
	return &Pattern[T]{newHandle[T](e, "pattern topic", pattern, pubsub.Channel{Kind: pubsub.Pattern, Name: pattern}, opts)}
}

// Message is a message that matched a pattern.
type Message[T any] struct {
	Channel string // that it was published to, as it is in Redis
	Value   T      // what was published
}

// Pattern returns the pattern that the topic was made with.
func (t *Pattern[T]) Pattern() string { return t.h.name }

// ActiveNames returns the names, in Redis, of the channels that match the pattern and have
// subscribers by name, in their order. They include those that this library and others use
// for themselves. Subscribers by a pattern do not count.
//
// Cost: one command for each server, also of a cluster. Errors: ctx's error and cause; [ErrInvalidArgument];
// [ErrClosed]; those of Redis, also of one server of several. Source: RPatternTopic.getActiveTopics.
func (t *Pattern[T]) ActiveNames(ctx context.Context) ([]string, error) {
	return t.active(ctx, func(c rueidis.Client) rueidis.Completed { return c.B().PubsubChannels().Pattern(t.h.on.Name).Build() })
}

// ActiveShardedNames returns the names of the channels of [Sharded]s that match, as
// [Pattern.ActiveNames] does for those of Topics, though no pattern hears those.
//
// Cost and errors: as [Pattern.ActiveNames].
func (t *Pattern[T]) ActiveShardedNames(ctx context.Context) ([]string, error) {
	return t.active(ctx, func(c rueidis.Client) rueidis.Completed {
		return c.B().PubsubShardchannels().Pattern(t.h.on.Name).Build()
	})
}

func (t *Pattern[T]) active(ctx context.Context, ask func(rueidis.Client) rueidis.Completed) (names []string, err error) {
	if err = t.h.usable(ctx); err == nil {
		names, err = send.Reading(t.h.e.Sender, ctx, func() (names []string, err error) {
			for _, c := range t.h.e.Servers() {
				some, err := c.Do(ctx, ask(c)).AsStrSlice()
				if err != nil {
					return nil, err
				}
				names = append(names, some...)
			}
			slices.Sort(names)
			return slices.Compact(names), nil
		})
	}
	return names, t.h.failed("list what is listened to of", err)
}

// Subscribe listens from when the loop over the messages begins until it ends, as [Topic.Subscribe]
// does. The loop waits for messages until ctx ends. Of what cannot be decoded, Key of the
// [codec.DecodeError] is the channel.
//
// Cost and errors: as [Topic.Listen] and [Subscription.Messages].
func (t *Pattern[T]) Subscribe(ctx context.Context, opts ...SubscribeOption) iter.Seq2[Message[T], error] {
	return subscribed(ctx, func() (*Subscription[Message[T]], error) { return t.Listen(ctx, opts...) })
}

// Listen subscribes, and returns when the server has confirmed it; see [Topic.Listen], whose errors and cost it has.
// Source: RPatternTopic.addListener.
func (t *Pattern[T]) Listen(ctx context.Context, opts ...SubscribeOption) (*Subscription[Message[T]], error) {
	return listen(ctx, &t.h, opts, func(m message) (Message[T], error) {
		v, err := t.h.decode(m.payload, m.channel)
		return Message[T]{m.channel, v}, err
	})
}

// CountListeners returns how many subscriptions this client has. It does no I/O.
func (t *Pattern[T]) CountListeners() int { return t.h.listeners() }
