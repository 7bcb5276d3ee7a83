package redistest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// BlackHole swallows what is sent in both directions, on present and on new connections, which stay open: neither side
// learns anything, not even that the other has hung up.
func (p *Proxy) BlackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hole = true
	for l := range p.links {
		l.hole = bothWays
	}
}

var bothWays = [2]bool{true, true}

// BlackHoleConns swallows only what is sent on those present connections for which pred is true, while others and new
// ones work. It returns how many they are.
func (p *Proxy) BlackHoleConns(pred func(Conn) bool) int { return p.swallow(bothWays, pred) }

// BlackHoleRequests is BlackHoleConns of what clients send: what the server says of its own accord comes through.
func (p *Proxy) BlackHoleRequests(pred func(Conn) bool) int {
	return p.swallow([2]bool{requests: true}, pred)
}

// BlackHoleReplies is BlackHoleConns of what the server sends: what clients ask for is done.
func (p *Proxy) BlackHoleReplies(pred func(Conn) bool) int {
	return p.swallow([2]bool{replies: true}, pred)
}

func (p *Proxy) swallow(ways [2]bool, pred func(Conn) bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for l := range p.links {
		if pred(p.describe(l)) {
			l.hole = ways
			n++
		}
	}
	return n
}

// Restore ends all black holes and losses. Connections that lost something meanwhile, and those that a [Proxy.DropReply] left
// silent, are cut, because what follows a gap means nothing; the others go on.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hole, p.losses = false, [2]float64{}
	p.cutWhere(func(l *link) bool { return l.lossy })
	for l := range p.links {
		l.hole = [2]bool{}
	}
}

// Drop is a rule of [Proxy.DropReply].
type Drop struct {
	p      *Proxy
	match  Match
	left   int
	silent bool
	done   chan struct{} // closed when all were dropped
	hits   int
}

// DropOption changes what [Proxy.DropReply] does.
type DropOption func(*Drop)

// Silent leaves the connection open when a reply is dropped. Later replies on it are withheld too, because a client
// would take them for the missing one; its requests still reach the server.
func Silent() DropOption { return func(d *Drop) { d.silent = true } }

// DropReply withholds the next n replies to matching commands, which the server has executed, and cuts their
// connections. Replies that say that nothing was executed (NOSCRIPT, MOVED, ASK) are delivered and do not count.
// A subscription's last confirmation counts as its reply.
func (p *Proxy) DropReply(match Match, n int, opts ...DropOption) *Drop {
	d := &Drop{p: p, match: match, left: n, done: make(chan struct{})}
	for _, opt := range opts {
		opt(d)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops = append(p.drops, d)
	return d
}

// Dropped returns how many replies the rule has withheld so far.
func (d *Drop) Dropped() int {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	return d.hits
}

// Await waits until all n replies have been withheld. It fails the test after half a minute.
func (d *Drop) Await(t testing.TB) {
	t.Helper()
	awaitClosed(t, d.done, "a reply to drop")
}

// Cancel ends the rule.
func (d *Drop) Cancel() {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	d.left = 0
	d.p.drops = slices.DeleteFunc(d.p.drops, func(other *Drop) bool { return other == d })
}

// Silence has no matching command answered until restore is called. They run, or nothing arrives at all.
func (p *Proxy) Silence(match Match, run bool) (restore func()) {
	if !run {
		p.BlackHole()
		return p.Restore
	}
	d := p.DropReply(match, 100, Silent())
	return func() {
		d.Cancel()
		p.Restore()
	}
}

// take tells whether the rule is about this reply, and counts it.
func (d *Drop) take(cmd []string, reply any) bool {
	if d.left == 0 || !executed(reply) || !d.match(cmd) {
		return false
	}
	d.left--
	d.hits++
	if d.left == 0 {
		close(d.done)
	}
	return true
}

func executed(reply any) bool {
	e, failed := reply.(replyError)
	if !failed {
		return true
	}
	code, _, _ := strings.Cut(string(e), " ")
	return code != "NOSCRIPT" && code != "MOVED" && code != "ASK"
}

// Held is a request that [Proxy.HoldRequest] keeps back.
type Held struct {
	p        *Proxy
	match    Match
	cmd      []string      // the request, once caught is closed
	caught   chan struct{} // closed when a request is here
	released chan struct{}
	answered chan struct{} // closed when the server has answered it, or cannot any more
	once     [2]sync.Once  // for released, for answered
}

// HoldRequest keeps the next matching request back, and everything behind it on its connection, until
// [Held.Release]. The same request on another connection passes. The client may hang up meanwhile; the request is
// delivered all the same, late.
func (p *Proxy) HoldRequest(match Match) *Held {
	h := &Held{
		p: p, match: match,
		caught: make(chan struct{}), released: make(chan struct{}), answered: make(chan struct{}),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds = append(p.holds, h)
	return h
}

// Await waits until a request is held. It fails the test after half a minute.
func (h *Held) Await(t testing.TB) {
	t.Helper()
	awaitClosed(t, h.caught, "a request to hold")
}

// Caught returns a channel that is closed when a request is held.
func (h *Held) Caught() <-chan struct{} { return h.caught }

// Command returns the request that is held, nil if none is.
func (h *Held) Command() []string {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	return h.cmd
}

// Release delivers the request to the server, also in a black hole, and returns when the server has answered it, or
// cannot because it is gone. If no request was held yet, none will be.
func (h *Held) Release() {
	h.once[0].Do(func() { close(h.released) })
	if !h.wasCaught() {
		return
	}
	select {
	case <-h.answered:
	case <-time.After(Soon):
		h.p.t.Errorf("redistest: proxy: a released request was not answered within %v", Soon)
	}
}

// wasCaught withdraws the rule if nothing was caught.
func (h *Held) wasCaught() bool {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	for i, other := range h.p.holds {
		if other == h {
			h.p.holds = append(h.p.holds[:i:i], h.p.holds[i+1:]...)
			return false
		}
	}
	return true
}

func (h *Held) finish() {
	h.once[1].Do(func() { close(h.answered) })
}

func awaitClosed(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(Soon):
		t.Fatalf("redistest: proxy: waited %v for %s", Soon, what)
	}
}
