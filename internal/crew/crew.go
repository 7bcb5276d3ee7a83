// Package crew runs short tasks on goroutines that are used again.
//
// A goroutine that has just begun grows its stack anew for each exchange with a
// server: measured, that is half of what a task on one of its own costs.
package crew

import "sync"

// most bounds the goroutines that wait for work. Beyond it they come and go
// with their tasks.
const most = 16

// Crew is a set of goroutines. Its zero value is ready, and has none.
type Crew struct {
	// After is called after each task, whichever way it ended; nil: nothing.
	// It is set before the first task.
	After func()

	mu    sync.Mutex
	idle  []*hand // whoever worked last is the first to work again
	ended bool
	gone  sync.WaitGroup
}

// hand is one goroutine.
type hand struct {
	next chan func() // with one place: whoever gives work does not wait; closed: go
}

// Go runs f on a goroutine.
func (c *Crew) Go(f func()) {
	if h := c.take(); h != nil {
		h.next <- f
		return
	}
	c.gone.Add(1)
	go c.work(f) // ends when it is one too many, or with End
}

func (c *Crew) take() *hand {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.idle) - 1
	if last < 0 {
		return nil
	}
	h := c.idle[last]
	c.idle[last], c.idle = nil, c.idle[:last]
	return h
}

func (c *Crew) work(f func()) {
	defer c.gone.Done() // also when a task ends its goroutine
	h := &hand{next: make(chan func(), 1)}
	for ; f != nil; f = <-h.next {
		c.do(f)
		if !c.rest(h) {
			return
		}
	}
}

func (c *Crew) do(f func()) {
	if c.After != nil {
		defer c.After()
	}
	f()
}

// rest reports whether h may wait for more.
func (c *Crew) rest(h *hand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || len(c.idle) == most {
		return false
	}
	c.idle = append(c.idle, h)
	return true
}

// End lets the goroutines go, and waits until they have. It is called once no
// task is begun any more.
func (c *Crew) End() {
	c.mu.Lock()
	c.ended = true
	for _, h := range c.idle {
		close(h.next)
	}
	c.idle = nil
	c.mu.Unlock()
	c.gone.Wait()
}
