package reliable

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pool is one ServeAll.
type pool struct {
	n       int
	base    context.Context // of the handlers
	taking  context.Context // ends when no handler is to begin any more
	news    chan struct{}   // poked when a message has come, or a handler is free
	work    chan job
	refused chan error // of limiters
	ranks   [][]*source
	all     []*source
	workers sync.WaitGroup
	grace   time.Duration
	at      []position // of each worker

	patience time.Duration // how long other queues wait for the answer of one

	mu   sync.Mutex
	busy int // handlers that are at work, or have a message in line
}

// job is a message for a handler.
type job struct {
	of *source
	d  *delivery
}

// position is what a worker is at.
type position struct {
	id atomic.Int64 // 0: nothing
	of atomic.Pointer[source]
}

// source is one queue of a pool.
type source struct {
	name     string
	c        *consumer
	t        *taker
	weight   int // 0: none
	most     int // handlers
	handle   func(d *delivery, at *atomic.Int64)
	failed   func(err error) error
	awaits   func() // returns when all that was said of messages has an answer
	leave    func()
	limited  bool
	admits   func(err func(error)) // asks the limiter for turns
	used     chan struct{}         // of one with a limiter: the turn is used
	credit   int                   // of its weight, among those of its rank
	given    int                   // messages that handlers were given
	answered chan struct{}         // closed when the request under way has an answer; nil: none is
	more     bool                  // what that answer has said: there is more than it had room for

	// waits is true when the queue has nothing, as far as is known, and the server tells of what comes.
	waits bool

	// Under the mutex of the pool.
	busy int
	turn bool // of the limiter
}

func (p *pool) poke() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// room returns how many handlers are free for messages of s.
func (p *pool) room(s *source) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(p.n-p.busy, s.most-s.busy)
	switch {
	case !s.limited:
		return n
	case !s.turn:
		return 0
	}
	return min(n, 1)
}

// serve takes and hands out until ctx ends.
func (p *pool) serve(ctx context.Context, ends func()) (err error) {
	for i := range p.at {
		p.workers.Add(1)
		go works(p.work, func(j job) { // ends when the channel is closed
			p.at[i].of.Store(j.of)
			j.of.handle(j.d, &p.at[i].id)
		}, p.workers.Done)
	}
	for _, s := range p.all {
		s.c.join(s.t)
		s.c.hear()
	}
	for _, s := range p.all {
		if s.limited {
			go s.admits(func(err error) { p.refused <- s.failed(err) }) // ends with taking
		}
		go func() { // ends with taking
			select {
			case <-s.c.h.e.Closing():
				p.poke()
			case <-p.taking.Done():
			}
		}()
	}
	for err == nil && ctx.Err() == nil {
		for i := 0; i < len(p.all) && err == nil; i++ {
			err = p.collects(p.all[i])
		}
		if err == nil {
			err = p.round()
		}
		if err != nil {
			break
		}
		select {
		case <-p.news:
		case <-ctx.Done():
		case err = <-p.refused:
		}
	}
	ends()
	p.stop()
	return err
}

// collects hands out what has come of a queue.
func (p *pool) collects(s *source) error {
	if err := s.c.h.e.Open(); err != nil {
		return s.failed(err)
	}
	got, err := s.c.take(s.t)
	if s.c.filled(s.t) {
		s.waits = false // a source that got all that it asked for is not told of more
	}
	p.hand(s, got)
	if err = s.c.lasting(err); err != nil {
		err = s.failed(err)
	}
	return err
}

// hand gives messages to handlers. What came for handlers that are not free any more goes back.
func (p *pool) hand(s *source, got []*delivery) {
	for i, d := range got {
		if p.room(s) == 0 {
			s.waits = false
			s.c.giveBack(got[i:])
			return
		}
		p.mu.Lock()
		p.busy++
		s.busy++
		used := s.turn
		s.turn = false
		p.mu.Unlock()
		if used {
			s.used <- struct{}{} // there is room for the one turn
		}
		s.given++
		p.work <- job{s, d} // there is room for as many as there are handlers
	}
}

// round asks the queues in their order, for as many messages as there are handlers free.
func (p *pool) round() error {
	for _, rank := range p.ranks {
		if err := p.asks(rank); err != nil {
			return err
		}
	}
	for _, s := range p.all {
		if room := p.room(s); s.waits {
			s.c.sets(s.t, room)
			s.waits = room > 0
		} else {
			s.c.sets(s.t, 0)
		}
	}
	return nil
}

