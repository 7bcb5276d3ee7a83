package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errand is something that has to be said to the server until it has answered:
// to give back an owner of which nobody knows whether it holds the lock.
type errand struct {
	key   string
	until time.Time // by then the server has forgotten it by itself
	run   func(ctx context.Context) error
	work  Work // what is left undone if it is given up

	lasting bool      // until does not count: see SeeThrough
	arrived time.Time // of one that lasts, when it was first sent in such a way that it may have arrived
	ended   func()    // of one that lasts, called when nothing is sent any more

	since time.Time // when it was said first; zero: not yet
	due   time.Time // when it is to be said next
	told  bool      // that the server refuses it
	why   error     // its last answer
}

// shown returns the name as users know it: the key may be one for some values of a group.
func (it errand) shown() string { return cmp.Or(it.work.Name, it.key) }

// errands are carried by a courier per node, while there is something to do, so that
// a silent node holds up nobody else's.
type errands struct {
	mu       sync.Mutex
	couriers map[string]*courier
}

// outage is how long a node has failed, and how often.
type outage struct {
	since time.Duration
	times int
}

// lasts counts a failure.
func (o *outage) lasts(now time.Duration) {
	if o.times++; o.times == 1 {
		o.since = now
	}
}

// backoff doubles with each failure, up to a second.
func (o *outage) backoff() time.Duration {
	return jittered(min(50*time.Millisecond<<min(o.times, 10), time.Second))
}

// courier carries the errands to one node.
type courier struct {
	node string
	todo []errand      // guarded by the mutex of the errands, as is lasting
	news chan struct{} // poked when one was added

	lasting int // so many errands that last are to do, or under way

	silent  outage    // of the node
	silence time.Time // until when it is left alone
}

// An errand that is refused waits for a tenth of the time that it has been
// refused for, within these bounds. longBackoff is the upper one for an errand
// that lasts.
const (
	firstBackoff = 50 * time.Millisecond
	mostBackoff  = 5 * time.Second
	longBackoff  = 30 * time.Second
)

// lookTime bounds the share of the time in which a courier looks what is due:
// it sleeps for so long, at least, for each errand that it looks at.
const lookTime = 10 * time.Microsecond

// mostLasting bounds the errands to one node that last.
const mostLasting = 10_000

// Later runs an errand on key until it succeeds, until has passed, or its
// answer will never change: then key holds something else. The run has to be
// replayable; what it sends is not sent again within one run when it was
// refused.
func (e *Engine) Later(key string, until time.Time, run func(ctx context.Context) error) {
	e.add(errand{key: key, until: until, run: run})
}

// Errands reports whether something is still to be given back, or to be done that was
// deferred.
func (e *Engine) Errands() bool {
	e.errands.mu.Lock()
	defer e.errands.mu.Unlock()
	return len(e.errands.couriers) > 0
}

