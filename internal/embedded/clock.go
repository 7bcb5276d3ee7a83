package embedded

import (
	"sync"
	"time"
)

// step is by how much the clock moves at least: half of the smallest safety
// margin of a hold, which it eats into.
const step = time.Millisecond

// clock tells a server what time it is.
type clock struct {
	set    func(time.Time)
	now    func() time.Time
	manual bool

	mu    sync.Mutex
	at    time.Time     // what the server believes
	ahead time.Duration // how far it was moved by hand
}

func (c *clock) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(c.now())
}

// arrived moves the clock to the present. The mutex is held while the server is
// told, so that its time never goes back: it would charge keys for the
// difference twice.
func (c *clock) arrived() {
	if c.manual {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now().Add(c.ahead); now.Sub(c.at) >= step {
		c.tell(now)
	}
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manual {
		c.tell(c.at.Add(d))
		return
	}
	c.ahead += d
	c.tell(c.now().Add(c.ahead))
}

// time returns what a client's clock says that goes with the server's.
func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manual {
		return c.at
	}
	return c.now().Add(c.ahead)
}

func (c *clock) tell(at time.Time) {
	c.at = at
	c.set(at)
}
