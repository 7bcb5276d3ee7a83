package pubsub

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Subscription is one listener's part in a channel.
type Subscription struct {
	channel *channel
	listen  func(Event)
	ready   chan error // gets the outcome, if the channel did not stand when we joined
	closed  atomic.Bool
	every   time.Duration // is told Alive so often; 0: not at all
	losses  atomic.Bool   // is told Lost

	// Guarded by Hub.mu.
	pending bool // has no outcome yet
	tries   int  // connections that were lost under it while pending
}

// Losses has listen be told Lost, too, from now on: at once if the subscription does not stand. A Lost may
// come twice. Losses must not be called from within listen.
func (s *Subscription) Losses() {
	s.channel.telling.Lock()
	defer s.channel.telling.Unlock()
	s.losses.Store(true)
	s.channel.hub.mu.RLock()
	stands := s.channel.stands()
	s.channel.hub.mu.RUnlock()
	if !stands && !s.closed.Load() {
		s.listen(Event{Kind: Lost})
	}
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
	if s.channel.remove(s, linger); s.every > 0 {
		s.channel.hub.pace(s.every, -1)
	}
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

// ErrTrouble says that the connection of a channel had failed before its caller left.
var ErrTrouble = errors.New("before that")

// gaveUp returns the error of a caller who has left, with what was in the way.
func (s *Subscription) gaveUp(ctx context.Context) error {
	h := s.channel.hub
	h.mu.RLock()
	defer h.mu.RUnlock()
	if at := s.channel.seat; at != nil && h.trouble[at.node.line] != nil {
		return fmt.Errorf("%w (%w: %w)", ended(ctx), ErrTrouble, h.trouble[at.node.line])
	}
	return ended(ctx)
}

// resolve ends the wait of a pending subscription.
func (s *Subscription) resolve(err error) {
	s.pending = false
	s.ready <- err
}
