package due

import "sync"

// Workers work on what is due, a few at a time: what takes an exchange with a
// server, which may be silent, must not hold up the [Loop]. There is no goroutine
// while there is no work.
type Workers[T any] struct {
	most  int
	spawn func(f func()) bool
	open  func() bool
	do    func(T)

	mu      sync.Mutex
	waiting []T
	working int
}

// NewWorkers returns workers of which most work at the same time, on goroutines
// from spawn, while the owner is open. What waits when it is not is dropped.
func NewWorkers[T any](most int, spawn func(f func()) bool, open func() bool, do func(T)) *Workers[T] {
	return &Workers[T]{most: most, spawn: spawn, open: open, do: do}
}

// Give has it done, behind what waits already.
func (w *Workers[T]) Give(it T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, it)
	if w.working < w.most && w.spawn(w.work) { // ends when nothing waits
		w.working++
	}
}

func (w *Workers[T]) work() {
	for {
		it, some := w.next()
		if !some {
			return
		}
		w.do(it)
	}
}

func (w *Workers[T]) next() (it T, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 || !w.open() {
		w.waiting = nil
		w.working--
		return it, false
	}
	it, w.waiting = w.waiting[0], w.waiting[1:]
	return it, true
}
