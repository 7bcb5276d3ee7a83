package poller

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Options change a Poller.
type Options struct {
	Connections int           // for each node
	Bear        time.Duration // how long a server may be away until those who wait are told
	Block       time.Duration // how long a command blocks
	Turn        time.Duration // the same while other groups wait for a connection
	Short       time.Duration // the same where nothing ends it
	Linger      time.Duration // how long a connection is kept that nobody needs
	Grace       time.Duration // how long a command may still answer when the client closes
}

// Poller is everybody in a process who waits.
type Poller struct {
	Options
	server Server

	mu     sync.Mutex
	lines  map[lineKey]*line
	groups map[groupKey][]*group
	nodes  map[string]*node
	ticks  uint64
}

// tick returns a number for an event: it is higher than those of all events before. The mutex is held.
func (p *Poller) tick() uint64 {
	p.ticks++
	return p.ticks
}

type groupKey struct {
	kind *Kind
	slot uint16
}

// New returns a Poller of which nobody waits yet.
func New(s Server, o Options) *Poller {
	return &Poller{
		Options: o, server: s,
		lines: make(map[lineKey]*line), groups: make(map[groupKey][]*group), nodes: make(map[string]*node),
	}
}

// Waiting reports whether somebody stands in line for a name. Whoever comes later
// does not ask the server first, but joins the line.
func (p *Poller) Waiting(k *Kind, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[lineKey{k, name}] != nil
}

// Place is that of a caller who stands in line.
type Place struct{ w *waiter }

// Join stands in line for names, which are different ones; Await or Leave follows.
func (p *Poller) Join(k *Kind, names ...string) Place { return p.JoinFor(k, 0, nil, names...) }

// JoinFor joins for a caller who expects elements of up to so many bytes; 0: of any length. Failed has the
// requests of the caller that have failed, by name: see Fails.
func (p *Poller) JoinFor(k *Kind, bytes int64, failed map[string]error, names ...string) Place {
	w := &waiter{got: make(chan Taken, 1), since: time.Now(), bytes: bytes}
	p.join(w, k, names, failed)
	return Place{w}
}

// Await waits in line until one of the names has something, ctx ends or the client
// closes. ended says that one of the last two came first: then nothing was taken, and
// got has only an error, which is why the caller is not served at the moment.
func (p *Poller) Await(ctx context.Context, at Place) (got Taken, ended bool) {
	select {
	case got = <-at.Got():
		return got, false
	case <-ctx.Done():
	case <-p.server.Closing():
	}
	return p.Leave(at)
}

// Got receives what Await would return, for a caller that waits by itself: Leave follows unless it has received.
func (at Place) Got() <-chan Taken { return at.w.got }

// Leave leaves the line. It came at the same time if ended is false.
func (p *Poller) Leave(at Place) (got Taken, ended bool) {
	why := p.leave(at.w)
	select {
	case got = <-at.w.got:
		return got, false
	default:
		return Taken{Err: why}, true
	}
}

