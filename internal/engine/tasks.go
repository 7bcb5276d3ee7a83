package engine

import "sync/atomic"

// stopped is beside the number of tasks once none may begin any more.
const stopped = 1 << 62

// tasks are what Close waits for. They are counted without a mutex, since all calls
// of a client meet here.
type tasks struct {
	n     atomic.Int64
	ended chan struct{} // with one place, once they were stopped: there may be none any more
}

// begin counts one, unless they were stopped.
func (t *tasks) begin() bool {
	if t.n.Add(1) < stopped {
		return true
	}
	t.Done()
	return false
}

// join counts one more, for who is one or belongs to one.
func (t *tasks) join() { t.n.Add(1) }

// Done counts one out.
func (t *tasks) Done() {
	if t.n.Add(-1) != stopped {
		return
	}
	select {
	case t.ended <- struct{}{}:
	default:
	}
}

// run joins f, on a goroutine of its own.
func (t *tasks) run(f func()) {
	t.join()
	go func() {
		defer t.Done()
		f()
	}()
}

// stop has no others begin, and is called once.
func (t *tasks) stop() {
	t.ended = make(chan struct{}, 1) // seen by all who see that they were stopped
	t.n.Add(stopped)
}

// wait returns when there are none, once they were stopped.
func (t *tasks) wait() {
	for t.n.Load() != stopped {
		<-t.ended
	}
}
