package engine

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Subscribe has listen told of the messages on a channel that scripts reach with
// Publish, from when Subscribe returns until the subscription is closed; see
// [pubsub.Hub.Subscribe].
func (e *Engine) Subscribe(ctx context.Context, channel string, listen func(pubsub.Event)) (*pubsub.Subscription, error) {
	return e.hub.Subscribe(ctx, e.channel(channel), listen)
}

// SubscribeTo is Subscribe for a channel of any kind. The wait ends when the
// client closes.
func (e *Engine) SubscribeTo(ctx context.Context, channel pubsub.Channel, listen func(pubsub.Event)) (*pubsub.Subscription, error) {
	if err := e.Open(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !e.hub.Subscribed(channel) {
		go func() { // ends with the wait
			select {
			case <-e.closing:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	sub, err := e.hub.Subscribe(ctx, channel, listen)
	if err != nil && e.Open() != nil {
		return nil, ErrClosed
	}
	return sub, err
}

// ListenersHere returns how many listen to channel by this client.
func (e *Engine) ListenersHere(channel pubsub.Channel) int { return e.hub.Listeners(channel) }

// Vigil is Subscribe for a listener that has to know whether it hears everything;
// see [pubsub.Hub.Vigil]. Plain joins a channel that is published to by plain
// commands, also on a cluster.
func (e *Engine) Vigil(ctx context.Context, channel string, plain bool, every time.Duration, listen func(pubsub.Event)) (*pubsub.Subscription, error) {
	of := e.channel(channel)
	if plain {
		of.Kind = pubsub.Plain
	}
	return e.hub.Vigil(ctx, of, every, listen)
}
