package pubsub

import "time"

// mostUnheard is how many messages of a channel that lingers may come in vain. A subscription costs a round
// trip, and each message the server, its publisher and us a little: whoever visits a busy channel now and then
// must not slow it down in between.
const mostUnheard = 64

// linger keeps a deserted channel subscribed for a while. A node's lingering channels are in the order of
// their deadlines, since all linger equally long and each joins at the end. The worker is woken only if it
// sleeps past the deadline, so that a hot channel, joined and left all the time, does not keep it busy.
func (c *channel) linger() {
	n := c.seat.node
	c.unheard.Store(0)
	c.idleUntil = time.Now().Add(c.hub.opts.Linger)
	c.idle = n.idle.PushBack(c)
	if c.idleUntil.Before(n.alarm) {
		n.nudge()
	}
}

func (c *channel) stopLingering() {
	if c.idle != nil {
		c.seat.node.idle.Remove(c.idle)
		c.idle = nil
	}
}

// expire ends the linger of the channels whose time has come.
func (n *node) expire(now time.Time) {
	for e := n.idle.Front(); e != nil; e = n.idle.Front() {
		c := e.Value.(*channel)
		if c.idleUntil.After(now) {
			return
		}
		c.stopLingering()
		c.seat.settle()
	}
}

// ignored counts a message that nobody listened to. With the last that may come, the linger is over.
func (c *channel) ignored() {
	if c.unheard.Add(1) != mostUnheard {
		return
	}
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.idle != nil && c.unheard.Load() >= mostUnheard { // else somebody came, and has perhaps left again
		c.stopLingering()
		c.seat.settle()
	}
}
