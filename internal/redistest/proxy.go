package redistest

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between clients and one server on 127.0.0.1, understands the requests and replies that pass, and breaks
// the connection where a test says so. Its methods may be called from any goroutine.
//
// CLIENT REPLY and MONITOR, which change what is answered, are not understood.
type Proxy struct {
	t      testing.TB
	target string
	addr   string

	mu        sync.Mutex
	redirect  string       // where new connections lead; empty: to the target
	listener  net.Listener // nil while new connections are refused
	closed    bool
	links     map[*link]struct{}
	opened    int // links so far: the next one's index
	hole      bool
	delays    [2]time.Duration // of requests, of replies
	jitters   [2]time.Duration // the most that may come to them
	losses    [2]float64       // probabilities
	rate      int              // bytes a second of a connection, each way; 0: any number
	drops     []*Drop
	holds     []*Held
	exchanges []*Exchange
	rules     []*Rule
	log       []logged
	news      chan struct{} // closed and replaced when something is logged

	wg sync.WaitGroup
}

type logged struct {
	conn int
	cmd  []string
}

// NewProxy starts a proxy in front of the server at target ("127.0.0.1:port"). The server need not run yet. The
// proxy ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		t: t, target: target, addr: l.Addr().String(), links: map[*link]struct{}{}, news: make(chan struct{}),
	}
	p.serve(l)
	t.Cleanup(p.close)
	return p
}

// Addr returns where clients connect.
func (p *Proxy) Addr() string { return p.addr }

// Target returns the address of the server behind the proxy.
func (p *Proxy) Target() string { return p.target }

// Through dials proxies instead of their targets, and everything else as it is; it goes into rueidis.ClientOption as
// DialCtxFn. So a client of a Cluster or of Sentinels, which learns the servers' own addresses, passes the proxies too.
func Through(proxies ...*Proxy) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return ThroughAddrs(Detours(proxies...))
}

// Detours returns the addresses of proxies, by those of their targets. A child process gives them to [ThroughAddrs].
func Detours(proxies ...*Proxy) map[string]string {
	of := map[string]string{}
	for _, p := range proxies {
		of[p.target] = p.addr
	}
	return of
}

// ThroughAddrs is [Through] in a process that has no proxies of its own, but their addresses by those of their targets.
func ThroughAddrs(of map[string]string) func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", cmp.Or(of[addr], addr))
	}
}

func (p *Proxy) serve(l net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = l
	// Ends when the listener is closed, by Refuse or by close, which waits.
	p.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.open(conn)
		}
	})
}

const dialTimeout = 2 * time.Second

// open connects a new client with the server.
func (p *Proxy) open(client net.Conn) {
	p.mu.Lock()
	to := cmp.Or(p.redirect, p.target)
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", to, dialTimeout)
	p.mu.Lock()
	defer p.mu.Unlock()
	if to != cmp.Or(p.redirect, p.target) && server != nil { // it leads elsewhere by now
		server.Close()
		server = nil
	}
	if err != nil && p.hole {
		// In a black hole a client cannot tell that the server is gone: give it a connection to nobody.
		server, _ = net.Pipe()
	}
	if server == nil {
		client.Close()
		return
	}
	if p.closed || p.listener == nil {
		client.Close()
		server.Close()
		return
	}
	l := newLink(p, p.opened, client, server)
	l.hole, l.lossy = [2]bool{p.hole, p.hole}, err != nil
	p.opened++
	p.links[l] = struct{}{}
	p.wg.Go(l.run) // ends when both sides have hung up, or when it is cut
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		p.listener.Close()
	}
	p.cutWhere(func(*link) bool { return true })
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) cutWhere(pred func(*link) bool) {
	for l := range p.links {
		if pred(l) {
			l.cut()
		}
	}
}

// CutAll closes all present connections on both sides. Requests that had not reached the server are lost, except one
// that [Proxy.HoldRequest] holds: only the client loses that connection. New connections are accepted.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if len(l.holding) > 0 {
			l.client.Close()
		} else {
			l.cut()
		}
	}
}

// Redirect leads clients to another server, which they take for the target. Present connections are closed. With "" it leads
// them to the target again.
func (p *Proxy) Redirect(addr string) {
	p.mu.Lock()
	p.redirect = addr
	p.mu.Unlock()
	p.CutAll()
}

// Refuse stops listening, so that the operating system refuses new connections. Present ones go on.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
		awaitRefused(p.addr)
	}
}

