package pubsub

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// channel is what listeners join. It exists while it has listeners or a seat. Its fields are guarded by
// Hub.mu, except telling.
type channel struct {
	Channel
	hub  *Hub
	seat *seat // where it belongs; nil until it is located

	// listeners is replaced, never changed in place: a message goes to those who were there when it arrived,
	// without a lock held and without a copy made.
	listeners []*Subscription

	idle      *list.Element // its place among the node's lingering channels
	idleUntil time.Time
	unheard   atomic.Int32 // messages since it lingers
	hops      int          // MOVED answers since it last stood

	telling sync.Mutex // one listener call at a time, whichever connection it comes from
}

// stands reports whether the server has confirmed the subscription and we have not asked it to end it.
func (c *channel) stands() bool { return c.seat != nil && c.seat.had }

func (c *channel) add(s *Subscription) {
	c.listeners = append(slices.Clip(c.listeners), s)
	c.stopLingering()
	if c.seat != nil {
		c.seat.settle()
	}
}

// remove takes one listener out. A second removal, of one that has failed meanwhile, finds nothing.
func (c *channel) remove(s *Subscription, linger bool) {
	i := slices.Index(c.listeners, s)
	if i < 0 {
		return
	}
	c.listeners = slices.Concat(c.listeners[:i], c.listeners[i+1:])
	if len(c.listeners) == 0 {
		c.deserted(linger)
	}
}

// deserted decides what becomes of a channel that nobody listens to any more.
func (c *channel) deserted(linger bool) {
	if c.seat == nil {
		c.hub.forget(c)
		return
	}
	if linger && c.hub.opts.Linger > 0 && (c.seat.had || c.seat.busy == joining) {
		c.linger()
	}
	c.seat.settle()
}

// forget drops a channel that has neither listeners nor a seat.
func (h *Hub) forget(c *channel) {
	if h.channels[c.Channel] == c {
		delete(h.channels, c.Channel)
	}
}

// resolve ends the wait of the pending listeners, and returns the others.
func (c *channel) resolve() (standing []*Subscription) {
	for _, s := range c.listeners {
		if s.pending {
			s.resolve(nil)
		} else {
			standing = append(standing, s)
		}
	}
	return standing
}

// fail ends the wait of those pending listeners for which give says so; they leave the channel.
func (c *channel) fail(cause error, give func(*Subscription) bool) {
	var stay []*Subscription
	for _, s := range c.listeners {
		if s.pending && give(s) {
			s.resolve(cause)
		} else {
			stay = append(stay, s)
		}
	}
	c.listeners = stay
	if len(stay) == 0 {
		c.stopLingering() // what does not stand is not worth keeping
	}
}

// tell calls the listeners. Those who have left since the message arrived are spared.
func (c *channel) tell(listeners []*Subscription, ev Event) {
	c.telling.Lock()
	defer c.telling.Unlock()
	for _, s := range listeners {
		if !s.closed.Load() && (s.every > 0 || ev.Kind != Alive) && (ev.Kind != Lost || s.losses.Load()) {
			s.listen(ev)
		}
	}
}
