package redistest

import (
	"sync"
	"time"
)

// item is something on its way through the proxy.
type item struct {
	raw    []byte
	cmd    []string // of a request
	answer []byte   // what the client gets in place of the reply; nil: the reply
	twice  bool     // the server gets the request twice
	due    time.Time
	held   *Held
	end    bool // the sender has hung up
	cut    bool // both sides are to be cut
}

// wait lets the item's time come; false means that the link was cut meanwhile.
func (it item) wait(done <-chan struct{}) bool {
	if it.held != nil {
		select {
		case <-it.held.released:
		case <-done:
			return false
		}
	}
	if it.due.IsZero() {
		return true
	}
	timer := time.NewTimer(time.Until(it.due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}

// queue is unbounded: a reader must never be stuck behind what is held back.
type queue struct {
	mu    sync.Mutex
	items []item
	ready chan struct{} // holds a token when there may be items
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) push(it item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, it)
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// pop takes the oldest item; false means that the link was cut.
func (q *queue) pop(done <-chan struct{}) (item, bool) {
	for {
		if it, ok := q.take(); ok {
			return it, true
		}
		select {
		case <-q.ready:
		case <-done:
			return item{}, false
		}
	}
}

func (q *queue) take() (item, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return item{}, false
	}
	it := q.items[0]
	q.items = q.items[1:]
	return it, true
}
