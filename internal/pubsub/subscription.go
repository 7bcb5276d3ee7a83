package pubsub

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Subscription is one listener's part in a channel.
type Subscription struct {
	channel *channel
	listen  func(Event)
	ready   chan error // gets the outcome, if the channel did not stand when we joined
	closed  atomic.Bool
	vigil   bool // is told Alive

	// Guarded by Hub.mu.
	pending bool // has no outcome yet
	tries   int  // connections that were lost under it while pending
}

// Close leaves the channel, which stays subscribed for Options.Linger after its last listener. It never waits,
// so it may be called from within listen. A call of listen that is under way may end after Close has
// returned; none begins later. Close is idempotent.
func (s *Subscription) Close() { s.leave(true) }

// Leave is Close without the linger: who publishes is told how many listen, and one who has left is none.
func (s *Subscription) Leave() { s.leave(false) }

func (s *Subscription) leave(linger bool) {
	if s.closed.Swap(true) {
		return
	}
	s.channel.hub.mu.Lock()
	defer s.channel.hub.mu.Unlock()
	s.channel.remove(s, linger)
}

func (s *Subscription) await(ctx context.Context) error {
	if s.ready == nil {
		return nil
	}
	select {
	case err := <-s.ready:
		return err
	case <-ctx.Done():
		return s.gaveUp(ctx)
	case <-s.channel.hub.ctx.Done():
		return ErrClosed
	}
}

// gaveUp is the error of a caller who has left, with what was in the way.
func (s *Subscription) gaveUp(ctx context.Context) error {
	h := s.channel.hub
	h.mu.RLock()
	defer h.mu.RUnlock()
	if at := s.channel.seat; at != nil && h.trouble[at.node.line] != nil {
		return fmt.Errorf("%w (before that: %w)", ended(ctx), h.trouble[at.node.line])
	}
	return ended(ctx)
}

// resolve ends the wait of a pending subscription.
func (s *Subscription) resolve(err error) {
	s.pending = false
	s.ready <- err
}