func (p *Poller) join(w *waiter, k *Kind, names []string, failed map[string]error) {
	slots := make([]uint16, len(names))
	for i, name := range names {
		slots[i] = p.server.Slot(name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, name := range names {
		l := p.lineOf(lineKey{k, name}, slots[i])
		l.waiters = append(l.waiters, w)
		w.lines = append(w.lines, l)
		if why := failed[name]; why != nil {
			p.fails(l, why)
		}
	}
}

// lineOf returns the line for a name, which is waited for from now on.
func (p *Poller) lineOf(key lineKey, slot uint16) *line {
	if l := p.lines[key]; l != nil {
		return l
	}
	g := p.groupOf(groupKey{key.kind, slot})
	l := &line{lineKey: key, group: g}
	p.lines[key] = l
	g.lines = append(g.lines, l)
	p.changed(g)
	return l
}

// groupOf returns a group with room for one more.
func (p *Poller) groupOf(key groupKey) *group {
	for _, g := range p.groups[key] {
		if len(g.lines) < key.kind.names() {
			return g
		}
	}
	g := &group{kind: key.kind, slot: key.slot}
	p.groups[key] = append(p.groups[key], g)
	return g
}

// changed sees to it that the names of a group are those that are waited for.
func (p *Poller) changed(g *group) {
	switch {
	case g.running != nil:
		g.running.end()
	case !g.queued && len(g.lines) > 0:
		p.queue(g)
	}
}

// leave takes a waiter out of its lines, and returns why one of those is not served.
func (p *Poller) leave(w *waiter) (why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range w.lines {
		if why == nil {
			why = p.failing(l)
		}
	}
	p.away(w)
	return why
}

func (p *Poller) away(w *waiter) {
	for _, l := range w.lines {
		if i := slices.Index(l.waiters, w); i >= 0 {
			l.waiters = slices.Delete(l.waiters, i, i+1)
		}
		p.tidy(l)
	}
	w.lines = nil
}

// tidy removes a line in which nobody stands any more.
func (p *Poller) tidy(l *line) {
	if len(l.waiters) > 0 {
		return
	}
	g := l.group
	g.remove(l)
	delete(p.lines, l.lineKey)
	p.changed(g)
	p.forget(g)
}

// forget removes a group that has no lines, and no turn either.
func (p *Poller) forget(g *group) {
	if len(g.lines) > 0 || g.queued {
		return
	}
	key := groupKey{g.kind, g.slot}
	all := p.groups[key]
	if i := slices.Index(all, g); i >= 0 {
		all = slices.Delete(all, i, i+1)
	}
	if p.groups[key] = all; len(all) == 0 {
		delete(p.groups, key)
	}
}

// hand gives items to those who stand in line for a name, and puts back what is
// left. It returns how many that are.
func (p *Poller) hand(k *Kind, name string, items []Item) (left int) {
	if k.Tells {
		if len(items) > 0 {
			p.Tell(k, name)
		}
		return 0
	}
	p.mu.Lock()
	l := p.lines[lineKey{k, name}]
	for l != nil && len(items) > 0 && len(l.waiters) > 0 {
		w := l.waiters[0]
		l.group.served(l)
		w.got <- Taken{Key: name, Item: items[0]}
		items = items[1:]
		p.away(w)
	}
	p.mu.Unlock()
	if len(items) > 0 {
		p.server.PutBack(k, name, items)
	}
	return len(items)
}

// expects returns how many stand in line for a name, and the most bytes that one of the first of them
// expects of an element, or 0 if none knows.
func (p *Poller) expects(k *Kind, name string) (n int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[lineKey{k, name}]
	if l == nil {
		return 0, 0
	}
	for _, w := range l.waiters[:min(len(l.waiters), mostAtOnce)] {
		bytes = max(bytes, w.bytes)
	}
	return len(l.waiters), bytes
}

// Tell has all look who stand in line for a name of a kind that tells.
func (p *Poller) Tell(k *Kind, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[lineKey{k, name}]
	if l == nil {
		return
	}
	l.group.served(l)
	for _, w := range slices.Clone(l.waiters) {
		w.got <- Taken{Key: name}
		p.away(w)
	}
}

// mostAtOnce bounds what a turn takes, and by that what a connection that breaks
// can lose. mostBytes bounds it if its elements are as long as the longest of late. While
// the length is unknown, a Pop takes mostGrowth times as many elements as came before.
const (
	mostAtOnce = 100
	mostBytes  = 1 << 20
	mostGrowth = 4
)

// refuse tells everybody who stands in line for some of the names of a group why
// they get nothing.
func (p *Poller) refuse(g *group, names []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		if l := p.lines[lineKey{g.kind, name}]; l != nil && l.group == g {
			p.fail(slices.Clone(l.waiters), err)
		}
	}
}

// giveUp tells those who have waited for long enough for a server that is away.
func (p *Poller) giveUp(g *group, now time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(g.outage.since) <= p.Bear {
		return
	}
	var old []*waiter
	for _, l := range g.lines {
		for _, w := range l.waiters {
			if now.Sub(w.since) > p.Bear {
				old = append(old, w)
			}
		}
	}
	p.fail(old, err)
}

func (p *Poller) fail(all []*waiter, err error) {
	for _, w := range all {
		if len(w.lines) == 0 {
			continue // it stood in several lines, and was told already
		}
		w.got <- Taken{Err: err}
		p.away(w)
	}
}

// Failing returns why those who stand in line for a name are not served, or nil.
func (p *Poller) Failing(k *Kind, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lines[lineKey{k, name}]; l != nil {
		return p.failing(l)
	}
	return nil
}

func (p *Poller) failing(l *line) error {
	g, last := l.group, l.last
	if g.last.at > last.at {
		last = g.last
	}
	if last.at > g.proved {
		return last.why
	}
	if n := p.nodes[p.server.Node(g.slot)]; n != nil && g.running == nil {
		return n.why
	}
	return nil
}

// Fails notes why a request of a caller has failed, who stands in line for a name now. The
// reason is forgotten when a new connection is made, or a command has answered. The command
// that is under way may be on a connection that is dead, so it is to end.
func (p *Poller) Fails(k *Kind, name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lines[lineKey{k, name}]; l != nil {
		p.fails(l, err)
	}
}

func (p *Poller) fails(l *line, err error) {
	l.last = failure{err, p.tick()}
	l.group.doubted = l.last.at
	if l.group.running != nil {
		l.group.running.end()
	}
}

// InLine returns how many stand in line for a name.
func (p *Poller) InLine(k *Kind, name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lines[lineKey{k, name}]; l != nil {
		return len(l.waiters)
	}
	return 0
}
