package wait

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/handover"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Listener hears channels for several waits behind each other, see [Watch]. It
// belongs to one goroutine at a time, but for Poke.
type Listener struct {
	news     atomic.Bool   // something was heard since the last look was sent
	poke     chan struct{} // something was heard, or a subscription stands again
	heard    func(payload string) bool
	courtesy *handover.Courtesy // is told when it is open, and when messages may have been missed; or nil
	subs     []*pubsub.Subscription
}

// NewListener returns a listener that is woken by the payloads that heard is
// true for; nil: by all. The courtesy, or nil, is told when it listens, and when messages may have been missed.
func NewListener(heard func(payload string) bool, courtesy *handover.Courtesy) *Listener {
	return &Listener{poke: make(chan struct{}, 1), heard: heard, courtesy: courtesy}
}

// Listens reports whether the listener is subscribed.
func (r *Listener) Listens() bool { return len(r.subs) > 0 }

// open subscribes to the channels: all of them, or none.
func (r *Listener) open(ctx context.Context, hub *pubsub.Hub, channels []pubsub.Channel) error {
	for _, channel := range channels {
		sub, err := hub.Subscribe(ctx, channel, r.event)
		if err != nil {
			r.Close()
			return fmt.Errorf("subscribing to %q: %w", channel.Name, err)
		}
		r.subs = append(r.subs, sub)
	}
	if r.courtesy != nil {
		r.courtesy.Listens() // from now on: it was told that it would
	}
	return nil
}

// Close leaves the channels; the hub lets them linger.
func (r *Listener) Close() {
	for _, sub := range r.subs {
		sub.Close()
	}
	r.subs = nil
}

func (r *Listener) event(ev pubsub.Event) {
	switch {
	case ev.Kind == pubsub.Resumed:
		if r.courtesy != nil {
			r.courtesy.Reset()
		}
	case r.heard != nil && !r.heard(ev.Payload):
		return
	}
	r.Poke()
}

// Poke gives the waiters, and the next one, a reason to look.
func (r *Listener) Poke() {
	r.news.Store(true)
	r.wake()
}

// wake has the waiter look whether it was served.
func (r *Listener) wake() {
	select {
	case r.poke <- struct{}{}:
	default: // one is enough: whoever waits looks again after it
	}
}

// Drain forgets what was heard before a look: the look comes after it.
func (r *Listener) Drain() {
	select {
	case <-r.poke:
	default:
	}
}

// pokes tells of what was heard.
func (r *Listener) pokes() <-chan struct{} { return r.poke }
