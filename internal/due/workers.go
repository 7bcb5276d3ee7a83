package due

import "sync"

// Workers work on what is due, a few at a time: what takes an exchange with a
// server, which may be silent, must not hold up the [Loop], nor what is due on
// other servers. There is no goroutine while there is no work.
type Workers[T any] struct {
	most  int
	spawn func(f func()) bool
	open  func() bool
	do    func(T)

	mu    sync.Mutex
	crews map[string]*crew[T] // by node; one without work is not there
}

// crew is those who work on what is due on one node.
type crew[T any] struct {
	node    string
	waiting []T
	working int
}

// NewWorkers returns workers of which most work at the same time for each node, on
// goroutines from spawn, while the owner is open. What waits when it is not is
// dropped.
func NewWorkers[T any](most int, spawn func(f func()) bool, open func() bool, do func(T)) *Workers[T] {
	return &Workers[T]{most: most, spawn: spawn, open: open, do: do, crews: map[string]*crew[T]{}}
}

// Give has it done, behind what waits already for that node.
func (w *Workers[T]) Give(node string, it T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.crews[node]
	if c == nil {
		c = &crew[T]{node: node}
		w.crews[node] = c
	}
	c.waiting = append(c.waiting, it)
	if c.working < w.most && w.spawn(func() { w.work(c) }) { // ends when nothing waits
		c.working++
	}
	w.tidy(c)
}

func (w *Workers[T]) tidy(c *crew[T]) {
	if c.working == 0 {
		delete(w.crews, c.node)
	}
}

func (w *Workers[T]) work(c *crew[T]) {
	for {
		it, some := w.next(c)
		if !some {
			return
		}
		w.do(it)
	}
}

func (w *Workers[T]) next(c *crew[T]) (it T, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(c.waiting) == 0 || !w.open() {
		c.waiting = nil
		c.working--
		w.tidy(c)
		return it, false
	}
	it, c.waiting = c.waiting[0], c.waiting[1:]
	return it, true
}
