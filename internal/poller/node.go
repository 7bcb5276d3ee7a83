package poller

import "slices"

// node is a server: groups that wait for a connection, and connections that wait
// for a group.
type node struct {
	name    string
	queue   []*group
	polled  []*group // by one of the workers, as there are more than connections
	polling bool
	looks   int // names of those
	coming  int // workers that were called, and have not looked at the queue yet
	idle    []*worker
	workers []*worker
	why     error // of the last connect that failed, until the server is reached
}

// queue gives a group its turn, or has it wait for one.
func (p *Poller) queue(g *group) {
	g.queued = true
	n := p.nodeOf(g)
	n.queue = append(n.queue, g)
	switch last := len(n.idle) - 1; {
	case last >= 0:
		w := n.idle[last]
		n.idle = n.idle[:last]
		n.coming++
		w.news <- struct{}{}
	case len(n.workers) < p.Connections:
		p.hire(n)
	case n.polling: // the next round begins soon
	default:
		n.hurry()
	}
}

func (p *Poller) nodeOf(g *group) *node {
	name := p.server.Node(g.slot)
	n := p.nodes[name]
	if n == nil {
		n = &node{name: name}
		p.nodes[name] = n
	}
	return n
}

// hire begins a worker. A client that closes has none: those who wait know.
func (p *Poller) hire(n *node) {
	w := &worker{p: p, node: n, news: make(chan struct{}, 1), ends: make(chan struct{}, 1)}
	n.workers = append(n.workers, w)
	n.coming++
	if !p.server.Spawn(w.run) {
		n.workers = n.workers[:len(n.workers)-1]
		n.coming--
	}
}

// free reports whether there is, or may be, a connection that serves nobody.
func (n *node) free(most int) bool { return len(n.idle) > 0 || len(n.workers) < most }

// hurry has a worker that took its time make room for a group that came after.
func (n *node) hurry() {
	for _, w := range n.workers {
		if w.blocks && w.long {
			w.long = false
			w.end()
			return
		}
	}
}

// dismiss removes a worker.
func (p *Poller) dismiss(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := w.node
	n.workers = slices.DeleteFunc(n.workers, func(o *worker) bool { return o == w })
	n.idle = slices.DeleteFunc(n.idle, func(o *worker) bool { return o == w })
	switch {
	case len(n.queue) > 0 && !p.closing():
		p.hire(n) // somebody came at the same time
	case len(n.workers) == 0:
		delete(p.nodes, n.name)
	}
}

func (p *Poller) closing() bool {
	select {
	case <-p.server.Closing():
		return true
	default:
		return false
	}
}
