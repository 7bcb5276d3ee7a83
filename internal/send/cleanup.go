package send

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// Cleanup is something that has to be said to the server until it has answered:
// to give back an owner of which nobody knows whether it holds the lock.
type Cleanup struct {
	Key   string
	Until time.Time // by then the server has forgotten it by itself
	Run   func(ctx context.Context) error
	Work  core.Work // what is left undone if it is given up

	lasting bool      // until does not count: see SeeThrough
	arrived time.Time // of one that lasts, when it was first sent in such a way that it may have arrived
	ended   func()    // of one that lasts, called when nothing is sent any more

	since time.Time // when it was said first; zero: not yet
	due   time.Time // when it is to be said next
	told  bool      // that the server refuses it
	why   error     // its last answer
}

// shown returns the name as users know it: the key may be one for some values of a group.
func (it Cleanup) shown() string { return cmp.Or(it.Work.Name, it.Key) }

// cleanupQueue are carried by a node worker per node, while there is something to do, so that
// a silent node holds up nobody else's.
type cleanupQueue struct {
	mu      sync.Mutex
	workers map[string]*nodeWorker
}

// nodeWorker carries the cleanup tasks to one node.
type nodeWorker struct {
	node string
	todo []Cleanup     // guarded by the mutex of the queue, as is lasting
	news chan struct{} // poked when one was added

	lasting int // so many cleanup tasks that last are to do, or under way

	silent  int       // how often in a row the node was
	silence time.Time // until when it is left alone
}

// A cleanup task that is refused waits for a tenth of the time that it has been
// refused for, within these bounds. longBackoff is the upper one for a cleanup task
// that lasts.
const (
	firstBackoff = 50 * time.Millisecond
	mostBackoff  = 5 * time.Second
	longBackoff  = 30 * time.Second
)

// lookTime bounds the share of the time in which a node worker looks what is due:
// it sleeps for so long, at least, for each cleanup task that it looks at.
const lookTime = 10 * time.Microsecond

// mostLasting bounds the cleanup tasks to one node that last.
const mostLasting = 10_000

// CleanUpLater runs a cleanup task on key until it succeeds, until has passed, or its
// answer will never change: then key holds something else. The run has to be
// replayable; what it sends is not sent again within one run when it was
// refused.
func (s *Sender) CleanUpLater(key string, until time.Time, run func(ctx context.Context) error) {
	s.AddCleanup(Cleanup{Key: key, Until: until, Run: run})
}

// CleaningUp reports whether something is still to be given back, or to be done that was
// deferred.
func (s *Sender) CleaningUp() bool {
	s.cleanups.mu.Lock()
	defer s.cleanups.mu.Unlock()
	return len(s.cleanups.workers) > 0
}

// AddCleanup hands a cleanup task to the node worker of its node. It is false for one that
// lasts if the node worker has as many of those as it may.
func (s *Sender) AddCleanup(it Cleanup) bool {
	node := s.Topo.Node(s.Topo.Slot(it.Key))
	s.cleanups.mu.Lock()
	defer s.cleanups.mu.Unlock()
	c := s.cleanups.workers[node]
	if it.lasting && c != nil && c.lasting >= mostLasting {
		return false
	}
	if c == nil {
		if s.cleanups.workers == nil {
			s.cleanups.workers = make(map[string]*nodeWorker)
		}
		c = &nodeWorker{node: node, news: make(chan struct{}, 1)}
		s.cleanups.workers[node] = c
		// Not Spawn: whoever has a cleanup task is itself a task that Close waits for.
		s.Tasks.Run(func() { s.work(c) })
	}
	c.todo = append(c.todo, it)
	if it.lasting {
		c.lasting++
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
	return true
}

// work ends when nothing is left to do, or one round after the client closed.
func (s *Sender) work(c *nodeWorker) {
	for {
		due, pause, left := s.take(c, time.Now())
		if !left {
			return
		}
		if len(due) == 0 {
			if !s.sleepOpen(pause, c.news) {
				s.lastRound(c)
				return
			}
			continue
		}
		rest := s.sayAll(c, due)
		s.cleanups.mu.Lock()
		c.todo = append(c.todo, rest...)
		c.lasting -= lasting(due) - lasting(rest)
		s.cleanups.mu.Unlock()
	}
}

// take returns what is due at now, and else how long nothing is. A node worker
// that has nothing left goes.
func (s *Sender) take(c *nodeWorker, now time.Time) (due []Cleanup, pause time.Duration, left bool) {
	s.cleanups.mu.Lock()
	defer s.cleanups.mu.Unlock()
	if len(c.todo) == 0 {
		delete(s.cleanups.workers, c.node)
		return nil, 0, false
	}
	if quiet := c.silence.Sub(now); quiet > 0 {
		return nil, quiet, true
	}
	pause = mostBackoff
	later := c.todo[:0]
	for _, it := range c.todo {
		if wait := it.due.Sub(now); wait > 0 {
			later, pause = append(later, it), min(pause, wait)
		} else {
			due = append(due, it)
		}
	}
	clear(c.todo[len(later):])
	c.todo = later
	return due, max(pause, time.Duration(len(later))*lookTime), true
}

// lasting returns how many of the cleanup tasks last.
func lasting(all []Cleanup) (n int) {
	for i := range all {
		if all[i].lasting {
			n++
		}
	}
	return n
}

// lastRound says everything once more, and no more: also what comes meanwhile
// from calls that Close still waits for.
func (s *Sender) lastRound(c *nodeWorker) {
	for {
		s.cleanups.mu.Lock()
		todo := c.todo
		c.todo = nil
		if len(todo) == 0 {
			delete(s.cleanups.workers, c.node)
		}
		s.cleanups.mu.Unlock()
		if len(todo) == 0 {
			return
		}
		for _, it := range s.sayAll(c, todo) {
			s.giveUp(it, fmt.Errorf("the client was closed (last answer: %w)", it.why))
		}
	}
}

// mostCleanups is how many cleanup tasks are under way to a node at the same time.
const mostCleanups = 16

// sayAll returns what has to be said again. Tasks on one key are said one behind
// the other, as one may go on from what the one before has settled; those on others
// do not wait for them.
func (s *Sender) sayAll(c *nodeWorker, due []Cleanup) (left []Cleanup) {
	r := round{s: s, todo: byKey(due)}
	var all sync.WaitGroup
	for range min(mostCleanups, len(r.todo)) - 1 {
		all.Go(r.run) // ends with the round
	}
	r.run()
	all.Wait()
	switch {
	case r.silent:
		if r.answered {
			c.silent = 0 // what was silent is a request, and not the node
		}
		c.silent++
		c.silence = time.Now().Add(jittered(min(50*time.Millisecond<<min(c.silent, 10), time.Second))) // twice as long each time
	case r.answered:
		c.silent = 0
	}
	for _, rest := range r.todo { // first the next time, so that nobody stays behind what is never answered
		left = append(left, rest...)
	}
	return append(left, r.left...)
}

// byKey sorts cleanup tasks by their keys. Those on one keep their order.
func byKey(due []Cleanup) (all [][]Cleanup) {
	at := make(map[string]int, len(due))
	for _, it := range due {
		i, there := at[it.Key]
		if !there {
			i = len(all)
			at[it.Key], all = i, append(all, nil)
		}
		all[i] = append(all[i], it)
	}
	return all
}

// round is one round of a node worker.
type round struct {
	s *Sender

	mu               sync.Mutex
	todo             [][]Cleanup // nobody has begun with
	left             []Cleanup
	silent, answered bool
}

// run goes on until nothing is left to begin with. A node that does not answer ends
// the round, since the others would meet the same silence; one that refuses one key
// may serve the next.
func (r *round) run() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.todo) > 0 && !r.silent {
		due := r.todo[0]
		r.todo = r.todo[1:]
		r.mu.Unlock()
		left, silent := r.s.sayInTurn(due)
		r.mu.Lock()
		r.left = append(r.left, left...)
		r.silent, r.answered = r.silent || silent, r.answered || !silent
	}
}

