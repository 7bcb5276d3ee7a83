package redistest

import (
	"net"
	"slices"
	"sync"
	"time"
)

// Directions, as indexes of Proxy.delays.
const (
	requests = iota
	replies
)

// link is one connection of a client, with the one to the server that belongs to it.
//
//	client -> readRequests -> queue -> writeRequests -> server
//	client <- writeReplies <- queue <- readReplies   <- server
//
// Readers understand and apply the rules; between them and the writers things wait for their time, so that
// what is held or late does not keep a reader from noticing that its side has hung up.
type link struct {
	p              *Proxy
	index          int
	client, server net.Conn
	up, down       *queue
	done           chan struct{} // closed by cut
	once           sync.Once

	// Guarded by p.mu.
	hole    [2]bool // swallow what goes that way
	mute    bool    // swallow replies
	lossy   bool    // something was swallowed
	gone    bool    // the server has hung up
	holding []*Held // requests that are held, or were and have not been answered
	pending ledger

	meters [2]meter // each is used by the goroutine that writes that way
}

func newLink(p *Proxy, index int, client, server net.Conn) *link {
	return &link{
		p: p, index: index, client: client, server: server,
		up: newQueue(), down: newQueue(), done: make(chan struct{}),
	}
}

func (l *link) run() {
	var wg sync.WaitGroup
	for _, pump := range []func(){l.readRequests, l.writeRequests, l.readReplies, l.writeReplies} {
		wg.Go(pump)
	}
	wg.Wait()
	l.cut()
	l.p.forget(l)
	for _, h := range l.holding { // nobody else is left to touch it
		h.finish()
	}
}

// cut ends the link at once.
func (l *link) cut() {
	l.once.Do(func() {
		close(l.done)
		l.client.Close()
		l.server.Close()
	})
}

func (l *link) readRequests() {
	d := newDecoder(l.client)
	for {
		cmd, raw, err := d.request()
		if err != nil {
			l.up.push(item{end: true, due: l.dueNow(requests)})
			return
		}
		l.up.push(l.p.request(l, cmd, raw))
	}
}

func (l *link) writeRequests() {
	for {
		it, ok := l.up.pop(l.done)
		if !ok || !it.wait(l.done) {
			return
		}
		if it.end {
			if !l.swallowed(requests) {
				hangUp(l.server)
			}
			return
		}
		l.carry(requests, len(it.raw))
		for range l.expect(it) {
			_, _ = l.server.Write(it.raw) // a server that is gone shows at readReplies
		}
	}
}

func (l *link) readReplies() {
	d := newDecoder(l.server)
	for {
		reply, raw, err := d.frame()
		if err != nil {
			l.serverGone()
			return
		}
		switch deliver, cut := l.judge(reply, raw); {
		case cut:
			l.down.push(item{cut: true, due: l.dueNow(replies)})
			return
		case deliver != nil:
			l.down.push(item{raw: deliver, due: l.dueNow(replies)})
		}
	}
}

func (l *link) writeReplies() {
	for {
		it, ok := l.down.pop(l.done)
		if !ok || !it.wait(l.done) {
			return
		}
		switch {
		case it.cut:
			l.cut()
			return
		case l.swallowed(replies):
		case it.end:
			l.client.Close()
			return
		default:
			l.carry(replies, len(it.raw))
			_, _ = l.client.Write(it.raw) // a client that is gone shows at readRequests
		}
		if it.end {
			return
		}
	}
}

// hangUp closes the sending side only, so that the server's last replies are still read.
func hangUp(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	c.Close()
}

func (l *link) dueNow(direction int) time.Time {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	return l.p.due(direction)
}

// swallowed tells whether what is about to be passed on falls into a black hole.
func (l *link) swallowed(direction int) bool {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.lose(direction)
	l.lossy = l.lossy || l.hole[direction]
	return l.hole[direction]
}

// expect notes that the server will answer this command. It returns how often the command is to be sent.
func (l *link) expect(it item) (times int) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if l.gone {
		l.letGo(it.held)
		return 0
	}
	l.lose(requests)
	if l.hole[requests] && it.held == nil {
		l.lossy = true
		return 0
	}
	if len(it.cmd) == 0 {
		return 1
	}
	l.pending.sent(it.cmd, it.held).answer = it.answer
	if !it.twice {
		return 1
	}
	l.pending.sent(it.cmd, nil).again = true
	return 2
}

// judge matches a reply with its command and applies the rules to it. It returns what the client gets, if anything.
func (l *link) judge(reply any, raw []byte) (deliver []byte, cut bool) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	answered := l.pending.received(reply)
	if answered != nil {
		l.letGo(answered.held)
	}
	switch {
	case l.mute:
		return nil, false
	case answered == nil:
		return raw, false
	case answered.again:
		return nil, false
	case answered.answer != nil:
		return answered.answer, false
	}
	for _, d := range l.p.drops {
		if d.take(answered.cmd, reply) {
			l.mute, l.lossy = d.silent, l.lossy || d.silent
			return nil, !d.silent
		}
	}
	return raw, false
}

// letGo tells who released the request that it is over with it.
func (l *link) letGo(h *Held) {
	if h == nil {
		return
	}
	h.finish()
	l.holding = slices.DeleteFunc(l.holding, func(other *Held) bool { return other == h })
}

// serverGone tells the client that the server has hung up, unless the link is silent, and gives up what is unanswered.
func (l *link) serverGone() {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.gone = true
	for _, sent := range l.pending.abandon() {
		l.letGo(sent.held)
	}
	if !l.mute {
		l.down.push(item{end: true, due: l.p.due(replies)})
	}
}
