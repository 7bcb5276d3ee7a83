package pubsub

import (
	"context"
	"errors"
	"time"
)

// maxHops is how many MOVED answers in a row a channel follows before that counts as a refusal.
const maxHops = 5

// exchange makes the server have what is wanted. It reports whether there was anything to do.
func (n *node) exchange() bool {
	join, part := n.collect()
	if len(join) > 0 && !n.join(join) {
		return true // the parting ones went with the connection
	}
	if len(part) > 0 {
		n.part(part)
	}
	return len(join)+len(part) > 0
}

// collect empties the queue. Lingering channels expire in the same critical section, so that a listener comes
// either before, and nothing is sent, or after, and finds the channel being left.
func (n *node) collect() (join, part []*seat) {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	n.expire(time.Now())
	for _, s := range n.queue {
		s.queued = false
		switch wanted := s.wanted(); {
		case s.gone() || s.busy != none || s.delayed || wanted == s.had:
		case wanted:
			s.busy = joining
			join = append(join, s)
		default:
			s.busy, s.had = parting, false
			part = append(part, s)
		}
	}
	clear(n.queue)
	n.queue = n.queue[:0]
	return join, part
}

// join subscribes. It reports whether the connection survived.
func (n *node) join(seats []*seat) bool {
	refused, err := n.send(n.conn.Subscribe, seats)
	if err != nil {
		n.lost(err)
		return false
	}
	n.hub.mu.Lock()
	for i, s := range seats {
		n.joined(s, at(refused, i))
	}
	if n.retryAt.IsZero() {
		n.retry.reset()
	}
	n.hub.mu.Unlock()
	n.announce()
	return true
}

// part unsubscribes. A channel that was refused because it has moved is not subscribed here anyway; after any
// other refusal it may be, and the connection must not be given to somebody else.
func (n *node) part(seats []*seat) {
	refused, err := n.send(n.conn.Unsubscribe, seats)
	if err != nil {
		n.lost(err)
		return
	}
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	for i, s := range seats {
		if err := at(refused, i); err != nil && !errors.As(err, new(*MovedError)) {
			n.tainted = true
			n.hub.opts.Logger.Debug("unsubscribe refused", "channel", s.of.Name, "node", n.line.Node, "err", err)
		}
		s.busy = none
		s.settle()
	}
}

func (n *node) send(verb func(context.Context, []Channel) ([]error, error), seats []*seat) ([]error, error) {
	ctx, cancel := context.WithTimeout(n.hub.ctx, n.hub.opts.Timeout)
	defer cancel()
	channels := make([]Channel, len(seats))
	for i, s := range seats {
		channels[i] = s.of
	}
	return verb(ctx, channels)
}

// joined takes the answer to one subscribe.
func (n *node) joined(s *seat, err error) {
	s.busy = none
	var moved *MovedError
	switch {
	case err == nil && s.dropped:
		// The server ended it before the worker saw its confirmation. If it was a probe, the two can have come in either
		// order. What is wanted is then taken as lost, and what is not as standing: at worst a command is sent that changes
		// nothing.
		s.dropped, s.had = false, !s.wanted()
		if !s.had {
			n.delay(s)
		}
	case err == nil:
		n.confirmed(s)
	case errors.As(err, &moved) && n.follow(s, moved.Addr):
	default:
		n.refused(s, err)
	}
	s.settle()
}

// confirmed lets the waiting listeners go. Those who had the channel before are told, unless it stood all the
// time and was only probed.
func (n *node) confirmed(s *seat) {
	if s.had {
		return
	}
	s.had, s.since = true, time.Now()
	if s.channel.seat == s {
		n.stands(s.channel)
	}
}

func (n *node) stands(c *channel) {
	c.hops = 0
	if c.vigilant() {
		c.seat.hasten()
	}
	if before := c.resolve(); len(before) > 0 {
		n.resumed = append(n.resumed, resumption{c, before})
	}
}

// refused fails those who wait for the subscription. For those who had it before, it is tried again later.
func (n *node) refused(s *seat, err error) {
	s.had, s.dropped = false, false
	if s.channel.seat != s {
		return
	}
	s.channel.fail(err, func(*Subscription) bool { return true })
	if s.wanted() {
		n.hub.opts.Logger.Debug("subscribe refused", "channel", s.of.Name, "node", n.line.Node, "err", err)
		n.delay(s)
	}
}

// delay puts the seat off until the next retry.
func (n *node) delay(s *seat) {
	s.delayed = true
	s.channel.hops = 0
	if n.retryAt.IsZero() {
		n.retryAt = time.Now().Add(n.retry.next())
		n.nudge()
	}
}

func at(errs []error, i int) error {
	if errs == nil {
		return nil
	}
	return errs[i]
}
