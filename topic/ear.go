package topic

import "sync"

// ear is what came to one subscriber of a reliable topic, and waits for its loop.
type ear struct {
	f    *feed
	news chan struct{} // with one place

	mu     sync.Mutex
	queue  []*entry
	link   interruption // not told yet
	away   bool         // the connection is lost
	cut    bool
	missed int64 // messages, not told yet
	err    error
	closed bool
}

func (r *ear) poke() {
	select {
	case r.news <- struct{}{}:
	default: // one is enough: the loop that takes it looks whether there are more
	}
}

// with changes what came, and has a loop look.
func (r *ear) with(do func()) {
	r.mu.Lock()
	do()
	r.mu.Unlock()
	r.poke()
}

func (r *ear) lag(n int64) { r.with(func() { r.missed += n }) }

// connected notes that the connection is lost, or back.
func (r *ear) connected(yes bool) {
	r.with(func() {
		switch {
		case r.away != yes:
		case yes:
			r.away, r.link = false, r.link.then(reconnected)
		default:
			r.away, r.link = true, r.link.then(disconnected)
		}
	})
}

// back takes a message back that a loop has left. It is false once the ear is closed.
func (r *ear) back(it *entry) (open bool) {
	r.with(func() {
		if open = !r.closed; open {
			r.queue = append([]*entry{it}, r.queue...)
		}
	})
	return open
}

// sound is what a loop gets next.
type sound struct {
	it     *entry
	link   interruption
	cut    bool
	missed int64
	err    error
	closed bool
}

// take returns the next for a loop, if there is some.
func (r *ear) take() (s sound, some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return sound{closed: true}, true
	case r.link != 0:
		s.link = r.link.first()
		r.link &^= s.link
	case r.cut:
		r.cut = false
		s.cut = true
	case r.missed > 0:
		s.missed, r.missed = r.missed, 0
	case len(r.queue) > 0:
		s.it, r.queue = r.queue[0], r.queue[1:]
	case r.err != nil:
		return sound{err: r.err}, true
	default:
		r.queue = nil
		return s, false
	}
	if len(r.queue) > 0 || r.err != nil || r.link != 0 || r.cut || r.missed > 0 {
		r.poke()
	}
	return s, true
}

// close ends all loops. It returns the messages that no loop has had, and how many were missed and not reported to a loop.
func (r *ear) close() (left []*entry, missed int64) {
	r.with(func() {
		left, missed = r.queue, r.missed
		r.queue, r.missed, r.closed = nil, 0, true
	})
	return left, missed
}
