package poller

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// worker is one connection to a node, on which groups have their turns.
type worker struct {
	p    *Poller
	node *node
	news chan struct{} // poked when a group waits and this worker is idle
	ends chan struct{} // poked when the command under way is to end

	// Guarded by the mutex of the Poller.
	conn   Conn
	made   time.Time
	proved uint64 // when it was made, or has answered
	blocks bool   // in a command
	long   bool   // which has its time
	number int    // of the command
	over   int    // the number of the one that is to end
}

func (w *worker) run() {
	w.p.mu.Lock()
	w.node.coming-- // a worker that was called is there
	w.p.mu.Unlock()
	done := make(chan struct{})
	var ender sync.WaitGroup
	ender.Go(func() { w.endAll(done) })
	for {
		g, polls := w.next()
		switch {
		case polls:
			w.poll()
			continue
		case g != nil:
			w.turn(g)
			continue
		}
		break
	}
	close(done)
	ender.Wait()
	w.drop()
	w.p.dismiss(w)
}

// next waits for a group. There is none when nobody has needed the connection for
// a while, or the client closes, or where there are so many that they are to be polled.
func (w *worker) next() (g *group, polls bool) {
	for waited := false; ; {
		g, polls, rest := w.pick(waited)
		if !rest {
			return g, polls
		}
		waited = w.rest()
	}
}

// pick returns the group whose turn it is. Rest says that there may be one soon.
func (w *worker) pick(waited bool) (g *group, polls, rest bool) {
	p, n := w.p, w.node
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closing():
		return nil, false, false
	case len(n.queue) > 1 && !n.polling && !n.free(p.Connections) && n.coming == 0:
		n.polling = true
		return nil, true, false
	case len(n.queue) > 0:
		g, n.queue = n.queue[0], n.queue[1:]
		return g, false, false
	case waited:
		return nil, false, false
	}
	if n.idle = append(n.idle, w); len(n.idle) == len(n.workers) {
		n.why = nil // nobody waits: the next one finds out
	}
	return nil, false, true
}

// rest reports that nobody came.
func (w *worker) rest() (waited bool) {
	timer := time.NewTimer(w.p.Linger)
	defer timer.Stop()
	select {
	case <-w.news:
	case <-timer.C:
		waited = true
	case <-w.p.server.Closing():
	}
	w.wake()
	return waited
}

// wake ends the idle state.
func (w *worker) wake() {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	for i, o := range w.node.idle {
		if o == w {
			w.node.idle = append(w.node.idle[:i], w.node.idle[i+1:]...)
			return
		}
	}
	w.node.coming--
	select {
	case <-w.news: // somebody came at the same time
	default:
	}
}

// turn serves a group once. Afterwards it queues again, if somebody still waits.
func (w *worker) turn(g *group) {
	pause := w.serve(g)
	if pause > 0 {
		w.sleep(pause)
	}
	p := w.p
	p.mu.Lock()
	defer p.mu.Unlock()
	g.queued = false
	switch {
	case len(g.lines) == 0 || p.closing():
		p.forget(g)
	case p.nodeOf(g) != w.node:
		p.queue(g) // where it is at home
	default: // this worker goes on by itself
		g.queued = true
		w.node.queue = append(w.node.queue, g)
	}
}

// serve waits for one element, and hands it and its followers out. What goes wrong
// says how long to pause.
func (w *worker) serve(g *group) time.Duration {
	conn, err := w.connected(g)
	if err != nil {
		return w.failed(g, nil, err)
	}
	if w.tells(g) {
		return 0
	}
	names, timeout, bytes := w.begin(g)
	if len(names) == 0 {
		return 0
	}
	had, item, ok, err := conn.Block(g.kind, names, timeout, bytes)
	w.p.mu.Lock()
	g.running, w.blocks = nil, false
	w.p.mu.Unlock()
	if err != nil {
		return w.failed(g, names, err)
	}
	w.serves(g)
	if !ok {
		return 0
	}
	if g.kind.Alone {
		had = names
	}
	if g.kind.Tells {
		for _, name := range had {
			w.p.Tell(g.kind, name)
		}
		return 0
	}
	name := had[0]
	if w.p.hand(g.kind, name, []Item{item}) > 0 {
		return 0
	}
	if err := w.follow(conn, g.kind, name, item); err != nil {
		return w.failed(g, []string{name}, err)
	}
	return 0
}

// tells has all callers of a group look for themselves, if the last answer to it did not come in time: it may have been
// long. It reports whether it was so.
func (w *worker) tells(g *group) bool {
	p := w.p
	p.mu.Lock()
	late := g.late
	g.late = false
	var names []string
	if late {
		names = g.names()
	}
	p.mu.Unlock()
	for _, name := range names {
		p.Tell(g.kind, name)
	}
	return late
}