func (s *Sender) sayInTurn(due []Cleanup) (left []Cleanup, silent bool) {
	for i, it := range due {
		now := time.Now()
		if it.over(now, s.Remembered()) {
			if it.lasting { // one that has an end by itself leaves nothing undone
				s.giveUp(it, fmt.Errorf("%w, and the server was silent for as long as it would remember the request", core.ErrOutcomeUnknown))
			}
			continue
		}
		err := it.Run(cleanupContext{s.Bounded(context.Background())})
		if MayHaveRun(err) && it.arrived.IsZero() {
			it.arrived = now
		}
		it.why = err
		due[i] = it
		switch {
		case err == nil || Permanent(err):
			s.finished(it, err)
		case classify(err) == lost || isDial(err):
			return append(left, due[i:]...), true
		default:
			left = append(left, s.refusedCleanup(it, now, err))
		}
	}
	return left, false
}

// refusedCleanup puts off a cleanup task that the server did not take. What is not
// known to pass is told, once: until the server takes it, what the cleanup task is to
// give back stays where it is.
func (s *Sender) refusedCleanup(it Cleanup, now time.Time, err error) Cleanup {
	if it.since.IsZero() {
		it.since = now
	}
	if !Transient(err) && !it.told && !it.lasting { // of one that lasts the caller was told
		it.told = true
		s.Logger.Warn("giving back is refused, and goes on", "name", it.shown(), "err", err)
	}
	most := mostBackoff
	if it.lasting {
		most = longBackoff
	}
	it.due = now.Add(jittered(min(max(now.Sub(it.since)/10, firstBackoff), most)))
	return it
}

// finished tells of a cleanup task that will never succeed: what it was to give
// back stays until its lease ends. A loss needs no telling.
func (s *Sender) finished(it Cleanup, err error) {
	switch {
	case err == nil || errors.Is(err, core.ErrLost):
		it.end()
	case it.Work != (core.Work{}):
		s.giveUp(it, err)
	default:
		s.Logger.Warn("giving back failed", "name", it.shown(), "err", err)
	}
}

// cleanupContext is that of a cleanup task.
type cleanupContext struct{ context.Context }

type cleanupKey struct{}

func (c cleanupContext) Value(key any) any {
	if key == (cleanupKey{}) {
		return true
	}
	return c.Context.Value(key)
}

// OnCleanup reports whether ctx is that of a cleanup task: what is said then may have
// been said before.
func OnCleanup(ctx context.Context) bool { return ctx.Value(cleanupKey{}) != nil }

// sleepOpen sleeps d, or until there is news; it is false if the client closes
// meanwhile.
func (s *Sender) sleepOpen(d time.Duration, news <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-news:
	case <-s.Closing():
		return false
	}
	return true
}
