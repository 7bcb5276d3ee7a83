package pubsub

import (
	"context"
	"errors"
	"time"
)

// follow moves a channel to the node that the server names. It reports false if that leads nowhere.
func (n *node) follow(s *seat, addr string) bool {
	s.had, s.dropped = false, false
	c := s.channel
	if c.seat != s {
		return true // it has left already
	}
	if addr == n.line.Node || c.hops >= maxHops {
		return false
	}
	c.hops++
	n.move(c, addr, n.line.Node)
	return true
}

// move takes a channel to another node. The old seat, if it stands, is given up by the old worker.
func (n *node) move(c *channel, addr, movedFrom string) {
	old := c.seat
	if len(c.listeners) == 0 || n.hub.closed {
		c.stopLingering() // nobody would notice the difference
		old.settle()
		return
	}
	s := n.hub.take(c, addr)
	s.movedFrom = movedFrom
	if s.had {
		n.stands(c) // it was here before, and had not been given up yet
	}
	old.settle()
	s.settle()
}

// relocate looks whether the channels of those seats still belong here: once for all of them, since others
// wait for this worker meanwhile. Channels that cannot be located stay.
func (n *node) relocate(seats func() []*seat) {
	ctx, cancel := context.WithTimeout(n.hub.ctx, n.hub.opts.Timeout)
	defer cancel()
	where, err := n.hub.src.Locate(ctx)
	if err != nil {
		n.hub.opts.Logger.Debug("channels not located", "node", n.line.Node, "err", err)
		return
	}
	for _, s := range seats() {
		addr, err := where(s.of)
		if err != nil {
			n.hub.opts.Logger.Debug("channel not located", "channel", s.of.Name, "err", err)
			continue
		}
		n.hub.mu.Lock()
		if !s.gone() && s.channel.seat == s && addr != n.line.Node && addr != s.movedFrom {
			n.move(s.channel, addr, "")
		}
		n.hub.mu.Unlock()
	}
	n.announce()
}

func (n *node) retryDue() bool {
	n.hub.mu.RLock()
	defer n.hub.mu.RUnlock()
	return !n.retryAt.IsZero() && !time.Now().Before(n.retryAt)
}

// retryDelayed tries again what was refused.
func (n *node) retryDelayed() {
	n.relocate(func() []*seat { return n.pick(func(s *seat) bool { return s.delayed }) })
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	n.retryAt = time.Time{}
	for _, s := range n.seats {
		if s.delayed {
			s.delayed = false
			s.settle()
		}
	}
}

func (n *node) checkDue() bool {
	if now := time.Now(); !now.Before(n.checkAt) || !now.Before(n.vigilAt) {
		return true
	}
	n.hub.mu.RLock()
	defer n.hub.mu.RUnlock()
	return len(n.hurry) > 0
}

// check looks for what no connection reports: channels that belong elsewhere now (a failover whose old master
// still answers), and a server that has fallen silent.
func (n *node) check() {
	sent := time.Now()
	all := !sent.Before(n.checkAt)
	if all {
		n.checkAt = sent.Add(n.hub.opts.Check)
	}
	due := all || !sent.Before(n.vigilAt)
	watched := n.vigils(sent, due)
	if all {
		n.relocate(func() []*seat { return n.pick(func(s *seat) bool { return s.had }) })
	} else if len(watched) > 0 {
		n.relocate(func() []*seat { return watched })
	}
	switch {
	case len(watched) > 0:
		switch err := n.same(watched[0]); {
		case err == nil:
			n.vouch(watched, sent)
		case !errors.Is(err, errUntold): // else it is left alone: others hear by it, and those with a vigil learn by the silence
			n.lost(err)
		}
	case due:
		if s := n.probe(); s != nil {
			n.join([]*seat{s})
		}
	}
}

// same finds out whether the connection is the one that all was subscribed on. To subscribe once more could not show
// that: on another connection it would stand again, and what was published meanwhile would be missing.
func (n *node) same(s *seat) error {
	ctx, cancel := context.WithTimeout(n.hub.ctx, n.hub.opts.Timeout)
	defer cancel()
	return n.conn.Same(ctx, s.of)
}

// probe picks any seat that stands, to be subscribed once more where nobody has a vigil. A PING would not do: with RESP2
// it goes to another connection than the subscriptions.
func (n *node) probe() *seat {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	for _, s := range n.seats {
		if s.had && s.busy == none && s.wanted() {
			s.busy = joining
			return s
		}
	}
	return nil
}