// follow takes what is there behind the first item for those who stand in line behind the first. A turn takes
// mostAtOnce items and mostBytes at most, so that other names have theirs. It ends when somebody who stood in line
// has left: what was taken for him goes back first.
func (w *worker) follow(conn Conn, k *Kind, name string, first Item) error {
	taken, bytes, longest := 1, len(first.Text), max(len(first.Text), 1)
	for !w.p.closing() {
		waiting, expected := w.p.expects(k, name)
		longest = max(longest, int(expected))
		n := min(waiting, mostAtOnce-taken, (mostBytes-bytes)/longest)
		if expected == 0 {
			n = min(n, mostGrowth*taken)
		}
		if n <= 0 {
			return nil
		}
		items, err := conn.Pop(k, name, n, int64(n*longest))
		if w.p.hand(k, name, items) > 0 || err != nil || len(items) < n {
			return err
		}
		for _, it := range items {
			bytes, longest = bytes+len(it.Text), max(longest, len(it.Text))
		}
		taken += n
	}
	return nil
}

// begin returns the names of a command, which are those that are waited for from now
// until it has answered, how long it blocks, and how many bytes its answer may have.
func (w *worker) begin(g *group) (names []string, timeout time.Duration, bytes int64) {
	p := w.p
	p.mu.Lock()
	defer p.mu.Unlock()
	names = g.names()
	if len(names) == 0 {
		return nil, 0, 0
	}
	bytes = g.expects()
	g.running = w
	g.proved = max(g.proved, w.proved)
	w.number++
	w.blocks, w.long = true, len(w.node.queue) == 0
	switch {
	case w.conn.Deaf():
		return names, p.Short, bytes
	case w.long:
		return names, p.Block, bytes
	}
	return names, p.Turn, bytes
}

func (w *worker) serves(g *group) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	g.outage, g.finals = outage{}, 0
	w.proves(g)
}

// reached notes that the server has answered, though it did not serve.
func (w *worker) reached(g *group) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.proves(g)
}

// proves notes that the server is there for a group: it has answered, or a connection was made. The mutex is held.
func (w *worker) proves(g *group) {
	w.proved = w.p.tick()
	g.proved, w.node.why = w.proved, nil
}

// failed deals with an error about some names of a group, or about all of it.
func (w *worker) failed(g *group, names []string, err error) time.Duration {
	p, now := w.p, time.Now()
	switch p.server.Judge(err) {
	case Moving:
		w.reached(g)
		w.sweep(g)
		return firstPause
	case Final:
		w.reached(g)
		return w.refused(g, names, err)
	case Full:
		if g.kind.Alone {
			w.serves(g) // the server is there
			w.sweep(g)
			return fullPause
		}
	case Unknown:
		if names != nil && !g.kind.Tells && !p.closing() {
			p.server.Lost(err)
		}
	}
	w.drop()
	p.mu.Lock()
	g.late = names != nil && g.kind.Tells && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded))
	pause := g.outage.failed(now)
	g.last = failure{err, p.tick()}
	if names == nil {
		w.node.why = err
	}
	p.mu.Unlock()
	p.giveUp(g, now, err)
	return pause
}

// fullPause is how often a server that is full is asked for what it takes no command to
// wait for.
const fullPause = 100 * time.Millisecond

// sweep takes by the common connection while the slot moves, which a blocked one
// cannot follow.
func (w *worker) sweep(g *group) {
	p := w.p
	p.mu.Lock()
	names := g.names()
	p.mu.Unlock()
	for _, name := range names {
		if p.closing() {
			return
		}
		w.sweepName(g, name)
	}
}

func (w *worker) sweepName(g *group, name string) {
	p := w.p
	items, err := p.server.Pop(g.kind, name, 1)
	if err == nil {
		p.hand(g.kind, name, items)
	} else if p.server.Judge(err) == Final {
		p.refuse(g, []string{name}, err)
	}
}

// refused finds out which of the names a refusal is about, and tells those who
// wait for them. If it is about none it is about all.
func (w *worker) refused(g *group, names []string, err error) time.Duration {
	p := w.p
	if len(names) == 0 {
		p.mu.Lock()
		names = g.names()
		p.mu.Unlock()
	}
	found := false
	for _, name := range names {
		if p.closing() {
			return 0
		}
		bad := p.server.Pop0(g.kind, name)
		if bad != nil && p.server.Judge(bad) == Final {
			p.refuse(g, []string{name}, bad)
			found = true
		}
	}
	if w.isFinal(g) && !found {
		p.refuse(g, names, err)
	}
	return firstPause
}

// isFinal counts a refusal of a group. It reports whether there was one before, and no answer between.
func (w *worker) isFinal(g *group) bool {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	g.finals++
	return g.finals > 1
}

// connected returns the connection of the worker. It makes a new one if a request of one of the groups has failed
// since the old one answered: that may be dead.
func (w *worker) connected(groups ...*group) (Conn, error) {
	w.p.mu.Lock()
	conn, doubted := w.conn, false
	for _, g := range groups {
		doubted = doubted || g.doubted > w.proved && time.Since(w.made) >= mostPause
	}
	w.p.mu.Unlock()
	if conn != nil && !doubted {
		return conn, nil
	}
	w.drop()
	ctx, cancel := context.WithTimeout(context.Background(), w.p.Grace)
	defer cancel()
	conn, err := w.p.server.Connect(ctx, w.node.name)
	if err != nil {
		return nil, err
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.conn, w.made = conn, time.Now()
	for _, g := range groups {
		w.proves(g)
	}
	return conn, nil
}

// drop closes the connection.
func (w *worker) drop() {
	w.p.mu.Lock()
	conn := w.conn
	w.conn = nil
	w.p.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}

func (w *worker) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.p.server.Closing():
	}
}
