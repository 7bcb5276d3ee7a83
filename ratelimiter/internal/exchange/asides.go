package exchange

import (
	"context"
	"sync/atomic"
	"time"
)

// mostAside is how many may be under way.
const mostAside = 4096

// asides counts the requests that nobody waits for.
type asides struct{ underWay atomic.Int64 }

func (a *asides) enter() bool {
	if a.underWay.Add(1) > mostAside {
		a.leave()
		return false
	}
	return true
}

func (a *asides) leave() { a.underWay.Add(-1) }

// asideWithin is how long one may take.
const asideWithin = 5 * time.Second

// Aside does what nobody waits for. It reports whether it is not too much.
func (c *Core) Aside(ctx context.Context, do func(context.Context)) bool {
	if !c.asides.enter() {
		return false
	}
	run := func() {
		defer c.asides.leave()
		bounded, cancel := context.WithTimeout(ctx, asideWithin)
		defer cancel()
		do(bounded)
	}
	if !c.Engine.Spawn(run) { // ends within that time
		c.asides.leave()
	}
	return true
}
