package core

import "sync/atomic"

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
