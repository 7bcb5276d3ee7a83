package send

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
)

const (
	// longestHeld bounds how long a gathering holds a call while functions of it run.
	longestHeld = time.Millisecond
	// mostGathered and mostGatheredBytes bound a pipeline of a gathering. rueidis sends 2,000 commands or more by a connection of
	// their own.
	mostGathered      = 1000
	mostGatheredBytes = 1 << 20
)

// gathering holds the calls of some functions of one caller until each of them waits for an answer, so that they go out
// as one pipeline for each node.
//
//	function 1 ──► call ──► held ─────┐
//	function 2 ──► call ──► held ─────┤  none is running ──► a worker lets others run once, and sends
//	function 3 ──► … runs … ──► call ─┘  all that is held, a pipeline for each node
//
// A function is running from its begin, and from the answer to its call, until its next call or its end. What is held longer
// than longestHeld is sent without the functions that run then. These are absent until their next call, so that a function
// that waits for something else delays the others once. All functions of a pipeline are running again before the first gets
// its answer. Otherwise the next call of the first would not wait for theirs.
type gathering struct {
	s *Sender

	mu      sync.Mutex
	running int    // functions that may call any moment, and are not absent
	lap     uint64 // functions of an earlier one are absent
	held    []heldCall
	spare   []heldCall // the memory of an earlier held
	sending bool       // a worker is about to send
	timer   *time.Timer
	timed   bool // it is set
}

// heldCall is a call that is held.
type heldCall struct {
	b     *batcher
	m     *member
	seat  *Seat
	bytes int64
}

// Seat is one function of a gathering. It is the context of its calls.
type Seat struct {
	context.Context
	g     *gathering
	ended atomic.Bool // written under the mutex of the gathering

	// The rest is under that mutex.
	calls    int    // under way
	answered int    // further ones that have their answer, and whose Back is to come
	lap      uint64 // at which it was running last
}

// Gather returns a seat for each of n functions of a caller. Each ends its seat, and ended is called when all have ended.
// Under the ctx of a function of another gathering of this sender they are functions of that one, too.
func (s *Sender) Gather(ctx context.Context, n int) (seats []Seat, ended func()) {
	g, ended := &gathering{s: s}, func() {}
	outer := seatOf(ctx, s)
	if outer != nil {
		g, ended = outer.g, outer.Back
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if outer != nil {
		outer.calling()
	}
	seats = make([]Seat, n)
	for i := range seats {
		seats[i].Context, seats[i].g, seats[i].lap = ctx, g, g.lap
	}
	g.running += n
	return seats, ended
}

// Value returns the seat to the calls under it.
func (s *Seat) Value(key any) any {
	if _, is := key.(combine.WaiterKey); is {
		return s
	}
	return s.Context.Value(key)
}

// seatOf returns the seat that the calls of s under ctx have, nil if there is none, or none any more.
func seatOf(ctx context.Context, s *Sender) *Seat {
	t, _ := ctx.Value(combine.WaiterKey{}).(*Seat)
	if t == nil || t.g.s != s || t.ended.Load() {
		return nil
	}
	return t
}

// End notes that the function has ended. Its later calls are not held.
func (s *Seat) End() {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	if s.isRunning() {
		s.g.running--
	}
	s.ended.Store(true)
	s.g.check()
}

// Away notes that the function waits for an answer that the gathering does not bring.
func (s *Seat) Away() {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.calling()
	s.g.check()
}

// Back is called after Away, and after each call.
func (s *Seat) Back() {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	if s.answered > 0 {
		s.answered--
		return
	}
	s.returns()
}

// goesAlone notes that a call of t is sent without being held.
func (s *Seat) goesAlone(t *transfer) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.sends(t)
	s.g.check()
}

// leaveSeat notes that the call has ended.
func (t *transfer) leaveSeat() {
	if t.counted {
		t.seat.Back()
	}
}

// What follows is under the mutex of the gathering.

func (s *Seat) isRunning() bool { return !s.ended.Load() && s.calls == 0 && s.lap == s.g.lap }

func (s *Seat) calling() {
	if s.isRunning() {
		s.g.running--
	}
	s.calls++
}

