package poller

import (
	"slices"
	"time"
)

// waiter is a caller. It stands in a line for each of its names.
type waiter struct {
	got   chan Taken // with one place: whoever hands over does not wait
	since time.Time
	bytes int64 // that it expects an element to have; 0: any
	lines []*line
}

// Taken is what a waiter gets.
type Taken struct {
	Key  string
	Item Item
	Err  error
}

type lineKey struct {
	kind *Kind
	name string
}

// line is who waits for one name.
type line struct {
	lineKey
	group   *group
	waiters []*waiter
	last    failure // of a request of somebody who stands in it
}

// failure is why a request was not served, and when it failed: see Poller.tick.
type failure struct {
	why error
	at  uint64
}

// mostNames bounds the names of one command.
const mostNames = 1000

// group is lines that one command may name.
type group struct {
	kind  *Kind
	slot  uint16
	lines []*line
	at    int // where the next command begins

	queued  bool    // for a turn, or in one
	running *worker // that blocks in a command for the group
	outage  outage
	rests   time.Time // it is not polled until then
	last    failure   // of a command
	doubted uint64    // when a request about one of its names failed: older connections may be dead
	proved  uint64    // when a connection was made for it, or has answered
	finals  int       // refusals behind each other
	late    bool      // the last answer did not come in time, and may have been long
}

// expects returns the most bytes that a caller of the group expects of an element, of each line the first; 0: none knows.
func (g *group) expects() (bytes int64) {
	for _, l := range g.lines {
		if len(l.waiters) > 0 {
			bytes = max(bytes, l.waiters[0].bytes)
		}
	}
	return bytes
}

// names returns the names of the next command, beginning behind the one that was served
// last, so that no busy one starves the others.
func (g *group) names() []string {
	names := make([]string, 0, len(g.lines))
	if g.at >= len(g.lines) {
		g.at = 0
	}
	for _, l := range g.lines[g.at:] {
		names = append(names, l.name)
	}
	for _, l := range g.lines[:g.at] {
		names = append(names, l.name)
	}
	return names
}

// served has the next command begin behind a line.
func (g *group) served(l *line) {
	if i := slices.Index(g.lines, l); i >= 0 {
		g.at = i + 1
	}
}

func (g *group) remove(l *line) {
	i := slices.Index(g.lines, l)
	if i < 0 {
		return
	}
	if g.lines = slices.Delete(g.lines, i, i+1); i < g.at {
		g.at--
	}
}

// outage is how long a group has not been served.
type outage struct {
	since time.Time
	times int
}

// failed counts a failure, and says how long to pause.
func (o *outage) failed(now time.Time) time.Duration {
	if o.times++; o.times == 1 {
		o.since = now
	}
	return min(firstPause<<min(o.times, 10), mostPause)
}

const (
	firstPause = 25 * time.Millisecond
	mostPause  = time.Second
)