// asks asks the queues of a rank, until no handler is free or none of them has more.
func (p *pool) asks(rank []*source) error {
	for {
		portions := p.portions(rank)
		if len(portions) == 0 {
			return nil
		}
		for _, portion := range portions {
			portion.of.asks(portion.n, p.poke)
		}
		patience := time.NewTimer(p.patience)
		for _, portion := range portions {
			s, more := portion.of, false
			select {
			case <-s.answered:
				s.answered, more = nil, s.more
			case <-patience.C:
				patience.Reset(0)
			case <-p.taking.Done():
			}
			before := s.given
			if err := p.collects(s); err != nil {
				patience.Stop()
				return err
			}
			if s.given-before < portion.n && !more { // or it has not answered yet: what it has then comes by itself
				s.waits, s.credit = true, 0
			}
		}
		patience.Stop()
	}
}

// askPatience is the patience of a pool. Until the answer has come the queue is not asked again, so the others wait once.
const askPatience = 500 * time.Millisecond

// portion is how many messages a queue is asked for.
type portion struct {
	of   *source
	n    int
	room int // the most that it can be
}

// portions deals the free handlers to those queues of a rank that may have messages: by weight, one after the other.
func (p *pool) portions(rank []*source) (all []portion) {
	if p.taking.Err() != nil {
		return nil
	}
	for _, s := range rank {
		if s.answered != nil { // it is silent, or was until now: it is asked again, since what came may have been all that it was asked for
			select {
			case <-s.answered:
				s.answered, s.waits = nil, false
			default:
				s.waits = true
			}
		}
		if room := p.room(s); !s.waits && room > 0 {
			all = append(all, portion{of: s, room: room})
		}
	}
	p.mu.Lock()
	free := p.n - p.busy
	p.mu.Unlock()
	for range free {
		deal(all)
	}
	return slices.DeleteFunc(all, func(of portion) bool { return of.n == 0 })
}

// deal gives one handler to a portion, if any has room for it. Only those that have take part: the others would save up credit for
// a time at which they get everything.
func deal(all []portion) {
	best, total := -1, 0
	for i := range all {
		if all[i].n == all[i].room {
			continue
		}
		weight := max(all[i].of.weight, 1)
		all[i].of.credit += weight
		total += weight
		if best < 0 || all[i].of.credit > all[best].of.credit {
			best = i
		}
	}
	if best >= 0 {
		all[best].n++
		all[best].of.credit -= total
	}
}

// asks has the queue give up to n messages. then is called when it has answered.
func (s *source) asks(n int, then func()) {
	s.c.sets(s.t, n)
	answered := make(chan struct{})
	s.answered = answered
	go func() { // ends with the answer, or with the client
		defer then()
		defer close(answered)
		got, err := s.c.h.steps.Do(context.Background(), s.c.key, ask{})
		s.more = err == nil && got.err == nil && got.more // the consumer tells of an error that lasts
	}()
}

// stop gives back what no handler has seen.
func (p *pool) stop() {
	for _, s := range p.all {
		s.c.leave(s.t)
		s.c.look() // the server need not tell it of messages any more
	}
	close(p.work)
	unseen := map[*source][]*delivery{}
	for j := range p.work {
		unseen[j.of] = append(unseen[j.of], j.d)
	}
	for s, all := range unseen {
		s.c.giveBack(all)
	}
}

// rest waits for the handlers, and returns an error that names what it has left.
func (p *pool) rest() error {
	ended := endWithin(p.grace, func() {
		p.workers.Wait()
		for _, s := range p.all {
			s.awaits()
		}
		p.close()
	})
	if ended {
		return nil
	}
	n, some := 0, ""
	for i := range p.at {
		if id := p.at[i].id.Load(); id != 0 {
			n, some = n+1, fmt.Sprintf("%d of %q", id, p.at[i].of.Load().name)
		}
	}
	if n == 0 {
		return fmt.Errorf("serve reliable queues: %w: what the last handlers have said of their messages has no answer within %v", ErrOutcomeUnknown, p.grace)
	}
	return fmt.Errorf("serve reliable queues: handlers of %d messages have not ended within %v, such as %s", n, p.grace, some)
}

// close lets the consumers go.
func (p *pool) close() {
	for _, s := range p.all {
		s.leave()
	}
}
