package peer

import (
	"context"
	"fmt"
	"time"
)

// Topic is a topic of Redisson of any kind, as one Java thread uses it.
type Topic struct{ object }

// Topic returns the topic of that name and kind, "topic", "shardedtopic", "patterntopic" or "reliabletopic", with a codec of
// its own, used by the thread.
func (p *Peer) Topic(kind, thread, name, codec string) Topic {
	return Topic{p.mapOf(kind, thread, name, codec)}
}

// Name returns that of the topic.
func (t Topic) Name() string { return t.name }

// Publish returns how many got the message.
func (t Topic) Publish(ctx context.Context, message Datum) (int64, error) {
	return t.number(ctx, "publish", message)
}

// CountSubscribers returns how many the server has.
func (t Topic) CountSubscribers(ctx context.Context) (int64, error) {
	return t.number(ctx, "countSubscribers")
}

// Size returns how many messages a reliable topic has.
func (t Topic) Size(ctx context.Context) (int64, error) { return t.number(ctx, "size") }

// Delete removes a reliable topic.
func (t Topic) Delete(ctx context.Context) (bool, error) { return t.truth(ctx, "delete") }

// Listen has messages kept until Hears asks for them.
func (t Topic) Listen(ctx context.Context) error { return t.void(ctx, "listen") }

// Unlisten ends it.
func (t Topic) Unlisten(ctx context.Context) error { return t.void(ctx, "unlisten") }

// Hears returns the next message, and the channel by which it came.
func (t Topic) Hears(ctx context.Context, wait time.Duration) (channel string, message Datum, err error) {
	reply, err := t.do(ctx, "hears", wait)
	if err != nil {
		return "", Datum{}, err
	}
	if len(reply) != 2 {
		return "", Datum{}, fmt.Errorf("java heard nothing within %v", wait)
	}
	message, err = reply[1].datum()
	return reply[0].Text, message, err
}
