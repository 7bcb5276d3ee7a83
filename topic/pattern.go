package topic

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// PatternTopic is the messages of all [Topic]s whose names match a pattern, as
// PSUBSCRIBE matches: ? is one character, * any number of them, [ab] one of these,
// and \ takes the next for itself. The pattern is matched as it is with the names
// in Redis: a name mapper maps neither. It is safe for concurrent use.
//
// The server compares every message that anybody publishes with every pattern: a
// few patterns are cheap, one for each of many objects is not.
type PatternTopic[T any] struct{ h handle[T] }

// NewPattern is rueidisson.PatternTopic.
func NewPattern[T any](e *engine.Engine, pattern string, opts ...Option) *PatternTopic[T] {
	return &PatternTopic[T]{newHandle[T](e, "pattern topic", pattern, pubsub.Channel{Kind: pubsub.Pattern, Name: pattern}, opts)}
}

// Message is a message that matched a pattern.
type Message[T any] struct {
	Channel string // that it was published to, as it is in Redis
	Value   T
}

// Pattern is the pattern that the topic was made with.
func (t *PatternTopic[T]) Pattern() string { return t.h.name }

// Subscribe listens from when the loop over the messages begins until it ends; see
// [Topic.Subscribe]. Of what cannot be decoded, Key of the [codec.DecodeError] is
// the channel.
func (t *PatternTopic[T]) Subscribe(ctx context.Context, opts ...SubscribeOption) iter.Seq2[Message[T], error] {
	return subscribed(ctx, func() (*Subscription[Message[T]], error) { return t.Listen(ctx, opts...) })
}

// Listen subscribes, and returns when the server has confirmed it; see
// [Topic.Listen], whose errors and cost it has. Wire: PSUBSCRIBE pattern. Source:
// RPatternTopic.addListener.
func (t *PatternTopic[T]) Listen(ctx context.Context, opts ...SubscribeOption) (*Subscription[Message[T]], error) {
	return listen(ctx, &t.h, opts, func(m message) (Message[T], error) {
		v, err := t.h.decode(m.payload, m.channel)
		return Message[T]{m.channel, v}, err
	})
}

// CountListeners is how many subscriptions this client has. It asks nobody.
func (t *PatternTopic[T]) CountListeners() int { return t.h.listeners() }
