package pubsub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// fake is a Source without Redis: a few servers that do as they are told and write down what was asked.
type fake struct {
	mu      sync.Mutex
	home    map[Channel]string // node of a channel, "a" if it has none
	lost    error              // what Locate answers, if set
	waits   bool               // Locate answers only when its context ends
	locates int
	servers map[string]*fakeServer
	log     []string // "a CONNECT", "a SUBSCRIBE x", "a RELEASE"
	calls   int      // exchanges, of however many commands
}

type fakeServer struct {
	fake *fake
	addr string

	down     error         // what Connect answers, if set
	hangs    bool          // Connect answers only when its context ends
	silent   bool          // commands are answered only when their context ends
	lag      time.Duration // before a command has its effect
	answer   time.Duration // between the effect and the answer
	hostile  bool          // a connection ends with its first command
	expels   bool          // every subscription is ended by the server at once
	moved    map[Channel]string
	refuse   map[Channel]error
	conns    map[*fakeConn]bool
	keepSubs error // what Unsubscribe answers, if set
	tells    error // what Same answers, if set
}

type fakeConn struct {
	server  *fakeServer
	handler Handler
	line    Line
	subs    map[Channel]bool
	done    chan error
	ended   bool

	replaced bool // it is another one, unseen
}

var errEnded = errors.New("connection ended")

func newFake() *fake {
	return &fake{home: map[Channel]string{}, servers: map[string]*fakeServer{}}
}

func (f *fake) server(addr string) *fakeServer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lookup(addr)
}

func (f *fake) lookup(addr string) *fakeServer {
	s := f.servers[addr]
	if s == nil {
		s = &fakeServer{
			fake: f, addr: addr, moved: map[Channel]string{}, refuse: map[Channel]error{}, conns: map[*fakeConn]bool{},
		}
		f.servers[addr] = s
	}
	return s
}

// set changes the behaviour of a server or of the fake itself.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// takeLog returns what was asked since the last time.
func (f *fake) takeLog() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.log
	f.log = nil
	return log
}

func (f *fake) note(format string, args ...any) { f.log = append(f.log, fmt.Sprintf(format, args...)) }

func (f *fake) Locate(ctx context.Context) (Where, error) {
	f.mu.Lock()
	f.locates++
	waits := f.waits
	f.mu.Unlock()
	if waits {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.where, nil
}

func (f *fake) where(channel Channel) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if home := f.home[channel]; home != "" {
		return home, f.lost
	}
	return "a", f.lost
}

func (f *fake) Connect(ctx context.Context, line Line, handler Handler) (Conn, error) {
	f.mu.Lock()
	s := f.lookup(line.Node)
	f.note("%s %sCONNECT", line.Node, prefixed[line.Sharded])
	down, hangs, lag := s.down, s.hangs, s.lag
	f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(lag)
	if down != nil {
		return nil, down
	}
	c := &fakeConn{server: s, line: line, handler: handler, subs: map[Channel]bool{}, done: make(chan error, 1)}
	f.set(func() { s.conns[c] = true })
	return c, nil
}

// prefixed marks what is done to the line of the sharded channels.
var prefixed = map[bool]string{true: "S"}

func (c *fakeConn) Subscribe(ctx context.Context, channels []Channel) ([]error, error) {
	return c.exchange(ctx, "SUBSCRIBE", channels, c.subscribe)
}

func (c *fakeConn) Unsubscribe(ctx context.Context, channels []Channel) ([]error, error) {
	return c.exchange(ctx, "UNSUBSCRIBE", channels, c.unsubscribe)
}

// Same is asked like a subscription that is there already.
func (c *fakeConn) Same(ctx context.Context, of Channel) error {
	_, err := c.exchange(ctx, "SAME", []Channel{of}, func(Channel) (bool, error) { return false, nil })
	if err == nil && c.server.tells != nil {
		return c.server.tells
	}
	if err == nil && c.replaced {
		return errReplaced
	}
	return err
}

func (c *fakeConn) subscribe(channel Channel) (report bool, err error) {
	s := c.server
	if addr := s.moved[channel]; addr != "" {
		return false, &MovedError{Addr: addr}
	}
	if err := s.refuse[channel]; err != nil {
		return false, err
	}
	c.subs[channel] = !s.expels
	return s.expels, nil
}

func (c *fakeConn) unsubscribe(channel Channel) (report bool, err error) {
	if c.server.keepSubs != nil {
		return false, c.server.keepSubs
	}
	delete(c.subs, channel)
	return true, nil
}

// exchange applies the commands and reports unsubscriptions before it answers, as a connection does.
func (c *fakeConn) exchange(
	ctx context.Context, verb string, channels []Channel, apply func(Channel) (bool, error),
) ([]error, error) {
	s, f := c.server, c.server.fake
	f.mu.Lock()
	for _, channel := range channels {
		if (channel.Kind == Sharded) != c.line.Sharded {
			panic("a channel on the line of others")
		}
		f.note("%s %s%s %s", s.addr, strings.ToUpper(channel.Kind.prefix()), verb, channel.Name)
	}
	f.calls++
	silent, lag, answer, hostile := s.silent, s.lag, s.answer, s.hostile
	f.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if hostile {
		c.end(errEnded)
	}
	time.Sleep(lag)
	var reports []Channel
	refused := make([]error, len(channels))
	f.mu.Lock()
	ended := c.ended
	for i, channel := range channels {
		var report bool
		if report, refused[i] = apply(channel); report && !ended {
			reports = append(reports, channel)
		}
	}
	f.mu.Unlock()
	for _, channel := range reports {
		c.handler.Unsubscribed(channel)
	}
	time.Sleep(answer)
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.ended {
		return nil, errEnded
	}
	if !slices.ContainsFunc(refused, func(err error) bool { return err != nil }) {
		refused = nil
	}
	return refused, nil
}

func (c *fakeConn) Done() <-chan error { return c.done }
func (c *fakeConn) Release()           { c.leave("RELEASE") }
func (c *fakeConn) Close()             { c.leave("CLOSE") }

func (c *fakeConn) leave(how string) {
	c.server.fake.set(func() { c.server.fake.note("%s %s%s", c.server.addr, prefixed[c.line.Sharded], how) })
	c.end(nil)
}

func (c *fakeConn) end(err error) {
	f := c.server.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(c.server.conns, c)
	if !c.ended {
		c.ended = true
		c.done <- err
		close(c.done)
	}
}

func (s *fakeServer) all() []*fakeConn {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// kill ends all connections, as a crash or CLIENT KILL does.
func (s *fakeServer) kill() {
	for _, c := range s.all() {
		c.end(errEnded)
	}
}

// subscribers counts the connections that have the channel.
func (s *fakeServer) subscribers(channel Channel) (n int) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	for c := range s.conns {
		if c.subs[channel] {
			n++
		}
	}
	return n
}

// publish sends a message to those who have the channel.
func (s *fakeServer) publish(channel Channel, payload string) {
	for _, c := range s.all() {
		s.fake.mu.Lock()
		has := c.subs[channel]
		s.fake.mu.Unlock()
		if has {
			c.handler.Message(channel, channel.Name, payload)
		}
	}
}

// expel ends a subscription, as a slot migration does.
func (s *fakeServer) expel(channel Channel) {
	for _, c := range s.all() {
		s.fake.mu.Lock()
		had := c.subs[channel]
		delete(c.subs, channel)
		s.fake.mu.Unlock()
		if had {
			c.handler.Unsubscribed(channel)
		}
	}
}
