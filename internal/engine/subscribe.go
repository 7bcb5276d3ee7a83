package engine

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Subscribe has listen told of the messages on a channel that scripts reach with
// Publish, from when Subscribe returns until the subscription is closed; see
// [pubsub.Hub.Subscribe].
func (e *Engine) Subscribe(ctx context.Context, channel string, listen func(pubsub.Event)) (*pubsub.Subscription, error) {
	return e.hub.Subscribe(ctx, e.channel(channel), listen)
}
