package poller

import (
	"slices"
	"time"
)

// Where a node has more groups than connections, all connections but one block, each for one
// group. The last one polls the names of all other groups: it asks whether they have something,
// without waiting, and takes where they have.

// A poller asks about each name once in perLook for each name that the process polls, on all
// nodes together: 22,000 questions a second. It asks about mostLooks of them at once.
const (
	perLook   = 45 * time.Microsecond
	leastPoll = 25 * time.Millisecond
	mostLooks = 500
)

// Look is a name about which a server is asked.
type Look struct {
	Kind *Kind
	Name string
}

// Seen is the answer.
type Seen struct {
	Has bool
	Err error
}

// asked is a look for a group.
type asked struct {
	Look
	group *group
}

// poll polls until the node has few enough groups for its connections, or the client closes.
func (w *worker) poll() {
	for groups := w.toPoll(); len(groups) > 0; groups = w.toPoll() {
		began := time.Now()
		pause := w.pollOnce(groups)
		w.sleep(max(pause, time.Until(began.Add(w.p.pollEvery()))))
	}
}

// toPoll returns the groups that have no connection. It gives groups to connections that are
// free. There is none when they suffice.
func (w *worker) toPoll() []*group {
	p, n := w.p, w.node
	p.mu.Lock()
	defer p.mu.Unlock()
	all := append(n.polled, n.queue...)
	n.polled, n.queue = nil, nil
	for _, g := range all {
		switch {
		case len(g.lines) == 0:
			g.queued = false
			p.forget(g)
		case p.nodeOf(g) != n, n.free(p.Connections):
			p.queue(g)
		default:
			n.polled = append(n.polled, g)
		}
	}
	if len(n.polled) < 2 || p.closing() {
		n.queue = append(n.queue, n.polled...)
		n.polled, n.polling = nil, false
	}
	n.looks = 0
	for _, g := range n.polled {
		n.looks += len(g.lines)
	}
	return slices.Clone(n.polled)
}

// free reports whether there is, or may be, a connection that serves nobody.
func (n *node) free(most int) bool { return len(n.idle) > 0 || len(n.workers) < most }

// pollEvery returns how often each name is polled.
func (p *Poller) pollEvery() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	looks := 0
	for _, n := range p.nodes {
		looks += n.looks
	}
	return max(leastPoll, time.Duration(looks)*perLook)
}

// pollOnce asks about each name of the groups, and takes where there is something. It returns how long to pause
// because of what failed.
func (w *worker) pollOnce(groups []*group) (pause time.Duration) {
	conn, err := w.connected(groups...)
	if err != nil {
		return w.failedAll(groups, err)
	}
	for some := range slices.Chunk(w.p.looks(groups), mostLooks) {
		looks := make([]Look, len(some))
		for i, a := range some {
			looks[i] = a.Look
		}
		for i, seen := range conn.Look(looks) {
			switch {
			case w.p.closing():
				return 0
			case seen.Err != nil:
				pause = max(pause, w.unseen(some[i], seen.Err))
			default:
				w.serves(some[i].group)
				if seen.Has {
					pause = max(pause, w.take(conn, some[i]))
				}
			}
			if !w.has(conn) { // it was given up
				return pause
			}
		}
	}
	return pause
}

// looks are the names of the groups.
func (p *Poller) looks(groups []*group) (all []asked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range groups {
		for _, l := range g.lines {
			all = append(all, asked{Look{g.kind, l.name}, g})
		}
	}
	return all
}

// take takes for those who stand in line for a name that has something.
func (w *worker) take(conn Conn, a asked) time.Duration {
	if a.Kind.Tells {
		w.p.Tell(a.Kind, a.Name)
		return 0
	}
	items, err := conn.Pop(a.Kind, a.Name, 1)
	if w.p.hand(a.Kind, a.Name, items) == 0 && err == nil && len(items) > 0 {
		err = w.follow(conn, a.Kind, a.Name, items[0])
	}
	if err != nil {
		return w.failed(a.group, []string{a.Name}, err)
	}
	return 0
}

// unseen deals with a look that failed. Nothing was taken by it.
func (w *worker) unseen(a asked, err error) time.Duration {
	switch w.p.server.Judge(err) {
	case Moving, Final, Full:
		return w.failed(a.group, []string{a.Name}, err)
	}
	w.p.mu.Lock()
	groups := slices.Clone(w.node.polled)
	w.p.mu.Unlock()
	return w.failedAll(groups, err)
}

// failedAll deals with an error about a connection that serves all of these groups.
func (w *worker) failedAll(groups []*group, err error) (pause time.Duration) {
	for _, g := range groups {
		pause = max(pause, w.failed(g, nil, err))
	}
	return pause
}

// has reports whether conn still is the connection of the worker.
func (w *worker) has(conn Conn) bool {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.conn == conn
}