// awaitRefused returns once nobody listens at an address whose listener was closed: a child process that is being
// started has that one, too, until it runs its program.
func awaitRefused(addr string) {
	for end := time.Now().Add(Soon); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		c.Close()
	}
}

// Accept takes new connections again after [Proxy.Refuse].
func (p *Proxy) Accept() {
	p.mu.Lock()
	listening := p.listener != nil || p.closed
	p.mu.Unlock()
	if listening {
		return
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		p.t.Errorf("redistest: proxy: %v", err)
		return
	}
	p.serve(l)
}

// Delay holds every request and every reply back for these times from now on. Order is kept, and a pipeline is
// late as a whole rather than by a delay for each command in it.
func (p *Proxy) Delay(requests, replies time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delays = [2]time.Duration{requests, replies}
}

// due returns when something that arrives now is to be passed on; zero means at once.
func (p *Proxy) due(direction int) time.Time {
	d := p.delays[direction]
	if most := p.jitters[direction]; most > 0 {
		d += rand.N(most)
	}
	if d > 0 {
		return time.Now().Add(d)
	}
	return time.Time{}
}

// Log returns the commands that clients have sent since the start or [Proxy.ResetLog], in the order of their arrival here, on
// all connections, also those that never reached the server.
func (p *Proxy) Log() [][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var cmds [][]string
	for _, entry := range p.log {
		cmds = append(cmds, entry.cmd)
	}
	return cmds
}

// ResetLog forgets the commands seen so far.
func (p *Proxy) ResetLog() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = nil
}

// Count returns how many commands in the [Proxy.Log] match.
func (p *Proxy) Count(match Match) int {
	n, _ := p.count(match)
	return n
}

func (p *Proxy) count(match Match) (n int, news <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, entry := range p.log {
		if match(entry.cmd) {
			n++
		}
	}
	return n, p.news
}

// AwaitCount waits until the [Proxy.Log] has at least n matching commands. It fails the test after half a minute.
func (p *Proxy) AwaitCount(t testing.TB, match Match, n int) {
	t.Helper()
	deadline := time.After(Soon)
	for {
		have, news := p.count(match)
		if have >= n {
			return
		}
		select {
		case <-news:
		case <-deadline:
			t.Fatalf("redistest: proxy: waited %v for %d commands, have %d", Soon, n, have)
		}
	}
}

// request records a command and finds the rule that holds it back.
func (p *Proxy) request(l *link, cmd []string, raw []byte) item {
	p.mu.Lock()
	defer p.mu.Unlock()
	it := item{raw: raw, cmd: cmd, due: p.due(requests)}
	if len(cmd) == 0 {
		return it
	}
	p.remember(cmd)
	if other, is := p.exchanged(cmd); is {
		it.raw = encode(other...)
	}
	p.log = append(p.log, logged{l.index, cmd})
	close(p.news)
	p.news = make(chan struct{})
	for i, h := range p.holds {
		if h.match(cmd) {
			p.holds = append(p.holds[:i:i], p.holds[i+1:]...)
			it.held = h
			l.holding = append(l.holding, h)
			h.cmd = cmd
			close(h.caught)
			break
		}
	}
	p.ruled(&it)
	return it
}

// Conn describes one connection of the proxy to a rule.
type Conn struct {
	Index    int        // 0 is the first that was accepted
	Commands [][]string // what the client sent on it, since ResetLog
}

func (p *Proxy) describe(l *link) Conn {
	c := Conn{Index: l.index}
	for _, entry := range p.log {
		if entry.conn == l.index {
			c.Commands = append(c.Commands, entry.cmd)
		}
	}
	return c
}

// Conns returns the present connections, in no order.
func (p *Proxy) Conns() []Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var conns []Conn
	for l := range p.links {
		conns = append(conns, p.describe(l))
	}
	return conns
}

// LastCarrier picks the connection on which the latest matching command was sent, for [Proxy.BlackHoleConns]. It fails
// the test if there was none.
func (p *Proxy) LastCarrier(match Match) func(Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.log) - 1; i >= 0; i-- {
		if index := p.log[i].conn; match(p.log[i].cmd) {
			return func(c Conn) bool { return c.Index == index }
		}
	}
	p.t.Error("redistest: proxy: no connection carried such a command")
	return func(Conn) bool { return false }
}

func (p *Proxy) String() string { return fmt.Sprintf("proxy %s -> %s", p.addr, p.target) }