// add hands an errand to the courier of its node. It is false for one that
// lasts if the courier has as many of those as it may.
func (e *Engine) add(it errand) bool {
	node := e.topo.node(e.topo.slot(it.key))
	e.errands.mu.Lock()
	defer e.errands.mu.Unlock()
	c := e.errands.couriers[node]
	if it.lasting && c != nil && c.lasting >= mostLasting {
		return false
	}
	if c == nil {
		if e.errands.couriers == nil {
			e.errands.couriers = make(map[string]*courier)
		}
		c = &courier{node: node, news: make(chan struct{}, 1)}
		e.errands.couriers[node] = c
		// Not spawn: whoever has an errand is itself a task that Close waits for.
		e.tasks.run(func() { e.carry(c) })
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

// carry ends when nothing is left to do, or one round after the client closed.
func (e *Engine) carry(c *courier) {
	for {
		due, pause, left := e.take(c, time.Now())
		if !left {
			return
		}
		if len(due) == 0 {
			if !e.sleepOpen(pause, c.news) {
				e.lastRound(c)
				return
			}
			continue
		}
		e.putBack(c, due, e.sayAll(c, due))
	}
}

// take returns what is due at now, and else how long nothing is. A courier
// that has nothing left goes.
func (e *Engine) take(c *courier, now time.Time) (due []errand, pause time.Duration, left bool) {
	e.errands.mu.Lock()
	defer e.errands.mu.Unlock()
	if len(c.todo) == 0 {
		delete(e.errands.couriers, c.node)
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

// putBack keeps what is left of those that were due.
func (e *Engine) putBack(c *courier, due, left []errand) {
	e.errands.mu.Lock()
	defer e.errands.mu.Unlock()
	c.todo = append(c.todo, left...)
	c.lasting -= lasting(due) - lasting(left)
}

// lasting returns how many of the errands last.
func lasting(all []errand) (n int) {
	for i := range all {
		if all[i].lasting {
			n++
		}
	}
	return n
}

// lastRound says everything once more, and no more: also what comes meanwhile
// from calls that Close still waits for.
func (e *Engine) lastRound(c *courier) {
	for {
		e.errands.mu.Lock()
		todo := c.todo
		c.todo = nil
		if len(todo) == 0 {
			delete(e.errands.couriers, c.node)
		}
		e.errands.mu.Unlock()
		if len(todo) == 0 {
			return
		}
		for _, it := range e.sayAll(c, todo) {
			e.giveUp(it, fmt.Errorf("the client was closed (last answer: %w)", it.why))
		}
	}
}

// mostErrands is how many errands are under way to a node at the same time.
const mostErrands = 16

// sayAll returns what has to be said again. Errands on one key are said one behind
// the other, as one may go on from what the one before has settled; those on others
// do not wait for them.
func (e *Engine) sayAll(c *courier, due []errand) (left []errand) {
	r := round{e: e, todo: byKey(due)}
	var all sync.WaitGroup
	for range min(mostErrands, len(r.todo)) - 1 {
		all.Go(r.run) // ends with the round
	}
	r.run()
	all.Wait()
	switch {
	case r.silent:
		if r.answered {
			c.silent = outage{} // what was silent is a request, and not the node
		}
		c.silent.lasts(e.Now().Mono)
		c.silence = time.Now().Add(c.silent.backoff())
	case r.answered:
		c.silent = outage{}
	}
	for _, rest := range r.todo { // first the next time, so that nobody stays behind what is never answered
		left = append(left, rest...)
	}
	return append(left, r.left...)
}

// byKey sorts errands by their keys. Those on one keep their order.
func byKey(due []errand) (all [][]errand) {
	at := make(map[string]int, len(due))
	for _, it := range due {
		i, there := at[it.key]
		if !there {
			i = len(all)
			at[it.key], all = i, append(all, nil)
		}
		all[i] = append(all[i], it)
	}
	return all
}

// round is one round of a courier.
type round struct {
	e *Engine

	mu               sync.Mutex
	todo             [][]errand // nobody has begun with
	left             []errand
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
		left, silent := r.e.sayInTurn(due)
		r.mu.Lock()
		r.left = append(r.left, left...)
		r.silent, r.answered = r.silent || silent, r.answered || !silent
	}
}

func (e *Engine) sayInTurn(due []errand) (left []errand, silent bool) {
	for i, it := range due {
		now := time.Now()
		if it.over(now, e.remembered()) {
			e.forgotten(it)
			continue
		}
		err := it.run(errandContext{e.bounded(context.Background())})
		if mayHaveRun(err) && it.arrived.IsZero() {
			it.arrived = now
		}
		it.why = err
		due[i] = it
		switch {
		case err == nil || hopeless(err):
			e.finished(it, err)
		case judge(err) == lost || isDial(err):
			return append(left, due[i:]...), true
		default:
			left = append(left, e.refusedErrand(it, now, err))
		}
	}
	return left, false
}

// refusedErrand puts off an errand that the server did not take. What is not
// known to pass is told, once: until the server takes it, what the errand is to
// give back stays where it is.
func (e *Engine) refusedErrand(it errand, now time.Time, err error) errand {
	if it.since.IsZero() {
		it.since = now
	}
	if !Passing(err) && !it.told && !it.lasting { // of one that lasts the caller was told
		it.told = true
		e.Logger.Warn("giving back is refused, and goes on", "name", it.shown(), "err", err)
	}
	most := mostBackoff
	if it.lasting {
		most = longBackoff
	}
	it.due = now.Add(jittered(min(max(now.Sub(it.since)/10, firstBackoff), most)))
	return it
}

// finished tells of an errand that will never succeed: what it was to give
// back stays until its lease ends. A loss needs no telling.
func (e *Engine) finished(it errand, err error) {
	switch {
	case err == nil || errors.Is(err, ErrLost):
		it.end()
	case it.work != (Work{}):
		e.giveUp(it, err)
	default:
		e.Logger.Warn("giving back failed", "name", it.shown(), "err", err)
	}
}

// errandContext is that of an errand.
type errandContext struct{ context.Context }

type errandKey struct{}

func (c errandContext) Value(key any) any {
	if key == (errandKey{}) {
		return true
	}
	return c.Context.Value(key)
}

// OnErrand reports whether ctx is that of an errand: what is said then may have
// been said before.
func OnErrand(ctx context.Context) bool { return ctx.Value(errandKey{}) != nil }

// sleepOpen sleeps d, or until there is news; it is false if the client closes
// meanwhile.
func (e *Engine) sleepOpen(d time.Duration, news <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-news:
	case <-e.closing:
		return false
	}
	return true
}
