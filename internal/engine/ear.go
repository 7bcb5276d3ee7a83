package engine

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// ear hears channels for whoever waits. It belongs to one goroutine at a time.
type ear struct {
	poke     chan struct{} // something was heard, or a subscription stands again
	heard    func(payload string) bool
	courtesy *handover.Courtesy // is told when it is open, and when messages may have been missed; or nil
	subs     []*pubsub.Subscription
	line     *line // of a lock that is Queued, which uses nothing else of it
}

// newEar returns an ear that is woken by the payloads that heard is true for;
// nil: by all. The courtesy, unless it is nil, is that of whose releases it hears.
func newEar(heard func(payload string) bool, courtesy *handover.Courtesy) *ear {
	return &ear{poke: make(chan struct{}, 1), heard: heard, courtesy: courtesy}
}

// listens reports whether the ear is open.
func (r *ear) listens() bool { return r != nil && len(r.subs) > 0 }

// open subscribes to the channels: all of them, or none.
func (r *ear) open(ctx context.Context, hub *pubsub.Hub, channels []pubsub.Channel) error {
	for _, channel := range channels {
		sub, err := hub.Subscribe(ctx, channel, r.event)
		if err != nil {
			r.close()
			return fmt.Errorf("subscribing to %q: %w", channel.Name, err)
		}
		r.subs = append(r.subs, sub)
	}
	if r.courtesy != nil {
		r.courtesy.Listens() // from now on: it was told that it would
	}
	return nil
}

// close leaves the channels; the hub lets them linger.
func (r *ear) close() {
	if r == nil {
		return
	}
	for _, sub := range r.subs {
		sub.Close()
	}
	r.subs = nil
}

func (r *ear) event(ev pubsub.Event) {
	switch {
	case ev.Kind == pubsub.Resumed:
		if r.courtesy != nil {
			r.courtesy.Reset()
		}
	case r.heard != nil && !r.heard(ev.Payload):
		return
	}
	r.wake()
}

func (r *ear) wake() {
	select {
	case r.poke <- struct{}{}:
	default: // one is enough: whoever waits looks again after it
	}
}

// hush forgets what was heard before a look: the look comes after it.
func (r *ear) hush() {
	if r == nil {
		return
	}
	select {
	case <-r.poke:
	default:
	}
}

// pokes returns nil without an ear: nothing comes then.
func (r *ear) pokes() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.poke
}
