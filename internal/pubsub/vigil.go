package pubsub

import (
	"context"
	"time"
)

// Vigil is Subscribe for a listener that has to know whether it hears everything: it is told Alive at once, and then
// every so often, as long as the subscription stands and the server answers on the connection by which its messages
// come. A server that is silent, or not the one any more, is not vouched for, nor is one that cannot save: it denies what
// would have to be asked.
func (h *Hub) Vigil(ctx context.Context, channel Channel, every time.Duration, listen func(Event)) (*Subscription, error) {
	s, err := h.subscribe(ctx, channel, listen, every)
	if err == nil {
		h.mu.Lock()
		if at := s.channel.seat; at != nil {
			at.hasten()
		}
		h.mu.Unlock()
	}
	return s, err
}

// pace takes in that so many more, or fewer, ask for a check every so often.
func (h *Hub) pace(every time.Duration, more int) {
	if h.beats == nil {
		h.beats = make(map[time.Duration]int)
	}
	if h.beats[every] += more; h.beats[every] == 0 {
		delete(h.beats, every)
	}
	h.beat = 0
	for every := range h.beats {
		if h.beat == 0 || every < h.beat {
			h.beat = every
		}
	}
}

// vigils returns the seats that stand and have a listener with a vigil: all of them where they are due, else those where
// somebody waits for it. It sets when they are looked at next.
func (n *node) vigils(now time.Time, due bool) (seats []*seat) {
	n.hub.mu.Lock()
	defer n.hub.mu.Unlock()
	take := func(s *seat) {
		if s.had && s.channel.seat == s && s.channel.vigilant() {
			seats = append(seats, s)
		}
	}
	hurry := n.hurry
	n.hurry = nil
	for _, s := range hurry {
		if s.hurried = false; !due {
			take(s)
		}
	}
	if due {
		for _, s := range n.seats {
			take(s)
		}
		n.vigilAt = now.Add(n.hub.opts.Check)
	}
	if len(seats) > 0 {
		n.vigilAt = earlier(n.vigilAt, now.Add(n.hub.beat))
	}
	return seats
}

func (c *channel) vigilant() bool {
	for _, s := range c.listeners {
		if s.every > 0 {
			return true
		}
	}
	return false
}

// vouch tells the listeners of those seats that stand still that they have heard everything from before sent.
func (n *node) vouch(seats []*seat, sent time.Time) {
	type told struct {
		channel   *channel
		listeners []*Subscription
	}
	var all []told
	n.hub.mu.RLock()
	for _, s := range seats {
		if s.had && !s.gone() && s.channel.seat == s {
			all = append(all, told{s.channel, s.channel.listeners})
		}
	}
	n.hub.mu.RUnlock()
	for _, a := range all {
		a.channel.tell(a.listeners, Event{Kind: Alive, At: sent})
	}
}
