package combine

import (
	"math/bits"
	"time"
)

// line is one key on which calls are under way. It is in its shard's map exactly
// while a flight is counted in flying, and calls wait in it only then. All of it
// is under the shard's mutex.
type line[K comparable, Q, A any] struct {
	table *Table[K, Q, A]
	shard *shard[K, Q, A]
	key   K

	queue []*Call[Q, A] // in arrival order; nil where a caller has left
	base  uint64        // the place of queue[0]
	holes int           // nils in queue

	flying  int           // flights under way, or about to start
	numbers uint64        // of those under way, a bit each
	last    time.Duration // when the last of them left

	alarm alarm
	spare []*Call[Q, A]  // an empty batch, for the next flight
	solo  [1]*Call[Q, A] // the batch of a caller that flies itself
	fly   func()         // l.run, bound once
}

func newLine[K comparable, Q, A any](t *Table[K, Q, A]) *line[K, Q, A] {
	l := &line[K, Q, A]{table: t}
	l.fly = l.run
	return l
}

// add queues c.
func (l *line[K, Q, A]) add(c *Call[Q, A]) {
	c.queued, c.place = true, l.base+uint64(len(l.queue))
	l.queue = append(l.queue, c)
}

// push queues c, and reports whether a further flight is to be launched at once;
// it is counted then.
func (l *line[K, Q, A]) push(c *Call[Q, A]) (launch bool) {
	l.add(c)
	return l.flying < l.table.cfg.Flights && (!l.alarm.set || l.crowded()) && l.depart()
}

// mostFlights is how many numbers there are.
const mostFlights = 64

// unnumbered is what a flight has that has not taken off.
const unnumbered = -1

// number gives a flight that takes off the least number that is free. It counts
// already, so there is one.
func (l *line[K, Q, A]) number() int {
	n := bits.TrailingZeros64(^l.numbers)
	l.numbers |= 1 << n
	return n
}

// unnumber takes the number of a flight that has landed.
func (l *line[K, Q, A]) unnumber(flight int) {
	if flight != unnumbered {
		l.numbers &^= 1 << flight
	}
}

// waiting returns how many calls are queued.
func (l *line[K, Q, A]) waiting() int { return len(l.queue) - l.holes }

// remove takes c out of the queue.
func (l *line[K, Q, A]) remove(c *Call[Q, A]) {
	c.queued = false
	l.queue[c.place-l.base] = nil
	l.holes++
	if l.waiting() == 0 {
		l.empty()
		l.hush()
	} else if l.holes > len(l.queue)/2 {
		l.compact()
	}
}

// compact closes the holes.
func (l *line[K, Q, A]) compact() {
	if l.holes == 0 {
		return
	}
	kept := l.queue[:0]
	for _, c := range l.queue {
		if c != nil {
			c.place = l.base + uint64(len(kept))
			kept = append(kept, c)
		}
	}
	clear(l.queue[len(kept):])
	l.queue, l.holes = kept, 0
}

func (l *line[K, Q, A]) empty() {
	clear(l.queue)
	l.queue, l.holes = l.queue[:0], 0
}

// take moves into batch what may go out as one. Somebody waits.
func (l *line[K, Q, A]) take(batch []*Call[Q, A]) []*Call[Q, A] {
	l.compact()
	n := l.table.cut(l.queue)
	if n == len(l.queue) {
		batch, l.queue = l.queue, batch[:0]
		l.hush()
	} else {
		batch = append(batch[:0], l.queue[:n]...)
		clear(l.queue[:n])
		l.queue = l.queue[n:]
		l.base += uint64(n)
		if l.flying < l.table.cfg.Flights { // those who still wait need not wait for a landing
			gap := l.table.gap()
			l.wake(l.last+gap, gap)
		}
	}
	for _, c := range batch {
		c.queued = false
	}
	return batch
}

// mostKept bounds the room for calls that an idle line keeps.
const mostKept = 1024

// close takes the line out of the table, when its last flight has landed.
func (l *line[K, Q, A]) close() {
	delete(l.shard.lines, l.key)
	var none K
	l.key = none
	if cap(l.queue) > mostKept {
		l.queue = nil
	}
	if cap(l.spare) > mostKept {
		l.spare = nil
	}
	if l.alarm.quiet() { // else it is the collector's
		l.table.lines.Put(l)
	}
}
