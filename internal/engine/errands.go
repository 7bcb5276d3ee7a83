package engine

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errand is something that has to be said to the server until it has answered:
// to give back an owner of which nobody knows whether it holds the lock.
type errand struct {
	key   string
	until time.Time // by then the server has forgotten it by itself
	run   func(ctx context.Context) error

	since time.Time // when it was said first; zero: not yet
	due   time.Time // when it is to be said next
	told  bool      // that the server refuses it
}

// errands are carried by a courier per node, while there is something to do, so that
// a silent node holds up nobody else's.
type errands struct {
	mu       sync.Mutex
	couriers map[string]*courier
}

// courier carries the errands to one node.
type courier struct {
	node string
	todo []errand      // guarded by the mutex of the errands
	news chan struct{} // poked when one was added

	silent  outage    // of the node
	silence time.Time // until when it is left alone
}

// An errand that is refused waits for a tenth of the time that it has been
// refused for, within these bounds.
const (
	firstBackoff = 50 * time.Millisecond
	mostBackoff  = 5 * time.Second
)

// Later runs an errand on key until it succeeds, until has passed, or its
// answer will never change: then key holds something else. The run has to be
// replayable; what it sends is not sent again within one run when it was
// refused.
func (e *Engine) Later(key string, until time.Time, run func(ctx context.Context) error) {
	node := e.topo.node(e.topo.slot(key))
	e.errands.mu.Lock()
	defer e.errands.mu.Unlock()
	c := e.errands.couriers[node]
	if c == nil {
		if e.errands.couriers == nil {
			e.errands.couriers = make(map[string]*courier)
		}
		c = &courier{node: node, news: make(chan struct{}, 1)}
		e.errands.couriers[node] = c
		// Not spawn: whoever has an errand is itself a task that Close waits for.
		e.tasks.run(func() { e.carry(c) })
	}
	c.todo = append(c.todo, errand{key: key, until: until, run: run})
	select {
	case c.news <- struct{}{}:
	default:
	}
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
		e.putBack(c, e.sayAll(c, due))
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
	return due, pause, true
}

func (e *Engine) putBack(c *courier, left []errand) {
	e.errands.mu.Lock()
	defer e.errands.mu.Unlock()
	c.todo = append(c.todo, left...)
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
			e.Logger.Warn("giving back ends with the client, before the server took it", "name", it.key)
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
		c.silent.lasts(e.Now().Mono, false)
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
		if now.After(it.until) {
			continue
		}
		err := it.run(errandContext{e.bounded(context.Background())})
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
	if !Passing(err) && !it.told {
		it.told = true
		e.Logger.Warn("giving back is refused, and goes on", "name", it.key, "err", err)
	}
	it.due = now.Add(jittered(min(max(now.Sub(it.since)/10, firstBackoff), mostBackoff)))
	return it
}

// finished tells of an errand that will never succeed: what it was to give
// back stays until its lease ends. A loss needs no telling.
func (e *Engine) finished(it errand, err error) {
	if err != nil && !errors.Is(err, ErrLost) {
		e.Logger.Warn("giving back failed", "name", it.key, "err", err)
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
