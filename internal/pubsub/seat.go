package pubsub

import "time"

// business is what a seat's worker is waiting for.
type business uint8

const (
	none    business = iota
	joining          // the answer to a SUBSCRIBE
	parting          // the answer to an UNSUBSCRIBE
)

// seat is a channel's place on one node. Its fields are guarded by Hub.mu; had and busy are changed by the
// node's worker only, except that a server-sent unsubscription takes had away.
type seat struct {
	node    *node
	of      Channel
	channel *channel // the latest that belonged here; it may belong elsewhere by now

	had     bool // the server has confirmed it and was not asked to end it
	busy    business
	queued  bool // the worker will look at it
	delayed bool // it was refused and waits for the next retry
	dropped bool // the server ended it while it was being joined
	hurried bool // it is in the node's hurry

	since     time.Time // when it was confirmed
	movedFrom string    // the node that sent us here; its claim to the channel is not believed again
}

func (s *seat) wanted() bool {
	c := s.channel
	return c.seat == s && (len(c.listeners) > 0 || c.idle != nil)
}

// settle sees to it that what the server has becomes what is wanted. It is called after every change of
// either. While an answer is outstanding nothing is decided: its arrival settles the seat again.
func (s *seat) settle() {
	wanted := s.wanted()
	switch {
	case s.busy != none:
	case wanted != s.had:
		if !wanted || !s.delayed {
			s.node.enqueue(s)
		}
	case !wanted:
		s.remove()
	}
}

// remove ends the seat, and with it a channel that has nobody left.
func (s *seat) remove() {
	c := s.channel
	delete(s.node.seats, s.of)
	if c.seat == s {
		c.seat = nil
		c.hub.forget(c)
	}
	if len(s.node.seats) == 0 {
		s.node.nudge()
	}
}

// gone reports whether the seat was removed since it was queued.
func (s *seat) gone() bool { return s.node.seats[s.of] != s }

// hasten has those with a vigil told Alive as soon as may be.
func (s *seat) hasten() {
	if !s.hurried {
		s.hurried = true
		s.node.hurry = append(s.node.hurry, s)
	}
	s.node.nudge()
}
