package poller

import (
	"slices"
	"time"
)

// Where a node has more groups than connections, all connections but one block, each for one
// group. The last one polls the names of all other groups: it asks whether they have something,
// without waiting, and takes where they have.

// A client asks about each name once in perLook for each name that it polls, on all nodes
// together: about 22,000 questions a second. It asks about mostLooks of them at once.
const (
	perLook   = 45 * time.Microsecond
	leastPoll = 25 * time.Millisecond
	mostLooks = 500
)

// unknownBytes stands for the length of an element that no caller knows.
const unknownBytes = mostBytes / 16

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

// Popped is the answer to a pop.
type Popped struct {
	Items []Item
	Err   error
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
		if pause == 0 && w.mayShare() {
			continue
		}
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

// pollOnce asks about each name of the groups, and takes where there is something. It ends early when a connection
// becomes free for some of the groups. It returns how long to pause because the connection has failed.
func (w *worker) pollOnce(groups []*group) (pause time.Duration) {
	conn, err := w.connected(groups...)
	if err != nil {
		return w.failedAll(groups, err)
	}
	for some := range slices.Chunk(w.p.looks(groups), mostLooks) {
		ready, err := w.look(conn, some)
		if err == nil {
			err = w.takeAll(conn, ready)
		}
		switch {
		case err != nil:
			return w.failedAll(groups, err)
		case w.p.closing(), w.mayShare():
			return 0
		}
	}
	return 0
}

// mayShare reports whether a connection is free for one of the groups.
func (w *worker) mayShare() bool {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.node.free(w.p.Connections)
}

// looks returns the names of the groups, without groups that rest after a failure.
func (p *Poller) looks(groups []*group) (all []asked) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range groups {
		if now.Before(g.rests) {
			continue
		}
		for _, l := range g.lines {
			all = append(all, asked{Look{g.kind, l.name}, g})
		}
	}
	return all
}

// look asks about names. It notifies the callers of kinds that tell, and returns the other names that have an element.
// An error says that the connection has failed: some names have no answer.
func (w *worker) look(conn Conn, some []asked) (ready []asked, err error) {
	looks := make([]Look, len(some))
	for i, a := range some {
		looks[i] = a.Look
	}
	sent := w.now()
	refused, answered := refusals{}, map[*group]bool{}
	for i, seen := range conn.Look(looks) {
		a := some[i]
		switch {
		case seen.Err != nil && !w.p.server.Replied(seen.Err):
			err = seen.Err
		case seen.Err != nil && w.p.closing():
		case seen.Err != nil:
			answered[a.group] = false
			if w.unseen(a, seen.Err, refused) {
				ready = append(ready, a)
			}
		case seen.Has && !a.Kind.Tells:
			answered[a.group] = false // a pop says more
			ready = append(ready, a)
		default:
			if _, known := answered[a.group]; !known {
				answered[a.group] = true
			}
			if seen.Has {
				w.p.Tell(a.Kind, a.Name)
			}
		}
	}
	for g, ok := range answered {
		if ok {
			w.servedSince(g, sent)
		}
	}
	return ready, err
}

// refusals has the groups of one pipeline that the server refused, and whether their callers are told. One refusal of a
// group counts.
type refusals map[*group]bool

// unseen deals with a look that the server has refused. It reports whether the name is to be popped from
// nevertheless: a user may pop and not look.
func (w *worker) unseen(a asked, err error, refused refusals) (pop bool) {
	p := w.p
	switch p.server.Judge(err) {
	case Moving:
		w.sweepName(a.group, a.Name)
	case Final:
		bad := p.server.Pop0(a.Kind, a.Name)
		switch {
		case bad != nil && p.server.Judge(bad) == Final:
			p.refuse(a.group, []string{a.Name}, bad)
		case bad == nil && !a.Kind.Tells:
			return true
		default:
			if _, known := refused[a.group]; !known {
				refused[a.group] = w.isFinal(a.group)
			}
			if refused[a.group] {
				p.refuse(a.group, []string{a.Name}, err)
			}
		}
	default:
		if _, known := refused[a.group]; !known {
			refused[a.group] = false
			w.rests(a.group, err)
		}
	}
	return false
}

// rests has a group that the server refuses to serve wait for a while. The others go on.
func (w *worker) rests(g *group, err error) {
	p, now := w.p, time.Now()
	p.mu.Lock()
	g.rests = now.Add(g.outage.failed(now))
	g.last = failure{err, p.tick()}
	p.mu.Unlock()
	p.giveUp(g, now, err)
}

// takeAll takes an element of each name for those who stand in line for it, some names at a time, and what
// follows it. An error says that the connection has failed.
func (w *worker) takeAll(conn Conn, ready []asked) error {
	for len(ready) > 0 {
		some, bytes := w.p.together(ready)
		ready = ready[len(some):]
		some = slices.DeleteFunc(some, func(a asked) bool { n, _ := w.p.expects(a.Kind, a.Name); return n == 0 })
		looks := make([]Look, len(some))
		for i, a := range some {
			looks[i] = a.Look
		}
		sent := w.now()
		var lost error
		for i, got := range conn.PopEach(looks, bytes) {
			if err := w.taken(conn, some[i], got, sent); err != nil {
				lost = err
			}
		}
		if lost != nil || w.p.closing() {
			return lost
		}
	}
	return nil
}

// together returns the first of some names whose elements have a megabyte together, and how many bytes they have.
func (p *Poller) together(ready []asked) (some []asked, bytes int64) {
	n := 0
	for ; n < min(len(ready), mostAtOnce) && bytes < mostBytes; n++ {
		_, longest := p.expects(ready[n].Kind, ready[n].Name)
		if longest == 0 {
			longest = unknownBytes
		}
		bytes += longest
	}
	return slices.Clone(ready[:n]), bytes
}

// taken deals with what a pop has brought.
func (w *worker) taken(conn Conn, a asked, got Popped, sent uint64) error {
	err := got.Err
	if err == nil {
		w.servedSince(a.group, sent)
		if w.p.hand(a.Kind, a.Name, got.Items) == 0 && len(got.Items) > 0 {
			err = w.follow(conn, a.Kind, a.Name, got.Items[0])
		}
	}
	switch {
	case err == nil:
		return nil
	case !w.p.server.Replied(err):
		if w.p.server.Judge(err) == Unknown && !w.p.closing() {
			w.p.server.Lost(err)
		}
		return err
	case w.p.server.Judge(err) == Final:
		w.p.refuse(a.group, []string{a.Name}, err)
	case w.p.server.Judge(err) == Moving:
		w.sweepName(a.group, a.Name)
	default:
		w.rests(a.group, err)
	}
	return nil
}

// failedAll deals with a connection that has failed which serves all of these groups.
func (w *worker) failedAll(groups []*group, err error) (pause time.Duration) {
	for _, g := range groups {
		pause = max(pause, w.failed(g, nil, err))
	}
	return pause
}

// now returns the number of the next event.
func (w *worker) now() uint64 {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.p.tick()
}

// servedSince notes that the server has served a group by an answer to what was sent then.
func (w *worker) servedSince(g *group, sent uint64) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	g.outage, g.finals = outage{}, 0
	w.proved, g.proved, w.node.why = max(w.proved, sent), max(g.proved, sent), nil
}
