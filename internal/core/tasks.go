package core

import (
	"sync/atomic"
)

// stopped is beside the number of tasks once none may begin any more.
const stopped = 1 << 62

// Tasks are what Close waits for. They are counted without a mutex, since all calls
// of a client meet here.
type Tasks struct {
	n     atomic.Int64
	ended chan struct{} // with one place, once they were stopped: there may be none any more
}

// Begin counts one, unless they were stopped.
func (t *Tasks) Begin() bool {
	if t.n.Add(1) < stopped {
		return true
	}
	t.Done()
	return false
}

// Join counts one more, for who is one or belongs to one.
func (t *Tasks) Join() { t.n.Add(1) }

// Done counts one out.
func (t *Tasks) Done() {
	if t.n.Add(-1) != stopped {
		return
	}
	select {
	case t.ended <- struct{}{}:
	default:
	}
}

// Run joins f, on a goroutine of its own.
func (t *Tasks) Run(f func()) {
	t.Join()
	go func() {
		defer t.Done()
		f()
	}()
}

// stop has no others begin, and is called once.
func (t *Tasks) stop() {
	t.ended = make(chan struct{}, 1) // seen by all who see that they were stopped
	t.n.Add(stopped)
}

// wait returns when there are none, once they were stopped.
func (t *Tasks) wait() {
	for t.n.Load() != stopped {
		<-t.ended
	}
}

// Shut has Open fail, closes Closing, and runs what is to run then. Once is enough.
func Shut(c *Core) {
	if c.shutting.Swap(true) {
		return
	}
	close(c.closing)
	c.wakesMu.Lock()
	defer c.wakesMu.Unlock()
	for _, f := range c.wakes {
		f()
	}
}

// End ends the tasks and goroutines: none begin any more, and those under way are waited for.
func End(c *Core) {
	c.Tasks.stop()
	c.Tasks.wait()
	c.crew.End()
}

// During runs f, which is short once Close has begun, on this goroutine, and
// Close waits for it. It is false, and f does not run, once Close has stopped
// waiting.
func (c *Core) During(f func()) bool {
	if !c.Tasks.Begin() {
		return false
	}
	defer c.Tasks.Done()
	f()
	return true
}

// Closing returns a channel that is closed when Close begins.
func (c *Core) Closing() <-chan struct{} { return c.closing }

// WhenClosing has f run when Close begins, behind Open and before Close waits for
// anybody, or at once if it has begun. F is quick, and blocks on nobody.
func (c *Core) WhenClosing(f func()) {
	c.wakesMu.Lock()
	defer c.wakesMu.Unlock()
	if c.Open() != nil {
		f()
		return
	}
	c.wakes = append(c.wakes, f)
}
