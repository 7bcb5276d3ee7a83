// Package due does work that is due later: one loop for all of it, with neither
// a goroutine nor a timer per name.
//
// A name enters with its first need and leaves when there is none. While nothing
// is due later, there is no goroutine. The loop itself runs nothing if it has a
// Do: then no run delays another by more than Do lets it.
package due

import (
	"container/heap"
	"sync"
	"time"
)

// Run does what is due of one name, and says in how long it is due next;
// negative: not again, and the name leaves. It bounds itself.
type Run func() (next time.Duration)

// Loop is names with work. Its functions are safe for concurrent use, and may be
// called by a Run.
type Loop[K comparable] struct {
	// Spawn runs f on a goroutine that the owner's Close waits for. False means
	// that the owner is closed, and that f does not run.
	Spawn func(f func()) bool
	// Closing ends the loop: what is under way is finished, and nothing else is
	// begun.
	Closing <-chan struct{}
	// Do runs f, which is what is due of key, on another goroutine, or drops it if the
	// owner is closed. Nil: the loop's own goroutine runs it, and others wait for it.
	Do func(key K, f func())

	mu      sync.Mutex
	names   map[K]*entry[K]
	order   order[K]
	running bool          // the goroutine is there
	wake    chan struct{} // something is due earlier; one poke is enough
}

// entry is one name.
type entry[K comparable] struct {
	key  K
	due  time.Time
	run  Run
	at   int  // in the order; out: it is being run
	more bool // it is to run again at due, whatever the run under way says
	gone bool // it left meanwhile
}

// out is the place of an entry that is not in the order.
const out = -1

// In has run called in d, or earlier if key is due earlier already. It replaces
// the run from before. It reports false if the owner is closed.
func (l *Loop[K]) In(key K, d time.Duration, run Run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	due, e := time.Now().Add(d), l.names[key]
	if e == nil {
		l.enter(key, due, run)
		return l.start()
	}
	e.run, e.gone = run, false
	if e.at == out && !e.more || due.Before(e.due) {
		l.move(e, due)
	}
	return l.start()
}

func (l *Loop[K]) enter(key K, due time.Time, run Run) {
	if l.names == nil {
		l.names, l.wake = make(map[K]*entry[K]), make(chan struct{}, 1)
	}
	e := &entry[K]{key: key, run: run}
	l.names[key] = e
	l.put(e, due)
	if e.at == 0 {
		l.poke()
	}
}

// move changes when e is due.
func (l *Loop[K]) move(e *entry[K], due time.Time) {
	e.due = due
	if e.at == out {
		e.more = true
		return
	}
	heap.Fix(&l.order, e.at)
	if e.at == 0 {
		l.poke()
	}
}

func (l *Loop[K]) put(e *entry[K], due time.Time) {
	e.due, e.more = due, false
	heap.Push(&l.order, e)
}

func (l *Loop[K]) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Leave takes key out. A run under way goes on, and is the last.
func (l *Loop[K]) Leave(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.names[key]
	switch {
	case e == nil:
	case e.at == out:
		e.gone, e.more = true, false
	default:
		heap.Remove(&l.order, e.at)
		delete(l.names, key)
		l.poke() // it may have been the last
	}
}

// Len returns how many names there are.
func (l *Loop[K]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.names)
}

// start sees to it that the goroutine is there.
func (l *Loop[K]) start() bool {
	if !l.running {
		l.running = l.Spawn(l.loop) // ends when no name is in, or with Closing
	}
	if !l.running {
		l.clear()
	}
	return l.running
}

func (l *Loop[K]) clear() { l.names, l.order, l.wake = nil, nil, nil }

func (l *Loop[K]) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		e, run, wait, wake := l.next()
		switch {
		case wake == nil:
			return
		case e != nil && l.Do != nil:
			l.Do(e.key, func() { l.done(e, run()) })
			continue
		case e != nil:
			l.done(e, run())
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-wake:
		case <-l.Closing:
		}
	}
}

// next takes the entry that is due, and what it runs as of now, or says how long
// there is none. Without a wake there is nothing left to do.
func (l *Loop[K]) next() (e *entry[K], run Run, wait time.Duration, wake <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.Closing:
		l.clear()
	default:
	}
	if len(l.order) == 0 {
		l.running = false // what is being run starts it again
		if len(l.names) == 0 {
			l.clear()
		}
		return nil, nil, 0, nil
	}
	if wait = time.Until(l.order[0].due); wait > 0 {
		return nil, nil, wait, l.wake
	}
	e = heap.Pop(&l.order).(*entry[K])
	return e, e.run, 0, l.wake
}

// done puts an entry back that has run, unless it is not needed any more.
func (l *Loop[K]) done(e *entry[K], next time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := time.Now().Add(next)
	switch {
	case l.names == nil: // the owner is closed
		return
	case e.gone, next < 0 && !e.more:
		delete(l.names, e.key)
		return
	case e.more && (next < 0 || e.due.Before(due)):
		due = e.due
	}
	l.put(e, due)
	if e.at == 0 {
		l.poke()
	}
	l.start()
}

// order is a heap of entries, the first to come due in front.
type order[K comparable] []*entry[K]

func (o order[K]) Len() int           { return len(o) }
func (o order[K]) Less(i, j int) bool { return o[i].due.Before(o[j].due) }

func (o order[K]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].at, o[j].at = i, j
}

func (o *order[K]) Push(x any) {
	e := x.(*entry[K])
	e.at = len(*o)
	*o = append(*o, e)
}

func (o *order[K]) Pop() any {
	last := len(*o) - 1
	e := (*o)[last]
	(*o)[last], *o = nil, (*o)[:last]
	e.at = out
	return e
}
