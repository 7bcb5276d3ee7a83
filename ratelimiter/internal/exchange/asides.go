package exchange

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// mostAside is how many may be under way.
const mostAside = 4096

// asides are the requests that nobody waits for.
type asides struct {
	underWay atomic.Int64

	mu    sync.Mutex
	takes map[string]map[chan struct{}]struct{} // those that take, by the bucket's state; closed when one is over
}

func (a *asides) enter() bool {
	if a.underWay.Add(1) > mostAside {
		a.leave()
		return false
	}
	return true
}

func (a *asides) leave() { a.underWay.Add(-1) }

// taking notes a request that takes of a bucket, until it is over.
func (a *asides) taking(state string) (over func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.takes == nil {
		a.takes = map[string]map[chan struct{}]struct{}{}
	}
	if a.takes[state] == nil {
		a.takes[state] = map[chan struct{}]struct{}{}
	}
	one := make(chan struct{})
	a.takes[state][one] = struct{}{}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		close(one)
		if delete(a.takes[state], one); len(a.takes[state]) == 0 {
			delete(a.takes, state)
		}
	}
}

// before returns those that take of a bucket now.
func (a *asides) before(state string) []chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.takes[state]))
}

// asideWithin is how long one may take.
const asideWithin = 5 * time.Second

// Aside takes of a bucket, and nobody waits for it. It reports whether it is not
// too much.
func (c *Core) Aside(ctx context.Context, state string, do func(context.Context)) bool {
	if !c.asides.enter() {
		return false
	}
	over := c.asides.taking(state)
	c.aside(ctx, do, func() {
		over()
		c.asides.leave()
	})
	return true
}

// AsideBehind corrects what was taken, once what takes of the bucket by now is
// over: what is given back to a full bucket is lost.
func (c *Core) AsideBehind(ctx context.Context, state string, do func(context.Context)) bool {
	if !c.asides.enter() {
		return false
	}
	takes := c.asides.before(state)
	c.aside(ctx, func(ctx context.Context) {
		for _, one := range takes {
			select {
			case <-one:
			case <-ctx.Done():
			}
		}
		do(ctx)
	}, c.asides.leave)
	return true
}

func (c *Core) aside(ctx context.Context, do func(context.Context), over func()) {
	run := func() {
		defer over()
		bounded, cancel := context.WithTimeout(ctx, asideWithin)
		defer cancel()
		do(bounded)
	}
	if !c.Engine.Spawn(run) { // ends within that time
		over()
	}
}
