package pubsub

import "time"

// feed hears one connection of a node.
type feed struct{ node *node }

func (f *feed) Message(of Channel, name, payload string) { f.node.hub.message(of, name, payload) }

// Unsubscribed sorts our own unsubscriptions from those of the server. Ours are reported before the answer
// that the worker waits for, so the seat is still parting.
func (f *feed) Unsubscribed(channel Channel) {
	n := f.node
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	s := n.seats[channel]
	if s == nil || n.feed != f {
		return
	}
	switch {
	case s.busy == joining:
		s.dropped = true // the confirmation came first, but the worker has not seen it yet
	case s.busy == none && s.had:
		n.expelled(s)
	}
}

// expelled reacts to a subscription that the server ended: subscribe again, and let the server say where. One
// that did not last is retried with the others that fail, lest the two of us spin.
func (n *node) expelled(s *seat) {
	s.had = false
	if s.channel.seat == s && len(s.channel.listeners) == 0 {
		s.channel.stopLingering()
	}
	if s.wanted() && time.Since(s.since) < n.hub.opts.RetryMax {
		n.delay(s)
	}
	s.settle()
}
