// Package crew runs short tasks on goroutines that are used again.
//
// A goroutine that has just begun grows its stack anew for each exchange with a
// server: measured, that is half of what a task on one of its own costs.
package crew

import (
	"slices"
	"sync"
	"time"
)

const (
	// most bounds the goroutines that wait for work. Beyond it they come and go
	// with their tasks.
	most = 16
	// idleFor is how often those go that have had nothing to do since.
	idleFor = time.Second
)

// Crew is a set of goroutines. Its zero value is ready, and has none; so has
// one that has had no work for a while.
type Crew struct {
	mu      sync.Mutex
	idle    []*hand // whoever worked last is the first to work again
	spared  int     // so many have had no work since the last look
	looking bool    // at those who are idle, in a while
	ended   bool
	gone    sync.WaitGroup
}

// hand is one goroutine.
type hand struct {
	next chan task // with one place: whoever gives work does not wait; closed: go
}

type task struct {
	run  func()
	done Tasks
}

// Tasks are what tasks are counted out of.
type Tasks interface{ Done() }

// Go runs f on a goroutine, and counts it out of tasks afterwards, whichever
// way it ends.
func (c *Crew) Go(tasks Tasks, f func()) {
	t := task{f, tasks}
	c.mu.Lock()
	if last := len(c.idle) - 1; last >= 0 {
		h := c.idle[last]
		c.idle[last], c.idle = nil, c.idle[:last]
		c.spared = min(c.spared, last)
		c.mu.Unlock()
		h.next <- t
		return
	}
	c.mu.Unlock()
	c.gone.Add(1)
	go c.work(t) // ends when it has nothing to do for a while
}

func (c *Crew) work(t task) {
	defer c.gone.Done() // also when a task ends its goroutine
	h := &hand{next: make(chan task, 1)}
	for more := true; more; t, more = <-h.next {
		t.do()
		if !c.rest(h) {
			return
		}
	}
}

func (t task) do() {
	defer t.done.Done()
	t.run()
}

// rest reports whether h may wait for more.
func (c *Crew) rest(h *hand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || len(c.idle) == most {
		return false
	}
	c.idle = append(c.idle, h)
	if !c.looking {
		c.look()
	}
	return true
}

// look sees to it that those who get no work go.
func (c *Crew) look() {
	c.looking, c.spared = true, len(c.idle)
	time.AfterFunc(idleFor, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.dismiss(c.spared)
		if c.looking = false; len(c.idle) > 0 {
			c.look()
		}
	})
}

// dismiss lets the n go that have been idle for longest.
func (c *Crew) dismiss(n int) {
	for _, h := range c.idle[:n] {
		close(h.next)
	}
	c.idle = slices.Delete(c.idle, 0, n)
}

// End lets the goroutines go, and waits until they have. It is called once no
// task is begun any more.
func (c *Crew) End() {
	c.mu.Lock()
	c.ended, c.spared = true, 0
	c.dismiss(len(c.idle))
	c.mu.Unlock()
	c.gone.Wait()
}