func (s *Seat) returns() {
	s.calls--
	if s.calls == 0 && !s.ended.Load() {
		s.lap = s.g.lap
		s.g.running++
	}
}

// sends notes that t is sent, perhaps once more. Back is to come.
func (s *Seat) sends(t *transfer) {
	switch {
	case !t.counted:
		t.counted = true
		s.calling()
	case s.answered > 0:
		s.answered--
		s.calling()
	}
}

// check has a worker send what is held, if no function is running. Otherwise it is sent when the time is over.
func (g *gathering) check() {
	switch {
	case len(g.held) == 0 || g.sending:
	case g.running <= 0:
		g.launch()
	case g.timed:
	case g.timer == nil:
		g.timed, g.timer = true, time.AfterFunc(g.s.longestHeld, g.late)
	default:
		g.timed = true
		g.timer.Reset(g.s.longestHeld)
	}
}

// launch has a worker send what is held. When Close waits no more, nothing is sent: all of it is answered with [core.ErrClosed].
func (g *gathering) launch() {
	if g.sending = g.s.Spawn(g.flush); g.sending {
		return
	}
	g.s.batches.under.Add(int64(len(g.held)))
	g.answers(g.held)
	for _, c := range g.held {
		c.m.end(c.b, rueidis.NewErrorResult(core.ErrClosed))
	}
	clear(g.held)
	g.held = g.held[:0]
}

// answers notes that calls have their answers, before they get them.
func (g *gathering) answers(calls []heldCall) {
	for _, c := range calls {
		if c.m.answered = true; !c.m.left {
			c.seat.answered++
			c.seat.returns()
		}
	}
}

// late has what is held sent without those that run.
func (g *gathering) late() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timed = false
	if len(g.held) > 0 && !g.sending {
		g.running = 0
		g.lap++
		g.launch()
	}
}

// flush sends what is held: a pipeline for each node.
func (g *gathering) flush() {
	runtime.Gosched() // those that are about to call are part of it
	g.s.Topo.refresh()
	g.mu.Lock()
	all := g.held
	g.held, g.spare, g.sending = g.spare, nil, false
	if g.timed {
		g.timed = !g.timer.Stop()
	}
	g.mu.Unlock()
	g.s.batches.under.Add(int64(len(all)))
	pipelines := pipelinesOf(all)
	for i, p := range pipelines {
		if i == len(pipelines)-1 || !g.s.Spawn(func() { g.send(p) }) {
			g.send(p)
		}
	}
	clear(all)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.spare = all[:0]
}

// pipelinesOf divides calls by their nodes, in their order.
func pipelinesOf(all []heldCall) (pipelines [][]heldCall) {
	last := map[*batcher]int{} // the index of the pipeline that a node's calls join
	bytes := map[*batcher]int64{}
	commands := map[*batcher]int{}
	for _, c := range all {
		n := 1
		if c.m.tx != nil {
			n = len(c.m.tx.cmds)
		}
		at, there := last[c.b]
		if !there || commands[c.b]+n > mostGathered || bytes[c.b]+c.bytes > mostGatheredBytes {
			at = len(pipelines)
			pipelines = append(pipelines, nil)
			last[c.b], commands[c.b], bytes[c.b] = at, 0, 0
		}
		commands[c.b] += n
		bytes[c.b] += c.bytes
		pipelines[at] = append(pipelines[at], c)
	}
	return pipelines
}

// send sends one pipeline.
func (g *gathering) send(calls []heldCall) {
	b, batch := calls[0].b, make([]*member, len(calls))
	for i, c := range calls {
		batch[i] = c.m
	}
	b.exchange(b.to(), batch, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.answers(calls)
	})
}

// together sends a call of t with the others of the gathering, and returns its answer.
func (s *Seat) together(b *batcher, it call, t *transfer, l *Leaving) (rueidis.RedisResult, error) {
	m := members.Get().(*member)
	m.call = it
	g := s.g
	g.mu.Lock()
	s.sends(t)
	g.held = append(g.held, heldCall{b, m, s, t.bytes})
	g.check()
	g.mu.Unlock()
	res, err := m.await(l)
	if err != nil { // m is left to its pipeline
		g.mu.Lock()
		defer g.mu.Unlock()
		m.left = !m.answered
	}
	return res, err
}
