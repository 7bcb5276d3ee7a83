package main

import "time"

// tally is what the processes have said so far.
type tally struct {
	ready, done, dead int
	killed            bool
	counts            []count         // by process
	waits             []time.Duration // of those who got a piece
	opened, last      time.Time
	gap               time.Duration // the longest time in which nobody was served
}

func (t *tally) answered() (n int) {
	for _, said := range t.counts {
		n += said.served
	}
	return n
}

// count is what one process said about its buyers.
type count struct{ served, sold int }

func newTally(processes int) tally { return tally{counts: make([]count, processes)} }

func (t *tally) open() {
	t.opened = time.Now()
	t.last = t.opened
}

func (t *tally) served(e event) {
	now := time.Now()
	t.gap = max(t.gap, now.Sub(t.last))
	t.last = now
	t.counts[e.Process].served++
	if e.Kind == sold {
		t.waits = append(t.waits, e.Wait)
		t.counts[e.Process].sold++
	}
}
